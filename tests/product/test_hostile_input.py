"""Input that was made to cost much: nobody else notices, little memory goes, signals end it all."""

import os
import signal
import sys
import threading
from contextlib import contextmanager, suppress

import pytest

from tests import hostile_files
from tests.patience import PATIENCE_S
from tests.product.promptness import PAUSE_S, assert_answers_others
from tests.serving import serving
from tests.system_processes import children, has_ended, peak_bytes, worked_ticks
from tests.vaults import write_chat

MAX_MEMORY_BYTES = 512 << 20

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at processes in /proc")

SLOW_HTML = ("a.html", b"<a " * 83_000)
SLOW_FILES = [
    pytest.param("a.docx", hostile_files.docx_bomb, id="a document that unpacks"),
    pytest.param("a.html", lambda: SLOW_HTML[1], id="tags that never close"),
    pytest.param("a.html", lambda: b"<!--" * 62_000, id="comments that never close"),
    pytest.param("a.pdf", hostile_files.pdf_bomb, id="a page that unpacks"),
]
"""Made when a test needs them: each worker imports this, and packing takes a second."""


COSTLY_CODE = ("```java\n" + "a " * 9_900 + "\n```\n") * 9
SLOW_CHATS = {
    "colours": [COSTLY_CODE] * 4,
    "short-markdown": ["![" * 9_900] * 9,
    "long-markdown": ["![" * 99_000] * 4,
    "long-plain": ["\u202e![" * 1_600_000],
}
HUGE_CHATS = {
    "lines": "> " * 100 + "x\n" * 2_400_000,
    "accents": "a" + "\u0315\u0300" * 1_200_000,
    "ligatures": "\ufdfa" * 1_600_000,
}
TABS = {f"tab-{number}": [f"{number}" + "![" * 9_900] * 3 for number in range(4)}
LOOP = "{% for a in range(9999) %}{% for b in range(9999) %}{% endfor %}{% endfor %}"
TEMPLATES = {
    "planning.j2": "{{ task }}",
    "implement.j2": LOOP,
    "review_strict.j2": "{{ ''.join(['x' * 1000000] * 3000) }}" + LOOP,
}


@pytest.fixture(scope="module")
def vault(tmp_path_factory):
    vault = tmp_path_factory.mktemp("vault")
    (vault / "roles/templates").mkdir(parents=True)
    for name, source in TEMPLATES.items():
        role = f'system_prompt = "Be brief."\ntemplate = "{name}"\n'
        (vault / "roles" / f"{name.partition('.')[0]}.toml").write_text(role)
        (vault / "roles/templates" / name).write_text(source)
    for chat_id, texts in {**SLOW_CHATS, **TABS}.items():
        messages = [
            {"id": f"m{number}", "role": "user", "content": f"{text}\n\n{number}"}
            for number, text in enumerate(texts)
        ]
        write_chat(vault, chat_id, messages)
    for chat_id, text in HUGE_CHATS.items():
        write_chat(vault, chat_id, [{"id": "m0", "role": "user", "content": text}])
    return vault


@pytest.fixture(scope="module")
def server(vault):
    with serving(vault) as running:
        yield running


def upload(server, name, content):
    return server.request("POST", "/api/files", content, {"X-File-Name": name})


def preview(server, role):
    return server.ask("smart_context.preview", chat_id="new", message="Hi", role=role)


def children_at_work(server):
    """The pids of the children, all of them started and idle, with what they have worked."""
    assert upload(server, "a.html", b"<p>warm")[0] == 200
    assert preview(server, "planning")["problem"] == ""
    return {pid: worked_ticks(pid) for pid in children(server.process.pid)}


@contextmanager
def under_way(server, request):
    """While the block runs, a child works at a request; gives its pid and kills it afterwards."""
    before = children_at_work(server)
    told = []
    asking = threading.Thread(target=lambda: told.append(request()))
    asking.start()
    while not (busy := [pid for pid in before if worked_ticks(pid) > before[pid] + 4]):
        assert asking.is_alive(), told
        asking.join(PAUSE_S)
    try:
        yield busy[0]
    finally:
        with suppress(ProcessLookupError):
            os.kill(busy[0], signal.SIGKILL)
        asking.join(PATIENCE_S)
        assert told


@pytest.mark.parametrize(("name", "make"), SLOW_FILES)
def test_an_upload_that_costs_much_holds_up_nobody(server, name, make):
    content = make()
    before = peak_bytes(server.process.pid)
    told = []
    with under_way(server, lambda: told.append(upload(server, name, content))) as child:
        assert_answers_others(server, lambda: not told, most_s=0.5)
        grown = peak_bytes(server.process.pid) - before
        with suppress(FileNotFoundError):
            assert grown + peak_bytes(child) < MAX_MEMORY_BYTES
    ((status, answer),) = told
    assert status in {200, 422}
    assert status == 200 or "can't be read" in answer["error"]["message"]


@pytest.mark.parametrize("chat_id", SLOW_CHATS)
def test_a_page_that_costs_much_holds_up_nobody(server, chat_id):
    before = peak_bytes(server.process.pid)
    told = []
    page = threading.Thread(
        target=lambda: told.append(server.request("GET", f"/chats/{chat_id}")), daemon=True
    )
    page.start()
    assert_answers_others(server, page.is_alive)
    grown = peak_bytes(server.process.pid) - before
    assert grown + sum(map(peak_bytes, children(server.process.pid))) < MAX_MEMORY_BYTES
    ((status, html),) = told
    assert status == 200
    assert "too long to format" in html or not chat_id.startswith("long")


def test_pages_that_cost_much_at_once_hold_up_nobody(server):
    pages = [
        threading.Thread(target=server.request, args=("GET", f"/chats/{chat_id}"), daemon=True)
        for chat_id in TABS
    ]
    for page in pages:
        page.start()
    assert_answers_others(server, lambda: any(page.is_alive() for page in pages))


@pytest.mark.parametrize("chat_id", HUGE_CHATS)
def test_topics_of_a_message_that_costs_much_hold_up_nobody(server, chat_id):
    def find_and_pick():
        for _ in range(2):  # the second time there are labels, which may be kept
            server.ask("smart_context.refresh_topics", chat_id=chat_id, wait=True)
        told.append(
            server.ask("smart_context.add_topic", chat_id=chat_id, label="Bread", select=True)
        )

    before = peak_bytes(server.process.pid)
    told = []
    asking = threading.Thread(target=find_and_pick, daemon=True)
    asking.start()
    assert_answers_others(server, asking.is_alive)
    grown = peak_bytes(server.process.pid) - before
    assert grown + sum(map(peak_bytes, children(server.process.pid))) < MAX_MEMORY_BYTES
    assert told[0]["active_topics"] == ["Bread"]


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        pytest.param("a.html", b"<![ x", "as an HTML page", id="an odd declaration"),
        pytest.param("a.html", b"&#" + b"1" * 5000 + b";", "as an HTML page", id="a long number"),
        pytest.param(
            "a.docx",
            hostile_files.docx('<?xml version="1.0" encoding="utf-7"?><a/>'),
            "as a Word document",
            id="an encoding of old",
        ),
        pytest.param("a.docx", hostile_files.nested_docx(), "as a Word document", id="nesting"),
        pytest.param("a.pdf", b"%PDF-1.7 broken", "can't be read", id="a broken PDF"),
    ],
)
def test_what_no_parser_takes_is_refused_in_plain_words(server, name, content, told):
    status, answer = upload(server, name, content)
    assert status == 422
    assert told in answer["error"]["message"]
    assert "Error" not in answer["error"]["message"]


@pytest.mark.parametrize("role", ["implement", "review_strict"])
def test_a_template_that_costs_much_holds_up_nobody_and_the_message_goes_as_it_is(server, role):
    before = peak_bytes(server.process.pid)
    told = []
    asking = threading.Thread(target=lambda: told.append(preview(server, role)), daemon=True)
    asking.start()
    assert_answers_others(server, asking.is_alive)
    grown = peak_bytes(server.process.pid) - before
    assert grown + sum(map(peak_bytes, children(server.process.pid))) < MAX_MEMORY_BYTES
    assert "the template does too much" in told[0]["problem"]
    assert told[0]["prompt"][-1]["content"] == "Hi"


INTERRUPTED = {
    "an upload": lambda server: upload(server, *SLOW_HTML),
    "a template": lambda server: preview(server, "implement"),
    "a page": lambda server: server.request("GET", "/chats/colours"),
}


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGKILL])
@pytest.mark.parametrize("state", INTERRUPTED)
def test_a_signal_ends_all_work_and_all_processes(vault, state, sent):
    with serving(vault) as server:

        def interrupted():
            with suppress(OSError, AssertionError):
                INTERRUPTED[state](server)
            return True

        with under_way(server, interrupted) as child:
            all_children = children(server.process.pid)
            server.stop(sent)
            assert child in all_children
            assert all(has_ended(pid) for pid in all_children)

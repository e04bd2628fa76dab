"""Notes, ignore files, chats and side-cars that cost much to read: nobody else notices."""

import json
import signal
import sys
import threading

import pytest

from tests.product.promptness import assert_answers_others
from tests.product.test_hostile_input import MAX_MEMORY_BYTES
from tests.serving import serving
from tests.system_processes import peak_bytes
from tests.vaults import write_chat

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at processes in /proc")

SIZE = 5_000_000
NOTES = {
    "links.md": "](" + " " * SIZE,
    "comments.md": "x" + "<!--" * (SIZE // 4),
    "code.md": "x" + "``` " * (SIZE // 4),
    "line.md": "word " * (SIZE // 5),
    "cards.canvas": "[" * SIZE,
}
MARKS = ("pinned", "hidden")
SIDE_CARS = {
    "deep": lambda: "[" * SIZE,
    "digits": lambda: "9" * SIZE,
    "ids": lambda: json.dumps(
        {"version": 1, **{key: [f"{key}{n}" for n in range(180_000)] for key in MARKS}}
    ),
}
DAMAGED = ("deep", "digits")
"""Whose choices can't be read, so that nothing is sent until the user chooses again."""
MANY = 30_000
MOST_BYTES = {"many": 5_000 * MANY}
"""By the chat, the most memory that the server may take for it, if that is less than for others."""
CHATS = {
    "long": lambda: ["word " * (SIZE // 5)],
    "lines": lambda: ["word" + "\n" * SIZE + "x"],
    "many": lambda: [f"word {number}" for number in range(MANY)],
}


@pytest.fixture(scope="module")
def vault(tmp_path_factory):
    vault = tmp_path_factory.mktemp("vault")
    for name, text in NOTES.items():
        (vault / name).write_text(text[:SIZE])
    for number in range(200):
        (vault / f"front{number}.md").write_text(f"---\na{' ' * 60_000}\n---\nword")
    (vault / ".gitignore").write_text("".join(f"*a{n}*b*c*d\n" for n in range(16_000)))
    for chat_id, texts in {**CHATS, **dict.fromkeys(SIDE_CARS, lambda: ["word"])}.items():
        messages = [{"id": f"m{n}", "role": "user", "content": t} for n, t in enumerate(texts())]
        write_chat(vault, chat_id, messages)
    for chat_id, make in SIDE_CARS.items():
        text = make()
        for suffix in ("filter", "topics", "embeddings"):
            (vault / ".memory" / f"{chat_id}.{suffix}.json").write_text(text)
    return vault


@pytest.fixture(scope="module")
def server(vault):
    with serving(vault) as running:
        yield running


def page(chat_id):
    return lambda server: server.request("GET", f"/chats/{chat_id}")


def preview(chat_id):
    return lambda server: server.command("smart_context.preview", chat_id=chat_id, message="word?")


def refusal(chat_id):
    def ask(server):
        status, told = preview(chat_id)(server)
        return 200 if "choices for this chat can't be read" in str(told) else status, told

    return ask


def suggested(server):
    return server.command("smart_context.suggest_notes", chat_id="long")


def context(server):
    options = {"link_depth": 1, "max_len": 100_000}
    return server.command("smart_context.preview_context", items=["links.md"], options=options)


def search(server):
    return server.command("memory.search", query="word")


@pytest.mark.parametrize(
    ("ask", "chat_id"),
    [
        pytest.param(suggested, "long", id="the notes"),
        pytest.param(context, "", id="a context"),
        pytest.param(search, "", id="a search"),
        *(
            pytest.param(page(chat_id), chat_id, id=f"the page of {chat_id}")
            for chat_id in (*CHATS, *SIDE_CARS)
        ),
        *(
            pytest.param(preview(chat_id), chat_id, id=f"a preview of {chat_id}")
            for chat_id in (*CHATS, "ids")
        ),
        *(
            pytest.param(refusal(chat_id), chat_id, id=f"the refusal of a preview of {chat_id}")
            for chat_id in DAMAGED
        ),
    ],
)
def test_what_costs_much_to_read_holds_up_nobody(server, ask, chat_id):
    before = peak_bytes(server.process.pid)
    told = []
    asking = threading.Thread(target=lambda: told.append(ask(server)), daemon=True)
    asking.start()
    assert_answers_others(server, asking.is_alive)
    ((status, _),) = told
    assert status == 200, told
    assert peak_bytes(server.process.pid) - before < MOST_BYTES.get(chat_id, MAX_MEMORY_BYTES)


def test_the_log_says_how_much_of_an_ignore_file_does_not_count(server):
    assert suggested(server)[0] == 200
    assert any("15,000 lines of .gitignore" in line for line in server.errors)


@pytest.mark.parametrize(
    "ask", [pytest.param(suggested, id="notes"), pytest.param(preview("many"), id="a chat")]
)
def test_a_signal_ends_the_server_while_it_reads(vault, ask):
    with serving(vault) as server:
        threading.Thread(target=lambda: _until_it_ends(ask, server), daemon=True).start()
        assert server.request("GET", "/healthz")[0] == 200
        server.stop(signal.SIGTERM)


def _until_it_ends(ask, server):
    try:
        ask(server)
    except OSError:  # the server is gone
        return

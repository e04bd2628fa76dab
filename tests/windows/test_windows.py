"""What differs on Windows, seen on its own CPython, which Wine runs: `pytest -m windows -n0`.

Left out, since Wine alone makes it flaky: eight readers without a pause (Wine never replaces a file
that anybody has open), Ctrl+C (it needs a terminal), the console that is closed by its window,
names of 8.3, junctions, `filter` and other verbs that start the plugin and give it ten seconds,
which Wine takes longer than on a busy machine.
"""

import json
import os
import pty
import queue
import re
import socket
import threading
import unicodedata
from contextlib import contextmanager, suppress

import pytest

from tests.fake_openai import FakeOpenAI, Reply
from tests.patience import PATIENCE_S
from tests.serving import TOKEN, Server, lasting_port
from tests.windows import wine

pytestmark = [
    pytest.mark.windows,
    pytest.mark.skipif(bool(wine.missing()), reason=f"not installed: {wine.missing()}"),
]

TITLE = "旅行 → Reise ●"
CODE = "```python\ndef bake(): return 'rye'\n```"
PAGE = b"<html><body><h1>Rye</h1><p>Bake it at 250 degrees.</p></body></html>"
EXCLUDED = [
    pytest.param("secret/x.md", id="as it is listed"),
    pytest.param("SECRET/x.md", id="in another case"),
    pytest.param("secret/X.MD", id="the file in another case"),
    pytest.param("secret./x.md", id="a dot at the end"),
    pytest.param("secret /x.md", id="a space at the end"),
    pytest.param("secret/x.md.", id="a dot at the end of the file"),
    pytest.param("secret\\x.md", id="with a backslash"),
    pytest.param("secret/x.md::$DATA", id="by its stream"),
    pytest.param("notes/ignored.md", id="a pattern in another case"),
    pytest.param("notes/IGNORED.md", id="a pattern and a file in another case"),
    pytest.param("C:rye.md", id="relative to a drive"),
    pytest.param("\\\\server\\share\\x.md", id="on another machine"),
    pytest.param("..\\x.md", id="above the vault"),
    pytest.param("con", id="a device"),
    pytest.param("sub/nul.txt", id="a device with an ending"),
]


@pytest.fixture(scope="module")
def code():
    wine.install()
    with wine.installed() as folder:
        yield folder


@pytest.fixture(scope="module")
def endpoint():
    with FakeOpenAI() as fake:
        yield fake


@pytest.fixture(scope="module")
def vault(tmp_path_factory, endpoint):
    root = tmp_path_factory.mktemp("windows") / "Notizen 笔记"
    notes = {
        ".gitignore": "secret/\nIGNORED.md\nmüsli.md\n",
        ".vault.toml": f'[llm]\nbase_url = "{endpoint.base_url}"\n'
        '[llm.categories]\nchat = "gpt-4o"\n',
        "secret/x.md": "# Secret\nquietword\n",
        "notes/ignored.md": "# Ignored\nquietword\n",
        unicodedata.normalize("NFD", "müsli.md"): "# Müsli\nquietword\n",
        "rye.md": "\ufeff# Rye\r\n\r\nBread with [[deep]].\r\n",
        "sub/deep.md": f"# {TITLE}\n\nSourdough, see [[rye]].\n",
    }
    for path, text in notes.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(text.encode())
    said = [
        {"id": "q", "role": "user", "content": f"How do I bake rye? {TITLE}"},
        {"id": "a", "role": "assistant", "content": f"Like this:\n\n{CODE}"},
    ]
    for chat_id, title in (("bread", TITLE), ("leave", "To the trash")):
        put_chat(root, chat_id, {"title": title, "messages": said})
    return root


def put_chat(root, chat_id, document):
    folder = root / ".memory"
    folder.mkdir(exist_ok=True)
    (folder / f"{chat_id}.json").write_text(json.dumps(document), encoding="utf-8")


@pytest.fixture(scope="module")
def run(code, vault):
    """Runs a command in the vault; its output is a pipe, as when it is redirected."""

    def run_command(*arguments, status=0, **environment):
        with wine.started(
            "-m", "smart_context", *arguments, code=code, folder=vault, **environment
        ) as process:
            output, errors = process.communicate(timeout=PATIENCE_S)
        said = output.decode("utf-8").replace("\r\n", "\n")
        complaints = errors.decode("utf-8").replace("\r\n", "\n")
        assert "Traceback" not in complaints, complaints
        assert process.returncode == status, said + complaints
        return said if status == 0 else complaints

    return run_command


@pytest.fixture(scope="module")
def python(code, vault):
    """Runs Python code on Windows' Python; gives what it prints, as JSON."""

    def run_code(text, *arguments):
        with wine.started("-X", "utf8", "-c", text, *arguments, code=code, folder=vault) as process:
            output, errors = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 0, errors.decode()
        return json.loads(output)

    return run_code


@contextmanager
def serving(code, vault):
    """A server of the vault there, until the block ends; then it is killed."""
    options = ["--port", str(lasting_port()), "--token", TOKEN, "--no-browser"]
    arguments = ["-m", "smart_context", "serve", wine.windows_path(vault), *options]
    errors = []
    with wine.started(*arguments, code=code) as process:
        told = threading.Thread(target=lambda: errors.extend(process.stderr), daemon=True)
        told.start()
        links = (re.search(r"http\S+", line.decode()) for line in process.stdout)
        link = next((found.group() for found in links if found), "")
        assert link, b"".join(errors).decode()
        rest = threading.Thread(target=lambda: list(process.stdout), daemon=True)
        rest.start()
        yield Server(process=process, link=link, vault=vault, errors=errors)


@pytest.fixture(scope="module")
def server(code, vault, run):
    run("trust", wine.windows_path(vault), "--yes")
    with serving(code, vault) as running:
        yield running


def refusal_of(server, command, **parameters):
    """Why the server refuses a command, in words; fails the test when it does it, or breaks."""
    status, answer = server.command(command, **parameters)
    assert status != 200, answer
    said = answer["error"]["message"]
    assert "unexpectedly" not in said
    return said


def saved(vault, chat_id):
    return json.loads((vault / ".memory" / f"{chat_id}.json").read_text(encoding="utf-8"))


# What a person does on the page


def test_a_page_has_coloured_code_from_a_process_of_its_own(server):
    page = server.request("GET", "/chats/bread", headers={"Accept": "text/html"})[1]
    assert '<span class="k">def</span>' in page
    assert TITLE in page


def test_an_uploaded_page_of_the_web_is_read_and_sent(server, endpoint):
    status, stored = server.request("POST", "/api/files", PAGE, {"X-File-Name": "rye.html"})
    assert status == 200, stored
    files = [{"storage_key": stored["storage_key"], "name": "rye.html"}]
    server.ask("chat.send", chat_id="upload", message="How hot?", files=files)
    sent = json.dumps(endpoint.chat_requests[-1].body)
    assert "250 degrees" in sent
    assert "<h1>" not in sent


def test_turns_are_saved_while_others_read_the_chat(server, vault):
    """Windows replaces no file that somebody has open; each write is tried again for a second."""
    server.ask("chat.send", chat_id="busy", message="begin")
    answers, is_over = queue.Queue(), threading.Event()

    def read():
        while not is_over.wait(0.02):
            answers.put(server.command("memory.load_chat", chat_id="busy")[0])

    readers = [threading.Thread(target=read) for _ in range(4)]
    for reader in readers:
        reader.start()
    try:
        for number in range(8):
            server.ask("chat.send", chat_id="busy", message=f"question {number}")
    finally:
        is_over.set()
        for reader in readers:
            reader.join(PATIENCE_S)
    assert {answers.get() for _ in range(answers.qsize())} == {200}
    messages = saved(vault, "busy")["messages"]
    assert len(messages) == 18
    assert not any("error" in message for message in messages)


def test_a_chat_goes_to_the_trash_while_somebody_reads_its_file(server, vault):
    path = vault / ".memory" / "leave.json"
    hold = (
        "import sys; file = open(sys.argv[1], 'rb'); print('open', flush=True); "
        "sys.stdin.read(); file.close()"
    )
    with wine.started("-c", hold, wine.windows_path(path), code=vault) as reader:
        assert reader.stdout.readline().strip() == b"open"
        threading.Timer(0.3, reader.stdin.close).start()
        server.ask("memory.delete_chat", chat_id="leave")
    assert not path.exists()


@pytest.mark.parametrize("path", EXCLUDED)
def test_what_is_excluded_is_not_given_by_any_spelling(server, path):
    assert refusal_of(server, "chat.attach_vault_file", path=path)


def test_a_note_is_attached_by_the_path_that_tab_completes(server):
    stored = server.ask("chat.attach_vault_file", path="sub\\deep.md")
    assert stored["name"] == "deep.md"
    assert "Sourdough" in json.dumps(server.ask("tools.read_note", path="sub\\deep.md"))


def test_a_context_is_sent_with_the_message_and_keeps_its_paths_with_slashes(
    server, vault, endpoint
):
    server.ask("smart_context.save_context", key="Breads", items=["sub/deep.md"])
    server.ask("smart_context.attach_context", chat_id="context", key="Breads")
    server.ask("chat.send", chat_id="context", message="What do my notes say?")
    sent = json.dumps(endpoint.chat_requests[-1].body)
    assert "Sourdough" in sent
    assert "\\" not in json.dumps(server.ask("smart_context.get_context", key="Breads")["items"])


def test_two_contexts_do_not_differ_in_case_alone_and_none_is_called_as_a_device(server, vault):
    server.ask("smart_context.save_context", key="Ctx", items=["rye.md"])
    for key in ("ctx", "CON", "aux", "nul.txt"):
        assert refusal_of(server, "smart_context.save_context", key=key, items=["rye.md"])
    listed = server.ask("smart_context.list_contexts")["contexts"]
    assert "Ctx" in [context["key"] for context in listed]
    assert "ctx" not in [context["key"] for context in listed]


def test_a_chat_is_not_called_as_a_device_or_as_another_in_another_case(server):
    for chat_id in ("con", "aux", "nul", "Bread"):
        assert refusal_of(server, "chat.send", chat_id=chat_id, message="Hello")


def test_pages_are_told_of_a_note_that_another_program_writes_and_it_is_found(server, vault):
    with server.connect() as client:
        for number in range(1_000):  # the vault is watched soon after the first question
            (vault / "barley.md").write_text(f"# Barley\n\n{number} malted grains.\n")
            client.call("tools.search_notes", query="malted grains")
            if any("notes_changed" in params for _, params in client.events):
                break
        before = len(client.events)
        (vault / "sub" / "oats.md").write_text("# Oats\n\nMalted grains.\n")
        client.wait_for("smart_context.contexts_changed", after=before, has_other_files=True)
        found = json.dumps(client.call("tools.search_notes", query="malted grains"))
    assert "barley.md" in found
    assert "sub/oats.md" in found


# Several processes


def test_a_second_server_does_not_take_a_running_answer_for_one_that_a_crash_left(
    server, code, vault, endpoint
):
    gate = threading.Event()
    endpoint.reply_with(Reply(text="one two three four", gate=gate, hold_after=2))
    outcomes = queue.Queue()
    ask = threading.Thread(
        target=lambda: outcomes.put(server.command("chat.send", chat_id="shared", message="Count"))
    )
    with server.connect() as client:
        ask.start()
        client.wait_for("chat.token", chat_id="shared")
        try:
            with serving(code, vault) as other:
                seen = other.ask("memory.load_chat", chat_id="shared")["messages"]
                assert len(seen) == 2
                said = refusal_of(other, "chat.send", chat_id="shared", message="Me, too")
                assert "another server" in said
        finally:
            gate.set()
        ask.join(PATIENCE_S)
    assert outcomes.get()[0] == 200
    answer = saved(vault, "shared")["messages"][1]
    assert answer["content"] == "one two three four"
    assert "stopped" not in answer


def test_an_answer_whose_server_is_killed_is_kept_as_far_as_it_came(code, server, vault, endpoint):
    gate = threading.Event()
    endpoint.reply_with(Reply(text="one two three four", gate=gate, hold_after=2))
    try:
        with serving(code, vault) as killed, killed.connect() as client:
            client.start("chat.send", chat_id="killed", message="Count")
            client.wait_for_words("one two")
            killed.process.kill()
            killed.process.wait(PATIENCE_S)
        with serving(code, vault) as next_one:
            answer = next_one.ask("memory.load_chat", chat_id="killed")["messages"][1]
    finally:
        gate.set()
    assert answer["content"].strip() == "one two"


ENDING = """
import _thread, signal, sys, threading
from smart_context.__main__ import main
from smart_context.web import server

class Kernel:
    def SetConsoleCtrlHandler(handler, add):
        if add:
            threading.Thread(target=end, args=(handler,), daemon=True).start()

def end(handler):
    if sys.stdin.readline().strip() == "break":
        _thread.interrupt_main(signal.SIGBREAK)  # Wine sends it to no program without a console
    else:
        handler(2)  # CTRL_CLOSE_EVENT; it returns when all is over
        print("over", file=sys.stderr)

server._kernel = Kernel
main()
"""


@pytest.mark.parametrize("how", ["break", "closed console"])
def test_ctrl_break_and_a_closed_console_end_a_server_in_order(code, vault, how):
    arguments = ["serve", wine.windows_path(vault), "--port", "0", "--no-browser"]
    with wine.started("-c", ENDING, *arguments, code=code) as process:
        assert any(b"http" in line for line in process.stdout)
        _, errors = process.communicate(f"{how}\n".encode(), timeout=PATIENCE_S)
    assert process.returncode == 0, errors.decode()
    assert b"Traceback" not in errors


PROGRAMS = """
import json, os, sys, threading
from pathlib import Path
from smart_context.base.processes.programs import Ended, run
bin = Path(os.environ["TEMP"]) / "bin of a test"
bin.mkdir(exist_ok=True)
(bin / "pid").unlink(missing_ok=True)
(bin / "npx").write_text("#!/bin/sh")  # for other shells
(bin / "npx.cmd").write_text("@echo from the command file\\n")
environment = {**os.environ, "PATH": f"{bin};{os.environ['PATH']}"}
options = {"folder": bin, "environment": environment, "max_bytes": 1 << 16}
found = run(["npx"], timeout_s=60, **options)
inner = "import sys, time; print('there', flush=True); time.sleep(60)"
outer = (
    "import subprocess, sys; from pathlib import Path; "
    f"inner = subprocess.Popen([sys.executable, '-c', {inner!r}], stdout=subprocess.PIPE); "
    "inner.stdout.readline(); Path('pid').write_text(str(inner.pid)); inner.wait()"
)
limit_s = 5
while not (bin / "pid").exists():  # on a busy machine it may not even have begun
    limit_s *= 2
    stopped = run([sys.executable, "-c", outer], timeout_s=limit_s, **options)
pid = int((bin / "pid").read_text())
import ctypes
kernel = ctypes.WinDLL("kernel32")
kernel.OpenProcess.restype = ctypes.c_void_p
handle = ctypes.c_void_p(kernel.OpenProcess(0x100000, False, pid))
is_gone = not handle or kernel.WaitForSingleObject(handle, 10_000) == 0
print(json.dumps([found.stdout.decode() if isinstance(found, Ended) else str(found),
    stopped.reason, bool(is_gone)]))
"""


def test_programs_are_found_by_their_endings_and_ended_with_all_that_they_started(python):
    said, reason, is_gone = python(PROGRAMS)
    assert "from the command file" in said
    assert reason.startswith("took longer than")
    assert is_gone


STAMPS = """
import json
from pathlib import Path
from smart_context.vault.guarded.files import read_text
from smart_context.vault.guarded.walk import file_stamps, stamp_of
root = Path.cwd()
listed = {stamp[0]: stamp[1:] for stamp in file_stamps(root)}
read = {path: read_text(root, path) for path in listed}
opened = {path: (text.mtime_ns, text.size, text.inode) for path, text in read.items()}
asked = {path: stamp_of(root, path)[1:] for path in listed}
print(json.dumps([sorted(listed), listed == opened == asked]))
"""


def test_a_note_has_one_stamp_whether_it_is_listed_or_read_so_that_none_is_read_anew(python):
    paths, are_equal = python(STAMPS)
    assert "sub/deep.md" in paths
    assert not any("x.md" in path or "ignored" in path or "sli.md" in path for path in paths)
    assert are_equal


# The command line


def test_all_is_well_says_the_doctor(run):
    said = run("doctor")
    assert "A file that takes over its reader could reach" in said
    assert "✓ write access" in said
    assert "✓ plugin smart_context: running" in said


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        pytest.param(("chats", "list"), TITLE, id="chats list"),
        pytest.param(("chats", "show", "bread"), TITLE, id="chats show"),
        pytest.param(("chats", "export", "bread", "--format", "markdown"), TITLE, id="export"),
        pytest.param(("outline", "sub\\deep.md"), TITLE, id="outline"),
    ],
)
def test_redirected_output_is_utf_8(run, arguments, expected):
    assert expected in run(*arguments)


def read_all(terminal):
    """Take what a terminal shows, until nobody has it open any more."""
    with suppress(OSError):
        while terminal.read(4096):
            pass


PROGRESS = """
import ctypes, json, sys
from ctypes import wintypes
from pathlib import Path
from smart_context.cli.terminal.output import ProgressBar

kernel = ctypes.WinDLL("kernel32")
kernel.CreateFileW.restype = ctypes.c_void_p
screen = ctypes.c_void_p(kernel.CreateFileW("CONOUT$", 0xC0000000, 3, None, 3, 0, None))

def line():
    facts, read = (ctypes.c_short * 11)(), wintypes.DWORD()  # CONSOLE_SCREEN_BUFFER_INFO
    kernel.GetConsoleScreenBufferInfo(screen, facts)
    text = ctypes.create_unicode_buffer(60)
    row = wintypes.DWORD(facts[3] << 16)
    kernel.ReadConsoleOutputCharacterW(screen, text, 59, row, ctypes.byref(read))
    return text.value.rstrip()

seen = []
for step in (lambda: bar(12345, 12345), lambda: bar(1, 2), lambda: bar.wipe()):
    bar = ProgressBar("Reading") if not seen else bar
    bar._due = 0.0
    step()
    seen.append(line())
Path(sys.argv[1]).write_text(json.dumps(seen))
"""


def test_progress_is_drawn_on_a_console_that_knows_no_escapes(code, tmp_path):
    seen, (ours, theirs) = tmp_path / "seen", pty.openpty()
    with (
        os.fdopen(ours, "rb", 0) as screen,
        wine.started("-c", PROGRESS, wine.windows_path(seen), code=code, console=theirs) as process,
    ):
        os.close(theirs)
        drawn = threading.Thread(target=lambda: read_all(screen), daemon=True)
        drawn.start()
        assert process.wait(PATIENCE_S) == 0
    full, half, wiped = json.loads(seen.read_text())
    assert full == f"Reading [{'#' * 24}] 12,345 of 12,345"
    assert half == f"Reading [{'#' * 12}{' ' * 12}] 1 of 2"
    assert wiped == ""


def test_a_path_may_have_backslashes_wherever_it_is_typed_and_has_none_in_answers(run):
    linked = run("links", "sub\\deep.md", "--format", "json")
    assert json.loads(linked)[0]["path"] == "rye.md"
    assert "sub/deep.md" in run("backlinks", "rye.md")
    assert "Sourdough" in run("read", "sub\\deep.md")


def test_patterns_reach_the_program_as_they_were_typed(run):
    packed = run("pack", "--include", "**")
    assert "### sub/deep.md" in packed
    assert "### rye.md" in packed
    assert "quietword" not in packed
    assert "Sourdough" in run("pack", "--include", "sub\\*.md")
    assert run("search", "r*", status=0) == ""


def test_a_prompt_is_written_to_another_drive_than_its_repository(run):
    run("pack", "--include", "rye.md", "-o", "C:\\prompt of a test.md")
    drive = wine.CACHE / "prefix" / "drive_c"
    assert "Bread with" in (drive / "prompt of a test.md").read_text(encoding="utf-8")


def test_a_model_that_is_off_refused_the_connection(run):
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{nobody.getsockname()[1]}/v1"
        said = run("models", "add", address, "--model", "x", status=1)
    assert "connection refused" in said.lower()


HINT = """
import json, os, sys
os.environ["PSModulePath"] = sys.argv[1]  # at a program's start Wine puts its own there
from smart_context.base.installed import how_to_add
print(json.dumps(how_to_add("mcp")))
"""


def test_hints_are_quoted_for_the_shell_in_use(run, python):
    said = run("mcp", status=1)
    assert re.search(r'pip install "\S+\[mcp\]"', said), said
    said = python(HINT, r"C:\a;C:\b;C:\c")
    assert re.search(r"pip install '\S+\[mcp\]'", said), said
    assert "set OPENAI_API_KEY=" in run("connect", "aider")


def test_a_file_of_windows_is_read_without_its_mark_and_with_its_line_ends(run):
    said = run("outline", "rye.md", "--format", "json")
    assert json.loads(said)[0]["heading"] == "Rye"


def test_chats_leave_and_come_back(run, tmp_path, vault):
    run("chats", "export", "bread", "--format", "json", "-o", wine.windows_path(tmp_path))
    (exported,) = tmp_path.glob("*.json")
    other = tmp_path / "other"
    other.mkdir()
    account = run(
        *("chats", "import", wine.windows_path(exported), "--format", "json"),
        *("--vault", wine.windows_path(other)),
    )
    assert json.loads(account)["new"] == 1
    assert saved(other, "bread")["messages"] == saved(vault, "bread")["messages"]

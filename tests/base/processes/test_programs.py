import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from smart_context.base.processes.programs import Ended, Stopped, clean_environment, run
from tests.patience import PATIENCE_S, has_ended

SYSTEM_PATH = "/usr/bin:/bin"


@pytest.fixture
def shell(tmp_path):
    """Runs a script of the shell."""

    def run_script(script: str, *, timeout_s: float = PATIENCE_S, **options):
        return run(
            ["sh", "-c", script],
            folder=tmp_path,
            environment={"PATH": SYSTEM_PATH},
            timeout_s=timeout_s,
            **{"max_bytes": 1 << 16, **options},
        )

    return run_script


@pytest.fixture
def install(tmp_path):
    """Puts a program into a folder below the test's; it prints its own path."""

    def write(path: str) -> None:
        program = tmp_path / path
        program.parent.mkdir(parents=True, exist_ok=True)
        program.write_text('#!/bin/sh\nprintf "%s" "$0"\n')
        program.chmod(0o755)

    return write


def test_what_a_program_prints_and_how_it_ends_is_told(shell):
    outcome = shell("printf out; printf err >&2; exit 3")
    assert outcome == Ended(exit_code=3, stdout=b"out", stderr=b"err")


def test_it_reads_what_it_is_given_and_nothing_else(shell):
    assert shell("cat", stdin=b"text").stdout == b"text"
    assert shell("cat").stdout == b""


def test_it_sees_no_variable_that_it_was_not_given(shell, monkeypatch):
    monkeypatch.setenv("SECRET_TOKEN", "x")
    assert b"SECRET_TOKEN" not in shell("env").stdout


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        pytest.param("no-such-program", "is not installed", id="missing"),
        pytest.param("/no/such/program", "could not be started (No such file", id="no such file"),
    ],
)
def test_a_program_that_is_not_there_is_told_apart(tmp_path, name, reason):
    outcome = run(
        [name], folder=tmp_path, environment={"PATH": SYSTEM_PATH}, timeout_s=1, max_bytes=1
    )
    assert isinstance(outcome, Stopped)
    assert reason in outcome.reason


def test_a_program_that_takes_too_long_is_killed_with_all_that_it_started(shell, tmp_path):
    child = tmp_path / "child"
    limit_s = 0.5
    while not (child.exists() and child.read_text().strip()):  # it may not even have begun
        outcome = shell("sleep 60 & echo $! > child; wait", timeout_s=limit_s)
        assert outcome == Stopped(reason=f"took longer than {limit_s:g} s")
        limit_s *= 2
    assert has_ended(int(child.read_text()))


def test_one_that_prints_without_end_is_killed_and_costs_no_memory(shell):
    outcome = shell("yes", max_bytes=100_000)
    assert outcome == Stopped(reason="printed more than 100,000 bytes")


def test_so_is_one_that_complains_without_end(shell):
    assert isinstance(shell("yes >&2"), Stopped)


def test_just_as_much_as_allowed_may_be_printed(shell):
    assert shell("printf 12345", max_bytes=5).stdout == b"12345"
    assert isinstance(shell("printf 123456", max_bytes=5), Stopped)


def test_what_a_program_leaves_behind_is_killed_and_not_waited_for(shell, tmp_path):
    outcome = shell("sleep 60 & echo $! > child; echo done")
    assert outcome == Ended(exit_code=0, stdout=b"done\n", stderr=b"")
    assert has_ended(int((tmp_path / "child").read_text()))


def test_one_that_left_the_group_can_hold_the_pipes_but_nobody_waits(shell, tmp_path):
    outcome = shell(
        "setsid sh -c 'echo $$ > child; exec sleep 60' & until [ -s child ]; do :; done; echo done"
    )
    os.kill(int((tmp_path / "child").read_text()), 9)
    assert outcome == Ended(exit_code=0, stdout=b"done\n", stderr=b"")


def test_what_may_stay_in_the_background_stays(shell, tmp_path):
    outcome = shell("sleep 60 & echo $! > child", may_stay=True)
    assert outcome == Ended(exit_code=0, stdout=b"", stderr=b"")
    os.kill(int((tmp_path / "child").read_text()), 9)  # fails if it is gone


def test_no_program_outlives_ours(tmp_path):
    script = (
        "import sys, threading\n"
        "from pathlib import Path\n"
        "from smart_context.base.processes.programs import run\n"
        "command = ['sh', '-c', 'echo $$; echo $$ > child; exec sleep 60']\n"
        f"options = dict(folder=Path({str(tmp_path)!r}), environment={{'PATH': {SYSTEM_PATH!r}}})\n"
        "work = lambda: run(command, timeout_s=60, max_bytes=100, **options)\n"
        "threading.Thread(target=work, daemon=True).start()\n"
        "sys.stdin.read()\n"
    )
    process = subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE)
    child = _appears(tmp_path / "child")
    process.stdin.close()
    assert process.wait(PATIENCE_S) == 0
    assert has_ended(child)


def _appears(path) -> int:
    waiting = threading.Event()
    for _ in range(int(PATIENCE_S * 100)):
        if path.exists() and path.read_text().endswith("\n"):
            return int(path.read_text())
        waiting.wait(0.01)
    raise AssertionError("the program did not start")


@pytest.mark.parametrize(
    ("path", "runs"),
    [
        pytest.param("{root}/tools", "{root}/tools/tool", id="a folder of the user's"),
        pytest.param("{root}/repo/bin:{root}/tools", "{root}/tools/tool", id="in the repository"),
        pytest.param("{root}/link:{root}/tools", "{root}/tools/tool", id="linked into it"),
        pytest.param("{root}/x/../repo/bin:{root}/tools", "{root}/tools/tool", id="by a detour"),
        pytest.param(":{root}/tools", "{root}/tools/tool", id="an empty entry"),
        pytest.param(".:bin:{root}/tools", "{root}/tools/tool", id="relative entries"),
        pytest.param("{root}/repo/bin", None, id="only in the repository"),
        pytest.param(":.:bin", None, id="nothing but relative ones"),
        pytest.param("", None, id="no path at all"),
    ],
)
def test_a_program_is_never_found_where_a_stranger_could_put_it(
    tmp_path, install, monkeypatch, path, runs
):
    for place in ("tools/tool", "repo/bin/tool", "repo/tool"):
        install(place)
    (tmp_path / "x").mkdir()
    (tmp_path / "link").symlink_to("repo/bin")
    repo = tmp_path / "repo"
    monkeypatch.chdir(repo)
    environment = clean_environment({"PATH": path.format(root=tmp_path)}, away_from=repo)
    outcome = run(["tool"], folder=repo, environment=environment, timeout_s=60, max_bytes=1000)
    if runs is None:
        assert outcome == Stopped(reason="is not installed")
    else:
        assert outcome.stdout.decode() == runs.format(root=tmp_path)


def test_the_root_of_all_files_is_no_strangers_folder():
    assert clean_environment({"PATH": "/bin"}, away_from=Path("/"))["PATH"] == "/bin"


def test_few_variables_are_passed_on():
    environ = {
        "HOME": "/h",
        "LC_ALL": "C",
        "PATH": "/bin",
        "AWS_SECRET_ACCESS_KEY": "s",
        "GIT_DIR": "x",
        "LD_PRELOAD": "x",
        "DISPLAY": ":0",
        "npm_config_prefix": "x",
    }
    assert clean_environment({"LD_LIBRARY_PATH": ":/lib:lib"}) == {"LD_LIBRARY_PATH": "/lib"}
    assert clean_environment(environ) == {"HOME": "/h", "LC_ALL": "C", "PATH": "/bin"}
    assert clean_environment(environ, keep=("DISPLAY", "AWS_*")).keys() == {
        *("HOME", "LC_ALL", "PATH"),
        *("DISPLAY", "AWS_SECRET_ACCESS_KEY"),
    }


def test_a_program_with_an_ending_of_the_system_comes_before_the_bare_name(install, tmp_path):
    install("bin/npx")
    install("bin/npx.CMD")
    environment = {"PATH": f"{tmp_path}/bin", "PATHEXT": os.pathsep.join([".EXE", ".CMD"])}
    options = {"environment": environment, "timeout_s": 60, "max_bytes": 1 << 16}
    assert run(["npx"], folder=tmp_path, **options).stdout.endswith(b"npx.CMD")
    (tmp_path / "bin" / "npx.CMD").unlink()
    assert run(["npx"], folder=tmp_path, **options).stdout.endswith(b"npx")

"""The program as its user starts it: the interpreter, its modules, its end."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.patience import PATIENCE_S

ROOT = Path(__file__).resolve().parents[1]
HOSTILE = (
    *("click", "numpy", "json", "asyncio", "logging", "jinja2", "openai", "tomllib", "pathlib"),
    *("starlette", "uvicorn", "pydantic", "sitecustomize", "usercustomize", "typing_extensions"),
)
CONSOLE_SCRIPT = Path(sys.executable).with_name("smart-context")
CALL = "from smart_context.__main__ import main; main()"


@pytest.fixture
def vault(tmp_path):
    """A vault whose modules leave a mark when they are imported."""
    folder = tmp_path / "vault"
    folder.mkdir()
    for name in HOSTILE:
        mark = folder / f"ran-{name}"
        (folder / f"{name}.py").write_text(f"open({str(mark)!r}, 'w').close()\n")
    return folder


def run(*command, cwd, **environ):
    return subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=os.environ | environ,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    "command",
    [
        pytest.param([sys.executable, "-m", "smart_context", "pack", "--task", "x"], id="-m"),
        pytest.param([sys.executable, "-m", "smart_context", "doctor"], id="-m, of a vault"),
        pytest.param([sys.executable, "-c", CALL, "pack", "--task", "x"], id="-c"),
        pytest.param([CONSOLE_SCRIPT, "pack", "--task", "x"], id="the installed command"),
    ],
)
def test_no_module_of_the_current_folder_is_imported(vault, command):
    done = run(*command, cwd=vault)
    assert done.returncode == 0, done.stderr
    assert not list(vault.glob("ran-*"))


def test_nor_are_those_that_python_itself_imports_before_us_if_it_is_told_so(vault):
    for name in ("importlib", "contextlib", "warnings"):
        (vault / f"{name}.py").write_text((vault / "click.py").read_text())
    done = run(sys.executable, "-P", "-m", "smart_context", "pack", "--task", "x", cwd=vault)
    assert done.returncode == 0, done.stderr
    assert not list(vault.glob("ran-*"))


def test_nor_with_an_empty_entry_in_the_path_of_imports(vault):
    shutil.rmtree(vault)  # Python itself imports sitecustomize from there, before any program
    vault.mkdir()
    mark = vault / "ran"
    (vault / "click.py").write_text(f"open({str(mark)!r}, 'w').close()\n")
    done = run(CONSOLE_SCRIPT, "pack", "--task", "x", cwd=vault, PYTHONPATH=f":{ROOT}")
    assert done.returncode == 0, done.stderr
    assert not mark.exists()


def test_the_folder_that_the_program_itself_is_in_stays_on_the_path(tmp_path):
    """As a checkout does that is not installed, or what `pip install --target` makes."""
    (tmp_path / "smart_context").symlink_to(ROOT / "smart_context")
    (tmp_path / "click.py").write_text("raise SystemExit(7)\n")
    command = [sys.executable, "-m", "smart_context", "pack", "--task", "x"]
    assert run(*command, cwd=tmp_path).returncode == 7


def test_a_server_ends_with_its_interpreter_and_without_a_word(tmp_path):
    """Other tests fork their servers, which leave the interpreter without clearing its memory."""
    (tmp_path / "Note.md").write_text("Some words.")
    command = [CONSOLE_SCRIPT, "serve", tmp_path, "--port", "0", "--no-browser"]
    with subprocess.Popen(
        command,
        cwd=tmp_path,
        env=os.environ | {"PYTHONWARNINGS": "default"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert any("http://" in line for line in process.stdout)
        process.send_signal(signal.SIGTERM)
        said = process.stderr.read()
        assert process.wait(PATIENCE_S) == 0
    assert said == ""

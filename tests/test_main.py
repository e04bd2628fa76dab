"""The program as its user starts it: the interpreter, its modules, its end."""

import io
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from smart_context.__main__ import main
from smart_context.cli import root
from tests.patience import PATIENCE_S
from tests.vaults import write_chat

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


BROWSER = f"""#!{sys.executable}
import sys
sys.path.insert(0, {str(ROOT)!r})
from tests.serving import Browser
try:
    print("the page has a key:", bool(Browser(sys.argv[1]).key), flush=True)
except Exception as error:
    print("no page:", error, flush=True)
"""


def test_a_browser_that_is_waited_for_gets_its_page(tmp_path):
    """The command of macOS that opens a browser ends once the browser is there."""
    browser = tmp_path / "open"
    browser.write_text(BROWSER)
    browser.chmod(0o755)
    with subprocess.Popen(
        [CONSOLE_SCRIPT, "serve", tmp_path, "--port", "0"],
        env=os.environ | {"BROWSER": str(browser)},
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        said = next(line for line in process.stdout if "page" in line)
        process.send_signal(signal.SIGTERM)
        process.stdout.read()
        assert process.wait(PATIENCE_S) == 0
    assert said == "the page has a key: True\n"


PRINTING = (
    *(("chats", "list"), ("chats", "show", "c1"), ("chats", "search", "木"), ("topics", "c1")),
    *(("filter", "c1"), ("role", "c1"), ("costs",), ("receipt", "c1"), ("search", "木")),
    *(("links", "木.md"), ("backlinks", "木.md"), ("unresolved",), ("orphans",), ("deadends",)),
    *(("outline", "木.md"), ("tags",), ("aliases",), ("contexts", "list"), ("read", "木.md")),
    *(("contexts", "build", "木.md"), ("plugins", "list"), ("doctor",), ("chats", "export", "c1")),
    *(("pack", "--include", "木.md"), ("links", "→"), ("models",), ("trust",), ("keys",)),
)


@pytest.fixture
def in_chinese(tmp_path):
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / ".vault.toml").write_text("")
    text = "---\ntags: [木]\naliases: [木々]\n---\n# 木 →\n[[森 ●]]\n"
    (folder / "木.md").write_text(text, encoding="utf-8")
    write_chat(folder, "c1", [{"id": "a", "role": "user", "content": "木 → ●"}], title="木 → ●")
    return folder


def test_what_goes_to_no_terminal_is_utf_8_whatever_the_system_says(in_chinese, monkeypatch):
    monkeypatch.chdir(in_chinese)
    monkeypatch.setattr(sys, "path", [*sys.path])
    for arguments in PRINTING:
        streams = [io.TextIOWrapper(io.BytesIO(), encoding="cp1252") for _ in range(2)]
        monkeypatch.setattr(sys, "argv", ["smart-context", *arguments])
        monkeypatch.setattr(sys, "stdout", streams[0])
        monkeypatch.setattr(sys, "stderr", streams[1])
        with pytest.raises(SystemExit):
            main()
        for stream in streams:
            stream.flush()
            assert "Traceback" not in stream.buffer.getvalue().decode("utf-8"), arguments


@pytest.mark.parametrize(
    "environ",
    [
        {"PYTHONIOENCODING": "cp1252"},
        {"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "LC_ALL": "C"},
    ],
)
def test_a_pipe_gets_utf_8_from_the_program(in_chinese, environ):
    done = subprocess.run(
        [sys.executable, "-m", "smart_context", "chats", "list"],
        cwd=in_chinese,
        env=os.environ | environ,
        capture_output=True,
        check=False,
    )
    assert "木 → ●" in done.stdout.decode("utf-8"), done.stderr


def test_what_is_quoted_stays_as_it_is_also_on_windows(monkeypatch):
    given = {}
    monkeypatch.setattr(root.smart_context, "main", lambda **options: given.update(options))
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sys, "argv", ["smart-context", "search", "r*"])
    main()
    assert given["windows_expand_args"] is False

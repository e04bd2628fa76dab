"""Lets Repomix pack the files, when that was asked for."""

import logging
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

REPOMIX = "repomix@0.2.20"
_LOGGER = logging.getLogger(__name__)
_TIMEOUT_S = 120.0


class RepomixFailed(Exception):
    """Repomix packed nothing; the message says why. The simple packing takes over."""


def pack_with_repomix(
    root: Path,
    include: Sequence[str],
    ignore: Sequence[str],
    *,
    may_download: bool,
    timeout_s: float = _TIMEOUT_S,
) -> str:
    """What Repomix makes of the files.

    It runs in a process group of its own, which is killed when it takes too long.

    Args:
        root: The repository.
        include: Globs.
        ignore: Globs and paths of files that are not to be packed.
        may_download: Let npx fetch Repomix if it is not installed.
        timeout_s: How long it may take.

    Raises:
        RepomixFailed: If it is not there, fails or takes too long.
    """
    npx = shutil.which("npx")
    if npx is None:
        raise RepomixFailed("npx is not installed")
    with tempfile.TemporaryDirectory(prefix="smart-context-") as folder:
        output = Path(folder) / "packed.xml"
        command = [
            npx,
            "--yes" if may_download else "--no-install",
            REPOMIX,
            "--style",
            "xml",
            f"--output={output}",
            *([f"--include={','.join(include)}"] if include else []),
            *([f"--ignore={','.join(ignore)}"] if ignore else []),
        ]
        printed = _run(command, root, timeout_s)
        packed = (
            output.read_text(encoding="utf-8", errors="replace") if output.exists() else printed
        )
    if not packed.strip():
        raise RepomixFailed("it packed nothing")
    return packed


def _run(command: list[str], folder: Path, timeout_s: float) -> str:
    try:
        process = subprocess.Popen(  # noqa: S603  fixed command, no shell
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except OSError as error:
        raise RepomixFailed(f"it could not be started: {error.strerror}") from error
    try:
        printed, complaints = process.communicate(timeout=timeout_s)
    except subprocess.TimeoutExpired:
        raise RepomixFailed(f"it took longer than {timeout_s:g} s") from None
    finally:
        _kill_group(process)
    if process.returncode != 0:
        _LOGGER.info("Repomix failed: %s", complaints.decode("utf-8", "replace").strip())
        raise RepomixFailed(f"it failed with exit code {process.returncode}")
    return printed.decode("utf-8", "replace")


def _kill_group(process: "subprocess.Popen[bytes]") -> None:
    """Ends the process and whatever it started and left behind."""
    try:
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        elif process.poll() is None:
            process.kill()
    except ProcessLookupError:
        pass
    process.wait()
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()

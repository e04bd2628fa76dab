"""Runs external programs: git, npx, pip and the clipboard's command.

No other module does; elsewhere only Python with our own code is started. A program is looked up on
the user's PATH, never in a vault; it gets few environment variables, no shell and no terminal. It
runs in its own process group, which is killed when the program ends, takes too long or prints too
much.
"""

import contextlib
import os
import subprocess  # noqa: TID251  the one place that may
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from smart_context.base.processes.groups import ProcessGroup

_KEPT = (
    *("HOME", "USER", "LOGNAME", "LANG", "LANGUAGE", "LC_*", "TZ", "TMPDIR", "TMP", "TEMP"),
    *("XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR"),
    *("SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "PROGRAMDATA"),
    *("USERPROFILE", "HOMEDRIVE", "HOMEPATH", "APPDATA", "LOCALAPPDATA"),
)
_FOLDER_LISTS = ("PATH", "LD_LIBRARY_PATH")
"""The variables with the search paths of programs and of the libraries that they load."""

NETWORK_VARIABLES = (
    *("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"),
    *("http_proxy", "https_proxy", "all_proxy", "no_proxy"),
    *("SSL_CERT_FILE", "SSL_CERT_DIR"),
)
"""The other variables that a program needs to reach the network as the user does."""

NOT_INSTALLED = "is not installed"
"""The reason for a program that is not on the PATH."""

_CHUNK_BYTES = 1 << 16
_LAST_WORDS_S = 0.5
"""Seconds that the output of a program that has ended may take to arrive."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """A program that ended by itself."""

    exit_code: int  # the exit code; negative for a signal
    stdout: bytes  # its output
    stderr: bytes  # its error output


@dataclass(frozen=True, slots=True, kw_only=True)
class Stopped:
    """A program that could not be started, or was killed."""

    reason: str  # what happened, worded to follow the program's name


def clean_environment(
    environ: Mapping[str, str], *, keep: Sequence[str] = (), away_from: Path | None = None
) -> dict[str, str]:
    """The environment of a program, with a PATH of trusted folders.

    Args:
        keep: Names to pass on in addition to the usual ones; `X_*` matches a prefix.
        away_from: A folder with other people's files; search paths leave out folders in it.
    """
    names = {*_KEPT, *keep}
    beginnings = tuple(name.removesuffix("*") for name in names if name.endswith("*"))
    kept = {
        name: value
        for name, value in environ.items()
        if name in names or name.startswith(beginnings)
    }
    lists = {name: [*_safe_folders(environ.get(name, ""), away_from)] for name in _FOLDER_LISTS}
    return kept | {name: os.pathsep.join(folders) for name, folders in lists.items() if folders}


def _safe_folders(path: str, away_from: Path | None) -> Iterator[str]:
    """The absolute folders on a PATH; a relative one is wherever the program is run."""
    avoided = None if away_from is None else away_from.resolve()
    if avoided is not None and avoided.parent == avoided:
        avoided = None  # it holds everything, so it can't be avoided
    for folder in path.split(os.pathsep):
        if not os.path.isabs(folder):  # noqa: PTH117  an empty entry is no path
            continue
        if avoided is None or not Path(os.path.realpath(folder)).is_relative_to(avoided):
            yield folder


def run(
    command: Sequence[str],
    *,
    folder: Path,
    environment: Mapping[str, str],
    stdin: bytes = b"",
    timeout_s: float,
    max_bytes: int,
    may_stay: bool = False,
) -> Ended | Stopped:
    """Run a program until it ends, takes too long or prints too much.

    Args:
        command: A program's name or absolute path, and its arguments.
        environment: All its variables, as `clean_environment` makes them.
        max_bytes: Most bytes of its output, and of its error output.
        may_stay: Drop its output, and let its background processes go on.
    """
    program = _found(command[0], environment)
    if program is None:
        return Stopped(reason=NOT_INSTALLED)
    output = subprocess.DEVNULL if may_stay else subprocess.PIPE
    try:
        process = subprocess.Popen(  # noqa: S603  no shell; callers choose from fixed programs
            [program, *command[1:]],
            cwd=folder,
            env=dict(environment),
            stdin=subprocess.PIPE if stdin else subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:  # ValueError: a NUL in an argument
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        return Stopped(reason=f"could not be started ({reason})")
    group = ProcessGroup(process)
    # Also called when this program exits, since threads that wait below just stop then.
    kill = weakref.finalize(process, group.kill)
    try:
        if process.stdin is not None:
            _in_background(_write, process.stdin, stdin)
        running = _RunningProgram(process, group, max_bytes)
        outcome = running.outcome(timeout_s, may_stay=may_stay)
    except BaseException:
        kill()
        raise
    kill.detach()
    return outcome


def _found(name: str, environment: Mapping[str, str]) -> str | None:
    if os.path.isabs(name):  # noqa: PTH117  as text
        return name
    # Not by `shutil.which`: on Windows it looks into the current folder first.
    # The bare name comes last: next to `npx.cmd` is an `npx` for other shells.
    endings = (*environment.get("PATHEXT", "").split(os.pathsep), "")
    for folder in _safe_folders(environment.get("PATH", ""), None):
        for ending in endings:
            path = f"{folder}{os.sep}{name}{ending}"
            if os.access(path, os.X_OK) and os.path.isfile(path):  # noqa: PTH113  a plain text
                return path
    return None


class _RunningProgram:
    """A running program, and the threads that wait for its exit and its output."""

    def __init__(
        self, process: "subprocess.Popen[bytes]", group: ProcessGroup, max_bytes: int
    ) -> None:
        self._process = process
        self._group = group
        self._max_bytes = max_bytes
        self._printed = {"stdout": bytearray(), "stderr": bytearray()}
        self._awaited = {"exit"}
        self._is_full = False
        self._news = threading.Condition()

    def outcome(self, timeout_s: float, *, may_stay: bool) -> Ended | Stopped:
        """Its outcome; processes that it started are killed, unless they may stay."""
        self._start_threads()
        is_in_time = self._wait_for({"exit"}, timeout_s)
        if self._is_full or not (is_in_time and may_stay):
            self._group.kill()
        exit_code = self._process.wait()
        # A process that left the group may hold a pipe open for ever.
        self._wait_for({"stdout", "stderr"}, _LAST_WORDS_S)
        if self._is_full:
            return Stopped(reason=f"printed more than {self._max_bytes:,} bytes")
        if not is_in_time:
            return Stopped(reason=f"took longer than {timeout_s:g} s")
        stdout, stderr = (bytes(self._printed[name]) for name in ("stdout", "stderr"))
        return Ended(exit_code=exit_code, stdout=stdout, stderr=stderr)

    def _start_threads(self) -> None:
        _in_background(self._await_exit)
        for name in self._printed:
            stream: IO[bytes] | None = getattr(self._process, name)
            if stream is not None:
                self._awaited.add(name)
                _in_background(self._read, name, stream)

    def _await_exit(self) -> None:
        self._process.wait()
        self._note("exit")

    def _read(self, name: str, stream: IO[bytes]) -> None:
        printed = self._printed[name]
        with stream:
            while len(printed) <= self._max_bytes:
                chunk = os.read(stream.fileno(), _CHUNK_BYTES)
                if not chunk:
                    break
                printed += chunk
        self._note(name, is_full=len(printed) > self._max_bytes)

    def _note(self, name: str, *, is_full: bool = False) -> None:
        with self._news:
            self._awaited.discard(name)
            self._is_full = self._is_full or is_full
            self._news.notify()

    def _wait_for(self, names: set[str], timeout_s: float) -> bool:
        """True if all of these ended in time, or too much was printed."""
        with self._news:
            return self._news.wait_for(
                lambda: self._is_full or not names & self._awaited, timeout_s
            )


def _write(stream: IO[bytes], content: bytes) -> None:
    with contextlib.suppress(OSError), stream:  # it may not read its input
        stream.write(content)


def _in_background(work: Callable[..., None], *arguments: object) -> None:
    threading.Thread(target=work, args=arguments, name="program", daemon=True).start()

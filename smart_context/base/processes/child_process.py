"""The parent's side of a child process: starts, asks and kills it."""

import contextlib
import json
import logging
import os
import signal
import subprocess  # noqa: TID251  starts our own Python
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO, Literal, cast

from smart_context.base.errors import SmartContextError
from smart_context.base.processes.confinement import confinement_words, hide_memory, reachable
from smart_context.base.processes.frames import read_frame, write_frame

START_S = 20.0
"""How long the process may take to start."""

_PATIENCE = 2
"""A job's clock time may be this many times its processor time: the machine may be busy."""

_MAX_ANSWER_BYTES = 64 << 20
_MAIN = (
    "import sys; sys.path[:] = sys.argv[1:]; "
    "from smart_context.base.processes.child_main import main; main()"
)
_PACKAGE_ROOT = str(Path(__file__).resolve().parents[3])
_PASSED_ON = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT")

_logger = logging.getLogger(__name__)

Reason = Literal["slow", "memory", "crashed", "busy", "stopped"]


class ChildFailed(SmartContextError):
    """The child process gave no result; the message says why, as in `it takes …`.

    Attributes:
        reason: The cause, for code.
    """

    def __init__(self, reason: Reason, message: str) -> None:
        self.reason: Reason = reason
        super().__init__(message)


class ChildProcess:
    """A child process; dead after its first failure.

    Args:
        modules: The modules to import before its first job.
        memory_bytes: The memory limit of a job.

    Raises:
        ChildFailed: If it can't be started.
    """

    def __init__(
        self, modules: Sequence[str], environ: Mapping[str, str], memory_bytes: int
    ) -> None:
        self._memory_bytes = memory_bytes
        self._modules = tuple(modules)
        self._is_ready = False
        self._holds: tuple[str, ...] = ()
        self._is_late = False
        self._limit_s = START_S
        self._ending = threading.Lock()
        hide_memory()
        try:
            self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
                [sys.executable, "-I", "-S", "-B", "-X", "utf8", "-c", _MAIN, *_import_path()],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                cwd=os.sep,
                env={name: environ[name] for name in _PASSED_ON if name in environ},
                start_new_session=True,
            )
        except OSError as error:
            raise ChildFailed("crashed", f"its process can't be started: {error}") from error
        self._jobs = cast("BinaryIO", self._process.stdin)
        self._answers = cast("BinaryIO", self._process.stdout)

    @property
    def pid(self) -> int:
        """Its process id, and that of its group."""
        return self._process.pid

    @property
    def holds(self) -> tuple[str, ...]:
        """Of `confinement.MECHANISMS`, those in force; none before the first job."""
        return self._holds

    def provides(self, modules: Sequence[str]) -> bool:
        """True if a job can use these modules; they are imported if no job was done yet."""
        if not self._is_ready:
            self._modules = tuple(dict.fromkeys((*self._modules, *modules)))
        return set(modules) <= set(self._modules)

    def is_alive(self) -> bool:
        """True until it has ended; its entry in the system's table is then removed."""
        with self._ending:
            return self._process.poll() is None

    def kill(self) -> None:
        """End it and its group at once; from any thread."""
        with self._ending:
            # Once it is reaped, its id may belong to another process.
            if self._process.poll() is None:
                if hasattr(os, "killpg"):
                    os.killpg(self.pid, signal.SIGKILL)
                else:
                    self._process.kill()
                self._process.wait()

    def close(self) -> None:
        """Close its pipes, once it is dead and nobody waits for it."""
        for pipe in (self._jobs, self._answers):
            with contextlib.suppress(OSError):  # unsent bytes can't be flushed any more
                pipe.close()

    def answer_to(self, job: bytes, deadline_s: float) -> dict[str, Any]:
        """The process's answer: a `value`, or why the work was `refused`.

        Raises:
            ChildFailed: If it does not answer in time, or has failed; it is dead then.
        """
        try:
            if not self._is_ready:
                self._prepare()
            self._limit_s = deadline_s
            with self._killed_after(_PATIENCE * deadline_s + 1):
                write_frame(self._jobs, str(deadline_s).encode())
                write_frame(self._jobs, job)
                answer = json.loads(read_frame(self._answers, _MAX_ANSWER_BYTES))
            if answer.get("is_last") or answer.get("failed") == "memory":
                self.kill()
        except (OSError, EOFError, ValueError, AttributeError, RecursionError) as error:
            self.kill()
            raise self._ended(error) from error
        except BaseException:
            self.kill()
            raise
        if "failed" in answer:
            raise self._failed(str(answer["failed"]))
        return cast("dict[str, Any]", answer)

    def _prepare(self) -> None:
        """Let it import its modules and give up its rights: nothing of a stranger came yet."""
        setup = {"modules": self._modules, "memory_bytes": self._memory_bytes}
        with self._killed_after(START_S):
            write_frame(self._jobs, json.dumps(setup).encode())
            self._holds = tuple(json.loads(read_frame(self._answers, _MAX_ANSWER_BYTES)))
        _log_once(self._holds)
        self._is_ready = True

    @contextlib.contextmanager
    def _killed_after(self, seconds: float) -> Iterator[None]:
        timer = threading.Timer(seconds, self._expire)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
            timer.join()  # so that it never kills the next job

    def _expire(self) -> None:
        self._is_late = True
        self.kill()

    def _ended(self, error: Exception) -> ChildFailed:
        is_out_of_time = self._process.returncode == -getattr(signal, "SIGPROF", 0)
        if self._is_late or is_out_of_time:
            return ChildFailed("slow", f"it takes longer than {self._limit_s:g} s")
        if self._process.returncode == -getattr(signal, "SIGSYS", 0):
            return ChildFailed("crashed", "its reader was ended: it made a forbidden system call")
        return ChildFailed("crashed", f"its reader crashed ({error})")

    def _failed(self, what: str) -> ChildFailed:
        if what == "memory":
            mebibytes = self._memory_bytes >> 20
            return ChildFailed("memory", f"it takes more than {mebibytes} MiB of memory")
        return ChildFailed("crashed", f"its reader failed ({what})")


@cache
def _log_once(holds: tuple[str, ...]) -> None:
    _logger.log(logging.WARNING if reachable(holds) else logging.INFO, confinement_words(holds))


def _import_path() -> list[str]:
    """The import path without the working directory, which may be a stranger's."""
    known = [entry for entry in sys.path if Path(entry).is_absolute() and not _is_here(entry)]
    return list(dict.fromkeys([*known, _PACKAGE_ROOT]))


def _is_here(folder: str) -> bool:
    try:
        return Path(folder).samefile(os.curdir)
    except OSError:
        return False

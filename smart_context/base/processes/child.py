"""A killable child process for work that a hostile input can make expensive.

Parsing an attached file, rendering a template or highlighting code takes milliseconds, unless the
input was made to take hours or all memory. In this process it would block everything, and nothing
could stop it.
"""

import contextlib
import json
import logging
import os
import pickle
import signal
import subprocess  # noqa: TID251  starts our own Python
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from time import monotonic
from typing import Any, BinaryIO, Literal, Self, cast

from smart_context.base.errors import CommandFailed, SmartContextError
from smart_context.base.processes.confinement import confinement_words, hide_memory, reachable
from smart_context.base.processes.frames import read_frame, write_frame
from smart_context.base.processes.groups import ProcessGroup
from smart_context.base.processes.needed import needed_by

START_S = 60.0 if sys.platform == "win32" else 20.0
"""Seconds that the process may take to start.

On Windows a scanner for viruses reads each file before Python does.
"""

RESTART_PAUSE_S = 30.0
"""Seconds without a new attempt after a process could not start."""

_PATIENCE = 2 if sys.platform == "win32" else 20
"""A job's clock time may be this many times its processor time, as on a busy machine.

On Windows, where nothing counts processor time, the clock is the only limit.
"""

_MAX_ANSWER_BYTES = 64 << 20
_MAIN = (
    "import sys; sys.path[:] = sys.argv[1:]; "
    "from smart_context.base.processes.child_main import main; main()"
)
_PACKAGE_ROOT = str(Path(__file__).resolve().parents[3])
_MOST_LAST_WORDS = 2_000
_PASSED_ON = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT")

_logger = logging.getLogger(__name__)

Reason = Literal["slow", "memory", "crashed", "busy", "start", "stopped"]


class ChildFailed(SmartContextError):
    """The child process gave no result; the message says why, as in `it takes …`.

    Attributes:
        last_words: The output of a process that could not start, for the log.
    """

    def __init__(self, reason: Reason, message: str, last_words: str = "") -> None:
        self.reason: Reason = reason
        self.last_words = last_words
        super().__init__(message)


class ChildProcess:
    """A child process; dead after its first failure.

    Attributes:
        spent_s: The processor time of its last job, as far as that is known.

    Raises:
        ChildFailed: If it can't be started.
    """

    def __init__(
        self,
        modules: Sequence[str],
        environ: Mapping[str, str],
        memory_bytes: int,
        before: Callable[[], object] | None = None,
    ) -> None:
        self._memory_bytes = memory_bytes
        self._modules = tuple(modules)
        self._before = before
        self._is_ready = False
        self._holds: tuple[str, ...] = ()
        self._is_late = False
        self._limit_s = START_S
        self.spent_s = 0.0
        self._ending = threading.Lock()
        hide_memory()
        passed_on, self._lifeline = _lifeline()
        try:
            self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
                [sys.executable, "-I", "-S", "-B", "-X", "utf8", "-c", _MAIN, *_import_path()],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,  # until it is ready
                cwd=os.sep,
                env={name: environ[name] for name in _PASSED_ON if name in environ},
                start_new_session=True,
                pass_fds=passed_on,
            )
        except OSError as error:
            raise ChildFailed("start", f"its process can't be started: {error}") from error
        finally:
            for descriptor in passed_on:
                os.close(descriptor)
        self._group = ProcessGroup(self._process, ends_with_us=True)
        self._lifeline_there = passed_on[0] if passed_on else None
        self._jobs = cast("BinaryIO", self._process.stdin)
        self._answers = cast("BinaryIO", self._process.stdout)
        self._complaints = cast("BinaryIO", self._process.stderr)

    @property
    def pid(self) -> int:
        """Its process id, and that of its group."""
        return self._process.pid

    @property
    def holds(self) -> tuple[str, ...]:
        """Of `confinement.MECHANISMS`, those in force; none before the first job."""
        return self._holds

    def provides(self, modules: Sequence[str]) -> bool:
        """True if a job can use these modules; before the first job, they are added."""
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
                self._group.kill()
                self._process.wait()

    def close(self) -> None:
        """Close its pipes, once it is dead and nobody waits for it."""
        for pipe in (self._jobs, self._answers, self._complaints, *self._lifeline):
            with contextlib.suppress(OSError):  # unsent bytes can't be flushed any more
                pipe.close()

    def answer_to(
        self,
        job: bytes,
        deadline_s: float,
        serve: Callable[[Any], bytes | None] | None = None,
        *,
        goes_on: bool = False,
    ) -> dict[str, Any]:
        """The process's answer: a `value`, or the reason why the work was `refused`.

        Args:
            serve: Answers what the job asks for; `None` where it only tells something.
            goes_on: As `Child.run` takes it.

        Raises:
            ChildFailed: If it does not answer in time, or has failed; it is dead then.
        """
        began, told_s = monotonic(), deadline_s
        try:
            if not self._is_ready:
                self._prepare()
            self._limit_s, began = deadline_s, monotonic()
            with self._killed_after(_PATIENCE * deadline_s + 1):
                write_frame(self._jobs, str(deadline_s).encode())
                write_frame(self._jobs, job)
                answer = self._last_answer(serve)
                told_s = float(read_frame(self._answers, _MAX_ANSWER_BYTES))
            if (answer.get("is_last") and not goes_on) or answer.get("failed") == "memory":
                self.kill()
        except (OSError, EOFError, ValueError, AttributeError, RecursionError) as error:
            self.kill()
            raise self._ended(error) from error
        except BaseException:
            self.kill()
            raise
        finally:
            # A process that was taken over may lie about its time.
            passed_s = monotonic() - began
            self.spent_s = min(passed_s, max(passed_s / _PATIENCE, told_s))
        if "failed" in answer:
            raise self._failed(str(answer["failed"]))
        return cast("dict[str, Any]", answer)

    def _last_answer(self, serve: Callable[[Any], bytes | None] | None) -> Any:
        """The answer that ends the job; its questions before are served."""
        answer = self._received()
        while serve is not None and "asked" in answer:
            if (content := serve(answer["asked"])) is not None:
                write_frame(self._jobs, content)
            answer = self._received()
        return answer

    def _received(self) -> Any:
        return json.loads(read_frame(self._answers, _MAX_ANSWER_BYTES))

    def _prepare(self) -> None:
        """Let it import its modules and give up its rights, before it gets untrusted input."""
        setup = {
            "modules": self._modules,
            "memory_bytes": self._memory_bytes,
            "lifeline": self._lifeline_there,
        }
        with self._killed_after(START_S):
            write_frame(self._jobs, json.dumps(setup).encode())
            write_frame(self._jobs, pickle.dumps(self._before))
            self._holds = tuple(json.loads(read_frame(self._answers, _MAX_ANSWER_BYTES)))
        _log_once(self._holds)
        self._complaints.close()
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
        if not self._is_ready:
            return self._not_started(error)
        is_out_of_time = self._process.returncode == -getattr(signal, "SIGPROF", 0)
        if self._is_late or is_out_of_time:
            return ChildFailed("slow", f"it takes longer than {self._limit_s:g} s")
        if self._process.returncode == -getattr(signal, "SIGSYS", 0):
            return ChildFailed("crashed", "its reader was ended: it made a forbidden system call")
        return ChildFailed("crashed", f"its reader crashed ({error})")

    def _not_started(self, error: Exception) -> ChildFailed:
        if self._is_late:
            return ChildFailed("start", f"its process is not ready after {START_S:g} s")
        said = self._complaints.read(_MAX_ANSWER_BYTES).decode("utf-8", "replace")
        lines = [line.strip() for line in said[-_MOST_LAST_WORDS:].splitlines() if line.strip()]
        why = lines[-1] if lines else str(error)
        return ChildFailed("start", f"its process can't start ({why})", "; ".join(lines))

    def _failed(self, what: str) -> ChildFailed:
        if what == "memory":
            mebibytes = self._memory_bytes >> 20
            return ChildFailed("memory", f"it takes more than {mebibytes} MiB of memory")
        return ChildFailed("crashed", f"its reader failed ({what})")


def _lifeline() -> tuple[list[int], list[BinaryIO]]:
    """A pipe that carries no data: the child's end, and ours, which closes when we end."""
    if sys.platform == "win32":  # the group ends with us
        return [], []
    there, here = os.pipe()
    return [there], [os.fdopen(here, "wb", 0)]


@cache
def _log_once(holds: tuple[str, ...]) -> None:
    _logger.log(logging.WARNING if reachable(holds) else logging.INFO, confinement_words(holds))


@cache
def _log_failed_start(why: str, last_words: str) -> None:
    _logger.error(
        "Files and code can't be read: %s. It said last: %s", why, last_words or "nothing"
    )


def _import_path() -> list[str]:
    """The import path without the working directory, which may be a stranger's."""
    known = [entry for entry in sys.path if Path(entry).is_absolute() and not _is_here(entry)]
    return list(dict.fromkeys([*known, _PACKAGE_ROOT]))


def _is_here(folder: str) -> bool:
    try:
        return Path(folder).samefile(os.curdir)
    except OSError:
        return False


MAX_MEMORY_BYTES = 384 << 20
"""Most memory of a job, above what the process takes at its start; on Linux."""


class Child:
    """Does work in a process that is killed when it takes too long or too much memory.

    The process is started by the first job, or by `start`, and kept for the next ones; one that
    was killed is replaced. Usable from any thread; jobs take turns. A job's function must be
    importable, its arguments must be picklable, and its result plain data as in JSON.

    Before its first job the process gives up files, network and other processes, as far as the
    system can take them away (`confinement`). A job can import only the modules that were named by
    then; one that needs more gets a new process.

    Args:
        modules: Imported before the first job, outside of any deadline; named as for `needs`.
        environ: This program's environment; only what Python itself needs is passed on.
        before: Called once in each process while it has its rights, to open a file; picklable.
    """

    def __init__(
        self,
        modules: Sequence[str] = (),
        *,
        environ: Mapping[str, str] | None = None,
        memory_bytes: int = MAX_MEMORY_BYTES,
        before: Callable[[], object] | None = None,
    ) -> None:
        self._modules = tuple(modules)
        self._environ = environ or {}
        self._memory_bytes = memory_bytes
        self._before = before
        self._turn = threading.Lock()
        self._changing = threading.Lock()
        self._process: ChildProcess | None = None
        self._is_closed = False
        self._spent_s = 0.0
        self._next_start = 0.0
        self._failed_start = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    @property
    def pid(self) -> int | None:
        """The process id, also of its process group; `None` while there is no process."""
        process = self._process
        return process.pid if process is not None and process.is_alive() else None

    def start(self) -> None:
        """Start the process now, to be ready when a job comes; does not wait for it.

        Raises:
            ChildFailed: If it can't be started, or was closed.
        """
        self._started()

    @property
    def holds(self) -> tuple[str, ...]:
        """Of `confinement.MECHANISMS`, those in force; none before the first job."""
        process = self._process
        return process.holds if process is not None else ()

    @property
    def spent_s(self) -> float:
        """The processor time of all jobs that have ended."""
        return self._spent_s

    def run(
        self,
        work: Callable[..., object],
        *arguments: object,
        deadline_s: float,
        wait_s: float = START_S,
        serve: Callable[[Any], bytes | None] | None = None,
        goes_on: bool = False,
    ) -> Any:
        """The result of `work(*arguments)`; blocks.

        Check the result like any input: its author may have taken over the process.

        Args:
            work: A function of a module; `needs` tells what it imports.
            arguments: The arguments of the call.
            deadline_s: Most processor time. A job that waits instead is ended, too, after about
                twenty times as long; twice as long where the system can't limit processor time.
            wait_s: Seconds that it may wait for its turn.
            serve: Answers what the work asks for by `child_main.ask`; returns `None` for what it
                tells by `child_main.tell`. Check both like the result.
            goes_on: Keep the process, even if it has grown large: the next job needs its state.

        Raises:
            ChildFailed: If it took too long or too much memory, or crashed.
            CommandFailed: If the work itself refused its input, in its words.
            ValueError: If the arguments can't be sent to another process.
        """
        try:
            job = pickle.dumps((work, arguments))
        except Exception as error:
            raise ValueError(f"{work!r} can't be sent to another process: {error}") from error
        if not self._turn.acquire(timeout=wait_s):
            raise ChildFailed("busy", "too much else is being read; try again in a moment")
        try:
            answer = self._answer_to(job, deadline_s, needed_by(work), serve, goes_on)
        finally:
            self._turn.release()
        if "refused" in answer:
            raise CommandFailed(str(answer["refused"]))
        return answer.get("value")

    def allow_memory(self, memory_bytes: int) -> None:
        """Let later jobs take this much memory, in another process if this one may not."""
        with self._turn:
            if memory_bytes > self._memory_bytes:
                self._memory_bytes = memory_bytes
                if (process := self._process) is not None:
                    process.kill()

    def close(self) -> None:
        """Kill the process, even during a job; no other is started."""
        with self._changing:
            self._is_closed = True
            process = self._process
        if process is not None:
            process.kill()
            with self._turn:
                process.close()

    def _started(self) -> ChildProcess:
        with self._changing:
            if self._is_closed:
                raise ChildFailed("stopped", "Smart Context is stopping")
            if self._process is None:
                if monotonic() < self._next_start:
                    raise ChildFailed("start", self._failed_start)
                self._process = ChildProcess(
                    self._modules, self._environ, self._memory_bytes, self._before
                )
            return self._process

    def _answer_to(
        self,
        job: bytes,
        deadline_s: float,
        modules: Sequence[str],
        serve: Callable[[Any], bytes | None] | None,
        goes_on: bool,
    ) -> dict[str, Any]:
        self._replace_dead()
        try:
            process = self._with(modules)
            try:
                return process.answer_to(job, deadline_s, serve, goes_on=goes_on)
            finally:
                self._spent_s += process.spent_s
        except ChildFailed as failure:
            if self._is_closed:
                raise ChildFailed("stopped", "Smart Context is stopping") from None
            if failure.reason == "start" and monotonic() >= self._next_start:
                _log_failed_start(str(failure), failure.last_words)
                self._failed_start = str(failure)
                self._next_start = monotonic() + RESTART_PAUSE_S
            raise
        finally:
            self._replace_dead()

    def _with(self, modules: Sequence[str]) -> ChildProcess:
        """The process, or another one if it gave up its rights before it had these modules."""
        self._modules = tuple(dict.fromkeys((*self._modules, *modules)))
        process = self._started()
        if process.provides(self._modules):
            return process
        process.kill()
        self._replace_dead()
        return self._started()

    def _replace_dead(self) -> None:
        with self._changing:
            dead = self._process
            if dead is None or dead.is_alive():
                return
            dead.close()
            self._process = None
        with contextlib.suppress(ChildFailed):  # the next job reports it
            self._started()


@dataclass(frozen=True, slots=True, kw_only=True)
class Children:
    """Two processes at most, each started by its first job."""

    files: Child = field(default_factory=Child)  # reads attached files, which may take seconds
    # does work that a page or a turn waits for: templates, Markdown, colours of code
    texts: Child = field(default_factory=Child)

    def close(self) -> None:
        """Kill both; no others are started."""
        self.files.close()
        self.texts.close()

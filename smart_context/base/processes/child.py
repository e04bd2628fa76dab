"""A killable child process for work that a hostile input can make expensive.

Parsing an attached file, rendering a template or highlighting code takes milliseconds, unless the
input was made to take hours or all memory. In this process it would block everything, and nothing
could stop it.
"""

import contextlib
import pickle
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from smart_context.base.errors import CommandFailed
from smart_context.base.processes.child_process import START_S, ChildFailed, ChildProcess
from smart_context.base.processes.needed import needed_by

__all__ = ["MAX_MEMORY_BYTES", "START_S", "Child", "ChildFailed"]

MAX_MEMORY_BYTES = 384 << 20
"""Most memory of a job, above what the process takes at its start; on Linux."""


class Child:
    """Does work in a process that is killed when it takes too long or too much memory.

    The process is started by the first job, or by `start`, and kept for the next ones; one that
    was killed is replaced. Usable from any thread; jobs take turns. A job's function must be
    importable, its arguments must be picklable, and its result plain data as in JSON.

    Before its first job the process gives up files, network and other processes, as far as the
    system can take them away (`confinement`). A job can import only what was named by then; one
    that needs more gets a new process.

    Args:
        modules: Imported before the first job, so that no deadline includes it, as for `needs`.
        environ: This program's environment; only what Python itself needs is passed on.
        memory_bytes: The memory limit of a job.
    """

    def __init__(
        self,
        modules: Sequence[str] = (),
        *,
        environ: Mapping[str, str] | None = None,
        memory_bytes: int = MAX_MEMORY_BYTES,
    ) -> None:
        self._modules = tuple(modules)
        self._environ = environ or {}
        self._memory_bytes = memory_bytes
        self._turn = threading.Lock()
        self._changing = threading.Lock()
        self._process: ChildProcess | None = None
        self._is_closed = False

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

    def run(
        self,
        work: Callable[..., object],
        *arguments: object,
        deadline_s: float,
        wait_s: float = START_S,
    ) -> Any:
        """The result of `work(*arguments)`; blocks.

        Check the result like any input: its author may have taken over the process.

        Args:
            work: A function of a module; `needs` tells what it imports.
            arguments: What it is called with.
            deadline_s: Most processor time; where the system can't limit that, and for waiting,
                about twice as much clock time.
            wait_s: How long it may wait for its turn.

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
            answer = self._answer_to(job, deadline_s, needed_by(work))
        finally:
            self._turn.release()
        if "refused" in answer:
            raise CommandFailed(str(answer["refused"]))
        return answer.get("value")

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
                self._process = ChildProcess(self._modules, self._environ, self._memory_bytes)
            return self._process

    def _answer_to(self, job: bytes, deadline_s: float, modules: Sequence[str]) -> dict[str, Any]:
        self._replace_dead()
        try:
            process = self._with(modules)
            return process.answer_to(job, deadline_s)
        except ChildFailed:
            if self._is_closed:
                raise ChildFailed("stopped", "Smart Context is stopping") from None
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
    # does what a page or a turn waits for: templates, Markdown, colours of code
    texts: Child = field(default_factory=Child)

    def close(self) -> None:
        """Kill both; no others are started."""
        self.files.close()
        self.texts.close()

"""The child's side: gives up its rights, then does one job after another.

Code that it may need later is kept in memory, since no file can be opened any more.
"""

import contextlib
import importlib
import json
import os
import pickle
import select
import signal
import sys
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import cache_from_source, spec_from_file_location
from time import process_time
from types import ModuleType
from typing import Any, BinaryIO, Final

from typing_extensions import override

from smart_context.base.errors import SmartContextError
from smart_context.base.processes.confinement import confine
from smart_context.base.processes.frames import read_frame, write_frame

_MODIFIED: Final = slice(4, 12)
"""In a compiled file, the flags (0: compare times) and the time of its source (PEP 552)."""


def keep(package: str) -> None:
    """Read the code of a package's modules that are not loaded yet, without running it.

    Native modules are not kept.

    Raises:
        ImportError: If there is no such package.
    """
    kept = _KeptModules()
    for folder in importlib.import_module(package).__path__:
        kept.read(package, folder)
    sys.meta_path.insert(0, kept)


class _KeptModules:
    """Finds modules that were read before."""

    def __init__(self) -> None:
        self._loaders: dict[str, _Loader] = {}

    def read(self, package: str, folder: str) -> None:
        with os.scandir(folder) as entries:
            found = list(entries)
        for entry in found:
            name, suffix = os.path.splitext(entry.name)  # noqa: PTH122 - paths cost four times more
            if suffix == ".py" and name.isidentifier():
                full = package if name == "__init__" else f"{package}.{name}"
                if full not in sys.modules:
                    self._loaders[full] = _Loader(full, entry.path)
            elif name.isidentifier() and name != "__pycache__" and entry.is_dir():
                self.read(f"{package}.{name}", entry.path)

    def find_spec(
        self,
        name: str,
        _path: Sequence[str] | None = None,
        _target: ModuleType | None = None,
    ) -> ModuleSpec | None:
        """The module, if it was read."""
        if (loader := self._loaders.get(name)) is None:
            return None
        return spec_from_file_location(name, loader.path, loader=loader)


class _Loader(SourceFileLoader):
    """Loads one module from memory: its compiled code, or its source if there is none."""

    def __init__(self, name: str, path: str) -> None:
        super().__init__(name, path)
        status = os.stat(path)  # noqa: PTH116 - paths cost four times more
        self._stats = {"mtime": int(status.st_mtime), "size": status.st_size}
        compiled = cache_from_source(path)
        self._files: dict[str, bytes] = {}
        with contextlib.suppress(OSError):
            self._files[compiled] = super().get_data(compiled)
        expected = bytes(4) + (self._stats["mtime"] & 0xFFFFFFFF).to_bytes(4, "little")
        if self._files.get(compiled, b"")[_MODIFIED] != expected:
            self._files[path] = super().get_data(path)

    @override
    def path_stats(self, path: str) -> Any:
        return self._stats

    @override
    def get_data(self, path: str) -> bytes:
        try:
            return self._files[os.fspath(path)]
        except KeyError:
            raise FileNotFoundError(path) from None


_SIZES = "/proc/self/statm"
_MAX_FRAME = 1 << 31
_MAX_DESCRIPTORS = 16
_MAX_DETAIL = 500
_LARGE_SHARE = 0.25
_REFUSED_EVENTS = (
    *("socket.", "subprocess.", "ctypes."),
    *("os.exec", "os.fork", "os.posix_spawn", "os.system"),
)


_pipes: ContextVar[tuple[BinaryIO, BinaryIO]] = ContextVar("pipes")


def ask(question: object) -> bytes:
    """The parent's answer to a question of the current job; the question is data as in JSON.

    Raises:
        EOFError: If the parent has ended.
    """
    jobs, answers = _pipes.get()
    write_frame(answers, _encoded({"asked": question}))
    return read_frame(jobs, _MAX_FRAME)


def tell(what: object) -> None:
    """Tell the parent something during a job; it does not answer. No list: those are questions."""
    write_frame(_pipes.get()[1], _encoded({"asked": what}))


def main() -> None:
    """Do jobs until the parent ends."""
    jobs, answers = _take_pipes()
    _pipes.set((jobs, answers))
    setup = json.loads(read_frame(jobs, _MAX_FRAME))
    before = pickle.loads(read_frame(jobs, _MAX_FRAME))  # noqa: S301 - from our own parent
    _load(setup["modules"])
    if before is not None:
        before()
    size = _size_reader()
    large = size() + _LARGE_SHARE * setup["memory_bytes"]
    _end_with_parent(setup["lifeline"])
    _silence(2)  # the reason why it can't start would be printed by now
    holds = _give_up_rights(size() + setup["memory_bytes"])
    write_frame(answers, json.dumps(holds).encode())
    with contextlib.suppress(EOFError):
        while True:
            deadline_s = float(read_frame(jobs, _MAX_FRAME))
            job = read_frame(jobs, _MAX_FRAME)
            began = process_time()
            with _limited(deadline_s):
                answer = _answer_to(job, lambda: size() > large)
            write_frame(answers, answer)
            write_frame(answers, str(process_time() - began).encode())


def _load(modules: list[str]) -> None:
    """Import modules, and keep the code of packages; a job reports those that it misses."""
    keep("encodings")
    for module in modules:
        with contextlib.suppress(ImportError):
            if module.endswith(".*"):
                keep(module.removesuffix(".*"))
            else:
                importlib.import_module(module)


def _take_pipes() -> tuple[BinaryIO, BinaryIO]:
    """The two pipes; printed output is dropped, so that it can't mix with the frames."""
    answers = os.fdopen(os.dup(1), "wb")
    _silence(1)
    return sys.stdin.buffer, answers


def _silence(descriptor: int) -> None:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, descriptor)
    os.close(nowhere)


def _answer_to(job: bytes, is_large: Callable[[], bool]) -> bytes:
    """The result of a job, or the reason why there is none, as JSON.

    Not as a pickle: a hostile input may have taken over this process. A process that has grown
    large asks to be replaced: the next job would have less memory.
    """
    try:
        work, arguments = pickle.loads(job)  # noqa: S301 - from our own parent
        value = work(*arguments)
        return _encoded({"value": value, "is_last": is_large()})
    except MemoryError:
        return b'{"failed": "memory"}'
    except SmartContextError as error:
        return _encoded({"refused": str(error)})
    except Exception as error:  # noqa: BLE001 - a parser may fail in any way
        return _encoded({"failed": f"{type(error).__name__}: {error}"[:_MAX_DETAIL]})


def _encoded(answer: dict[str, Any]) -> bytes:
    return json.dumps(answer, ensure_ascii=False).encode("utf-8", "surrogatepass")


def _size_reader() -> Callable[[], int]:
    """A function for the bytes of address space in use; 0 where the system does not tell.

    It opens its source now, since later no file can be opened.
    """
    if sys.platform != "linux":
        return lambda: 0
    try:
        sizes = os.open(_SIZES, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return lambda: 0
    page = os.sysconf("SC_PAGE_SIZE")
    return lambda: int(os.pread(sizes, 100, 0).split()[0]) * page


def _refuse(event: str, _arguments: object) -> None:
    if event.startswith(_REFUSED_EVENTS):
        raise PermissionError(f"{event} is not allowed in the child process")


if sys.platform == "win32":

    def _give_up_rights(most_bytes: int) -> list[str]:  # noqa: ARG001 - as below
        """Refuse network and programs; on Windows only the parent's deadline is a limit."""
        sys.addaudithook(_refuse)
        return []

    def _limited(deadline_s: float) -> contextlib.AbstractContextManager[None]:  # noqa: ARG001
        return contextlib.nullcontext()

    def _end_with_parent(lifeline: int | None) -> None:
        """Do nothing: the system ends the group when the parent ends."""

else:
    import fcntl
    import resource
    from collections.abc import Iterator

    def _give_up_rights(most_bytes: int) -> list[str]:
        """Limit memory; forbid files, network and other processes; name the mechanisms in force."""
        limits = [
            (resource.RLIMIT_AS, most_bytes),
            (resource.RLIMIT_CORE, 0),
            (resource.RLIMIT_FSIZE, 0),
            (resource.RLIMIT_NOFILE, _MAX_DESCRIPTORS),
            (resource.RLIMIT_NPROC, 0),
        ]
        for kind, most in limits:
            with contextlib.suppress(ValueError, OSError):  # macOS refuses some of them
                resource.setrlimit(kind, (most, most))
        holds = confine()
        sys.addaudithook(_refuse)
        return holds

    @contextlib.contextmanager
    def _limited(deadline_s: float) -> Iterator[None]:
        """End this process if a job takes too long.

        The signal ends the process by default, even while a pattern is matched. Processor time is
        counted, so that a busy machine does not make a job fail.
        """
        signal.setitimer(signal.ITIMER_PROF, deadline_s)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)

    def _end_with_parent(lifeline: int) -> None:
        """End this process, even during a job, when the parent ends.

        The lifeline carries no data, so a signal means that it was closed.
        """
        fcntl.fcntl(lifeline, fcntl.F_SETOWN, os.getpid())
        fcntl.fcntl(lifeline, fcntl.F_SETFL, fcntl.fcntl(lifeline, fcntl.F_GETFL) | os.O_ASYNC)
        if select.select([lifeline], [], [], 0)[0]:  # it was closed before the signal was set up
            raise SystemExit

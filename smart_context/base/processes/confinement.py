"""Takes from this process its access to the user's files, to the network and to processes.

Each mechanism works without the others, so one that the kernel lacks costs nothing more. The
numbers are the kernel's ABI, which never changes: `include/uapi/linux/{prctl,landlock,seccomp,
filter,audit}.h`, for the calls `arch/x86/entry/syscalls/syscall_64.tbl` and
`include/uapi/asm-generic/unistd.h`.
"""

import contextlib
import os
import struct
import sys
from collections.abc import Iterator, Sequence
from typing import Any

MECHANISMS = ("user nobody", "hidden memory", "Landlock", "seccomp")
"""The names of the mechanisms, in the order in which they are applied."""

_NOBODY = 65534
_PR_SET_DUMPABLE, _PR_CAPBSET_READ, _PR_SET_NO_NEW_PRIVS = 4, 23, 38
_CAP_KILL = 5

_LANDLOCK_CREATE_RULESET, _LANDLOCK_RESTRICT_SELF = 444, 446
_LANDLOCK_CREATE_RULESET_VERSION = 1
_FILE_RIGHTS = {1: 13, 2: 14, 3: 15, 5: 16}
"""The number of rights over files, by the Landlock version that brought them."""

_SET_MODE_FILTER, _FILTER_FLAG_TSYNC = 1, 1
_KILL_PROCESS, _ALLOW, _ERRNO = 0x80000000, 0x7FFF0000, 0x00050000
_EPERM, _ENOSYS = 1, 38
_LOAD, _EQUAL, _AT_LEAST, _HAS_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16
_PROT_EXEC = 4
_NEWEST_KNOWN = 470
"""Newer calls are answered as by a kernel without them, so that libc uses older ones."""

_X32 = 0x40000000
_MACHINES = {"x86_64": (0xC000003E, 0, 317), "aarch64": (0xC00000B7, 1, 277)}
"""By machine: `AUDIT_ARCH_*`, the column of `_CALLS`, and the number of `seccomp`."""

_CALLS: dict[str, tuple[int | None, int | None]] = {
    "read": (0, 63),
    "write": (1, 64),
    "readv": (19, 65),
    "writev": (20, 66),
    "pread64": (17, 67),
    "close": (3, 57),
    "fstat": (5, 80),
    "lseek": (8, 62),
    "munmap": (11, 215),
    "brk": (12, 214),
    "mremap": (25, 216),
    "madvise": (28, 233),
    "rt_sigaction": (13, 134),
    "rt_sigprocmask": (14, 135),
    "rt_sigreturn": (15, 139),
    "sigaltstack": (131, 132),
    "futex": (202, 98),
    "sched_yield": (24, 124),
    "clock_gettime": (228, 113),
    "clock_getres": (229, 114),
    "clock_nanosleep": (230, 115),
    "nanosleep": (35, 101),
    "gettimeofday": (96, 169),
    "time": (201, None),
    "getrandom": (318, 278),
    "getpid": (39, 172),
    "gettid": (186, 178),
    "getuid": (102, 174),
    "geteuid": (107, 175),
    "getgid": (104, 176),
    "getegid": (108, 177),
    "getrusage": (98, 165),
    "setitimer": (38, 103),
    "getitimer": (36, 102),
    "select": (23, None),
    "pselect6": (270, 72),
    "poll": (7, None),
    "ppoll": (271, 73),
    "exit": (60, 93),
    "exit_group": (231, 94),
    "restart_syscall": (219, 128),
}
"""The only calls that reading and formatting need: memory, clocks, and the open pipes."""

_MMAP, _MPROTECT, _FCNTL = (9, 222), (10, 226), (72, 25)
_FCNTL_ALLOWED = (1, 3, 4)
"""F_GETFD, F_GETFL, F_SETFL. `F_SETOWN` would send signals to any process of the same user."""


def hide_memory() -> bool:
    """Keep programs of the same user out of this process's memory; False where that is impossible.

    They can't trace it nor open its `/proc/PID/mem`, and it leaves no core dump. Root still can.
    """
    if sys.platform != "linux":
        return False
    with contextlib.suppress(ImportError, OSError, AttributeError):
        return bool(_libc().prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0) == 0)
    return False


def confine() -> list[str]:
    """Give up, for good, all rights that this system can take away.

    Open descriptors stay usable; nothing can be opened, connected, run, signalled or looked at
    any more. Modules that are not yet loaded can't be, unless their code is in memory.

    Returns:
        Of `MECHANISMS`, those in force.
    """
    if sys.platform != "linux":
        return []
    holds: list[str] = []
    applied = (_become_nobody, hide_memory, _restrict_files, _filter_calls)
    for name, apply in zip(MECHANISMS, applied, strict=True):
        with contextlib.suppress(ImportError, OSError, AttributeError):
            if apply():
                holds.append(name)
    return holds


def reachable(holds: Sequence[str]) -> list[str]:
    """The things that hostile code in a child could still reach, by the mechanisms in force."""
    if "seccomp" in holds:
        return []
    if "Landlock" in holds:
        files = ["names and permissions of files", "the network"]
        return files if "user nobody" in holds else [*files, "signals to processes"]
    memory = [] if "hidden memory" in holds else ["the server's memory"]
    return ["files", "the network", "programs", "signals to processes", *memory]


def confinement_words(holds: Sequence[str]) -> str:
    """A sentence about the mechanisms in force, and about what a hostile file could reach."""
    by = f" ({', '.join(holds)})" if holds else ""
    if not (left := reachable(holds)):
        return f"The readers of files and code reach no file, network, program or process{by}"
    return f"A file that takes over its reader could reach {', '.join(left)}{by}"


def _libc() -> Any:
    import ctypes  # noqa: PLC0415 - 3 ms, and not in every Python

    return ctypes.CDLL(None, use_errno=True)


def _call(number: int, *arguments: object) -> int:
    """The result of a system call; raises `OSError` if the kernel refuses it."""
    import ctypes  # noqa: PLC0415 - as above

    words = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    result = _libc().syscall(ctypes.c_long(number), *words)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return int(result)


def _become_nobody() -> bool:
    """As root: become a user that owns nothing, without rights over others."""
    # Without this right, root could not end a process of another user.
    if os.geteuid() != 0 or _libc().prctl(_PR_CAPBSET_READ, _CAP_KILL, 0, 0, 0) != 1:
        return False
    os.setgroups([])
    os.setresgid(_NOBODY, _NOBODY, _NOBODY)
    os.setresuid(_NOBODY, _NOBODY, _NOBODY)
    return True


def _forgo_privileges() -> bool:
    """Set `no_new_privs`, which both mechanisms below need in a process without rights."""
    return bool(_libc().prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0)


def _restrict_files() -> bool:
    """Landlock: forbid files, TCP ports, abstract sockets and signals to outer processes."""
    version = _call(_LANDLOCK_CREATE_RULESET, None, 0, _LANDLOCK_CREATE_RULESET_VERSION)
    rights = max(count for since, count in _FILE_RIGHTS.items() if since <= version)
    fields = [(1 << rights) - 1]
    if version >= 4:  # noqa: PLR2004 - binding and connecting TCP sockets
        fields.append(0b11)
    if version >= 6:  # noqa: PLR2004 - abstract sockets, and signals
        fields.append(0b11)
    attributes = struct.pack(f"={len(fields)}Q", *fields)
    rules = _call(_LANDLOCK_CREATE_RULESET, attributes, len(attributes), 0)
    try:
        return _forgo_privileges() and _call(_LANDLOCK_RESTRICT_SELF, rules, 0) == 0
    finally:
        os.close(rules)


def _filter_calls() -> bool:
    """seccomp: refuse all calls but those listed; end the process for those of another ABI."""
    import ctypes  # noqa: PLC0415 - as above

    class FilterProgram(ctypes.Structure):
        _fields_ = (("count", ctypes.c_ushort), ("steps", ctypes.c_char_p))

    machine = _MACHINES.get(os.uname().machine)
    if machine is None or sys.maxsize <= 1 << 32 or not _forgo_privileges():
        return False
    steps = list(_steps(*machine[:2]))
    packed = b"".join(struct.pack("=HBBI", *step) for step in steps)
    program = FilterProgram(len(steps), packed)
    return _call(machine[2], _SET_MODE_FILTER, _FILTER_FLAG_TSYNC, ctypes.byref(program)) == 0


_Step = tuple[int, int, int, int]


def _steps(architecture: int, column: int) -> Iterator[_Step]:
    """The filter: operation, jump if true, jump if false, operand (`struct sock_filter`)."""
    yield (_LOAD, 0, 0, _ARCHITECTURE)
    yield from _returned(_EQUAL, architecture, _KILL_PROCESS, if_true=False)
    yield (_LOAD, 0, 0, _NUMBER)
    yield from _returned(_AT_LEAST, _X32, _KILL_PROCESS)
    for numbers in _CALLS.values():
        if (number := numbers[column]) is not None:
            yield from _returned(_EQUAL, number, _ALLOW)
    for call in (_MMAP, _MPROTECT):
        yield from _checked(call[column], 2, [(_HAS_BIT, _PROT_EXEC)], _ERRNO | _EPERM, _ALLOW)
    commands = [(_EQUAL, command) for command in _FCNTL_ALLOWED]
    yield from _checked(_FCNTL[column], 1, commands, _ALLOW, _ERRNO | _EPERM)
    yield from _returned(_AT_LEAST, _NEWEST_KNOWN, _ERRNO | _ENOSYS)
    yield (_RETURN, 0, 0, _ERRNO | _EPERM)


def _returned(test: int, operand: int, action: int, *, if_true: bool = True) -> list[_Step]:
    jumps = (0, 1) if if_true else (1, 0)
    return [(test, *jumps, operand), (_RETURN, 0, 0, action)]


def _checked(
    number: int, argument: int, tests: Sequence[tuple[int, int]], action: int, otherwise: int
) -> list[_Step]:
    """Return `action` if a test of an argument's lower half is true, else `otherwise`."""
    body: list[_Step] = [(_LOAD, 0, 0, _ARGUMENTS + 8 * argument)]
    for test, operand in tests:
        body += _returned(test, operand, action)
    body.append((_RETURN, 0, 0, otherwise))
    return [(_EQUAL, 0, len(body), number), *body]

"""System calls as a file would make them that has taken over its reader.

Python's own refusals don't see them: the functions are looked up when this module is imported.
"""

import ctypes
import os

_COLUMN = {"x86_64": 0, "aarch64": 1}.get(os.uname().machine)
_HERE, _REMOVE_FOLDER, _RDWR_CREATE = -100, 0x200, os.O_RDWR | os.O_CREAT
_INET, _UNIX, _NETLINK, _STREAM = 2, 1, 16, 1
_WRITABLE_CODE, _PRIVATE_MEMORY = 7, 0x22

_call = ctypes.CDLL(None).syscall
_call.restype = ctypes.c_long
_errno = ctypes.CDLL(None).__errno_location
_errno.restype = ctypes.POINTER(ctypes.c_int)
_room = ctypes.create_string_buffer(4096)
_room_address = ctypes.addressof(_room)

NUMBERS = {
    "openat": (257, 56),
    "openat2": (437, 437),
    "newfstatat": (262, 79),
    "statx": (332, 291),
    "faccessat": (269, 48),
    "readlinkat": (267, 78),
    "getcwd": (79, 17),
    "statfs": (137, 43),
    "getdents64": (217, 61),
    "mkdirat": (258, 34),
    "renameat2": (316, 276),
    "linkat": (265, 37),
    "symlinkat": (266, 36),
    "unlinkat": (263, 35),
    "fchmodat": (268, 53),
    "fchownat": (260, 54),
    "truncate": (76, 45),
    "utimensat": (280, 88),
    "mknodat": (259, 33),
    "setxattr": (188, 5),
    "chdir": (80, 49),
    "chroot": (161, 51),
    "inotify_init1": (294, 26),
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    "memfd_create": (319, 279),
    "dup": (32, 23),
    "ioctl": (16, 29),
    "fcntl": (72, 25),
    "socket": (41, 198),
    "socketpair": (53, 199),
    "connect": (42, 203),
    "sendto": (44, 206),
    "pipe2": (293, 59),
    "eventfd2": (290, 19),
    "kill": (62, 129),
    "tgkill": (234, 131),
    "pidfd_open": (434, 434),
    "pidfd_getfd": (438, 438),
    "rt_sigqueueinfo": (129, 138),
    "timer_create": (222, 107),
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "process_madvise": (440, 440),
    "kcmp": (312, 272),
    "perf_event_open": (298, 241),
    "execve": (59, 221),
    "execveat": (322, 281),
    "clone": (56, 220),
    "clone3": (435, 435),
    "unshare": (272, 97),
    "setns": (308, 268),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "fsopen": (430, 430),
    "move_mount": (429, 429),
    "io_uring_setup": (425, 425),
    "bpf": (321, 280),
    "keyctl": (250, 219),
    "add_key": (248, 217),
    "userfaultfd": (323, 282),
    "prctl": (157, 167),
    "seccomp": (317, 277),
    "setuid": (105, 146),
    "capset": (126, 91),
    "prlimit64": (302, 261),
    "sched_setaffinity": (203, 122),
    "setpriority": (141, 140),
    "personality": (135, 92),
    "shmget": (29, 194),
    "mq_open": (240, 180),
    "mmap": (9, 222),
    "mprotect": (10, 226),
    "pkey_mprotect": (329, 288),
    "ioprio_set": (251, 30),
    "sethostname": (170, 161),
    "init_module": (175, 105),
    "reboot": (169, 142),
    "setsid": (112, 157),
    "modern": (469, 469),
}

ATTACKS = {
    "open a file": ("openat", _HERE, "file", os.O_RDONLY),
    "open it for writing": ("openat", _HERE, "file", os.O_WRONLY),
    "open it as a path": ("openat", _HERE, "file", os.O_PATH),
    "open it with openat2": ("openat2", _HERE, "file", "room", 24),
    "open the server's memory": ("openat", _HERE, "memory", os.O_RDWR),
    "open its own memory": ("openat", _HERE, b"/proc/self/mem", os.O_RDWR),
    "open the list of processes": ("openat", _HERE, b"/proc", os.O_DIRECTORY),
    "open a folder": ("openat", _HERE, "folder", os.O_DIRECTORY),
    "list a folder": ("getdents64", 0, "room", 4096),
    "look at a file": ("newfstatat", _HERE, "file", "room", 0),
    "look at it with statx": ("statx", _HERE, "file", 0, 0x7FF, "room"),
    "ask whether it exists": ("faccessat", _HERE, "file", 0),
    "read a link": ("readlinkat", _HERE, "link", "room", 4096),
    "ask where it is": ("getcwd", "room", 4096),
    "look at the disk": ("statfs", "file", "room"),
    "create a file": ("openat", _HERE, "new", _RDWR_CREATE, 0o600),
    "create a nameless file": ("openat", _HERE, "folder", os.O_RDWR | os.O_TMPFILE, 0o600),
    "make a folder": ("mkdirat", _HERE, "new", 0o700),
    "rename a file": ("renameat2", _HERE, "file", _HERE, "new", 0),
    "make a hard link": ("linkat", _HERE, "file", _HERE, "new", 0),
    "make a symbolic link": ("symlinkat", "file", _HERE, "new"),
    "make a device": ("mknodat", _HERE, "new", 0o010600, 0),
    "delete a file": ("unlinkat", _HERE, "file", 0),
    "delete a folder": ("unlinkat", _HERE, "empty", _REMOVE_FOLDER),
    "change permissions": ("fchmodat", _HERE, "file", 0o777),
    "change the owner": ("fchownat", _HERE, "file", 1, 1, 0),
    "shorten a file": ("truncate", "file", 0),
    "change its times": ("utimensat", _HERE, "file", 0, 0),
    "give it an attribute": ("setxattr", "file", b"user.a", b"b", 1, 0),
    "change to a folder": ("chdir", "folder"),
    "change the root": ("chroot", "folder"),
    "watch files": ("inotify_init1", 0),
    "name a file by its handle": ("name_to_handle_at", _HERE, "file", "room", "room", 0),
    "open a file by its handle": ("open_by_handle_at", _HERE, "room", 0),
    "make a file in memory": ("memfd_create", b"a", 0),
    "copy a descriptor": ("dup", 0),
    "control a device": ("ioctl", 0, 0x5401, "room"),
    "send signals of a pipe to the server": ("fcntl", 0, 8, "server"),
    "choose the signal of a pipe": ("fcntl", 0, 10, 9),
    "send signals of a pipe by ioctl": ("ioctl", 0, 0x8901, "room"),
    "make a socket": ("socket", _INET, _STREAM, 0),
    "make a Unix socket": ("socket", _UNIX, _STREAM, 0),
    "make a netlink socket": ("socket", _NETLINK, 3, 0),
    "make a pair of sockets": ("socketpair", _UNIX, _STREAM, 0, "room"),
    "connect": ("connect", 0, "room", 16),
    "send": ("sendto", 0, "room", 1, 0, 0, 0),
    "make a pipe": ("pipe2", "room", 0),
    "make an event": ("eventfd2", 0, 0),
    "signal the server": ("kill", "server", 0),
    "signal everything": ("kill", -1, 0),
    "signal a thread of the server": ("tgkill", "server", "server", 0),
    "queue a signal": ("rt_sigqueueinfo", "server", 0, "room"),
    "hold the server": ("pidfd_open", "server", 0),
    "take a descriptor of another": ("pidfd_getfd", 0, 0, 0),
    "start a timer": ("timer_create", 0, 0, "room"),
    "trace the server": ("ptrace", 0x4206, "server", 0, 0),
    "let itself be traced": ("ptrace", 0, 0, 0, 0),
    "read the server's memory": ("process_vm_readv", "server", "room", 1, "room", 1, 0),
    "write the server's memory": ("process_vm_writev", "server", "room", 1, "room", 1, 0),
    "advise on memory of another": ("process_madvise", 0, "room", 1, 4, 0),
    "compare itself with the server": ("kcmp", "server", "server", 0, 0, 0),
    "count events of the server": ("perf_event_open", "room", "server", -1, -1, 0),
    "run a program": ("execve", b"/bin/true", 0, 0),
    "run a program by descriptor": ("execveat", 0, b"", 0, 0, 0x1000),
    "start a process": ("clone", 17, 0, 0, 0, 0),
    "start a process with clone3": ("clone3", "room", 88),
    "make a namespace of users": ("unshare", 0x10000000),
    "make a namespace of networks": ("unshare", 0x40000000),
    "enter a namespace": ("setns", 0, 0),
    "mount": ("mount", b"none", "folder", b"tmpfs", 0, 0),
    "unmount": ("umount2", b"/proc", 2),
    "move the root": ("pivot_root", "folder", "folder"),
    "open a file system": ("fsopen", b"tmpfs", 0),
    "move a mount": ("move_mount", _HERE, "folder", _HERE, "folder", 0),
    "start io_uring": ("io_uring_setup", 1, "room"),
    "load a program into the kernel": ("bpf", 0, "room", 72),
    "read keys": ("keyctl", 0, -3, 0),
    "add a key": ("add_key", b"user", b"a", b"b", 1, -3),
    "handle faults": ("userfaultfd", 1),
    "be dumpable again": ("prctl", 4, 1, 0, 0, 0),
    "add a filter": ("seccomp", 1, 0, "room"),
    "become root": ("setuid", 0),
    "gain rights": ("capset", "room", "room"),
    "change the server's limits": ("prlimit64", "server", 7, 0, "room"),
    "bind the server to a processor": ("sched_setaffinity", "server", 8, "room"),
    "slow the server down": ("setpriority", 0, "server", 19),
    "slow its disk down": ("ioprio_set", 1, "server", 0),
    "change its personality": ("personality", 0x0400000),
    "share memory": ("shmget", 0, 4096, 0o1600),
    "open a queue": ("mq_open", b"a", _RDWR_CREATE, 0o600, 0),
    "make code that it can write": ("mmap", 0, 4096, _WRITABLE_CODE, _PRIVATE_MEMORY, -1, 0),
    "make memory runnable": ("mprotect", "page", 4096, _WRITABLE_CODE),
    "make memory runnable with a key": ("pkey_mprotect", "page", 4096, _WRITABLE_CODE, -1),
    "rename the machine": ("sethostname", b"a", 1),
    "load a module": ("init_module", "room", 1, b""),
    "restart the machine": ("reboot", 0, 0, 0, 0),
    "leave its session": ("setsid",),
    "make a call of a future kernel": ("modern",),
}
"""What is tried: a call and its arguments; words stand for what a test gives."""


def attempt(name, places):
    """The result of an attack, and the error's number.

    Args:
        name: Of `ATTACKS`.
        places: What the words in it stand for: paths and process ids.
    """
    call, *arguments = ATTACKS[name]
    given = {**places, "room": _room_address, "page": _room_address & ~4095}
    values = [given[word] if isinstance(word, str) else word for word in arguments]
    words = [
        ctypes.c_char_p(value.encode() if isinstance(value, str) else value)
        if isinstance(value, str | bytes)
        else ctypes.c_long(value)
        for value in values
    ]
    result = _call(ctypes.c_long(NUMBERS[call][_COLUMN]), *words)
    if result == 0 and call in {"clone", "execve"} and os.getpid() != places["attacker"]:
        os._exit(0)
    return [result, _errno().contents.value]


def own_pid():
    return os.getpid()


def call_by_x32():
    return _call(ctypes.c_long(0x40000000 + 39))

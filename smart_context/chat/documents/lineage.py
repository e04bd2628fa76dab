"""Finds the version of a chat that a client's document descends from.

A client loads a chat, changes its copy and saves the whole document, perhaps after other messages
arrived. The document has no revision number, only the file's content. So the versions that each
reader loaded are remembered, and the document is compared with them. A message missing from it
counts as deleted only if the version that it descends from had it.
"""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

from smart_context.chat.documents.document import Version
from smart_context.chat.messages import ChatId

ANYBODY = ""
"""A reader that did not identify itself."""

NEVER_SAVES = "\0"
"""A reader that never saves, such as an export of all chats: nothing is remembered for it."""

_VERSIONS_PER_CHAT = 8
_ENTRIES_IN_ALL = 200_000


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownVersion:
    """A version that a reader knows."""

    version: Version
    was_sent: bool = False  # the reader wrote it
    was_loaded: bool = False  # the reader loaded it, and has not written it since


@dataclass(frozen=True, slots=True)
class Ancestry:
    """The versions that a document may descend from."""

    known: tuple[KnownVersion, ...] = ()  # the versions, the latest last
    is_one_client: bool = False  # the client that saves has loaded or written all of them itself

    def ancestor_of(self, document: Version) -> Version | None:
        """The version that a document most likely descends from.

        It is the version that shares the most entries with the document; among equals, the one with
        the fewest entries that the document lacks, because a message that arrived after a client
        loaded its copy must not count as deleted. Two kinds of documents descend from the newest
        version instead:

        - one that equals an older version although the newest was loaded since: the client went
          back to it. If another client may have loaded the newest, a client must also have written
          it;
        - one that has nothing in common with any, if a client wrote the newest and loaded it since.

        Returns:
            `None` if no version is known: then nothing counts as deleted.
        """
        if len(self.known) < 2:  # noqa: PLR2004 - nothing to choose between
            return self.known[0].version if self.known else None
        ranked = [
            (*_likeness(document, previous.version), place)
            for place, previous in enumerate(self.known)
        ]
        shared, _, place = max(ranked)
        best, newest = self.known[place].version, self.known[-1]
        was_read_back = newest.was_loaded and newest.was_sent
        may_go_back = was_read_back or (newest.was_loaded and self.is_one_client)
        if (was_read_back and not shared) or (may_go_back and best.says_the_same(document)):
            return newest.version
        return best


class Lineage:
    """Remembers the last versions of each chat that each reader knows.

    At most eight versions for each, and 200,000 entries in all; the least recently used are
    dropped first. `ANYBODY` knows the versions that any reader knows.
    """

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[ChatId, str], tuple[KnownVersion, ...]] = OrderedDict()
        self._size = 0

    def of(self, chat_id: ChatId, reader: str) -> Ancestry:
        """The versions that the reader knows; if none, those that anybody knows."""
        own = self._known.get((chat_id, reader), ())
        if own and reader != ANYBODY:
            return Ancestry(own, is_one_client=True)
        return Ancestry(self._known.get((chat_id, ANYBODY), ()))

    def loaded(self, chat_id: ChatId, reader: str, version: Version) -> None:
        """Note that a reader loaded this version and has seen it; nothing for `NEVER_SAVES`."""
        if reader == NEVER_SAVES:
            return
        self._note(chat_id, reader, KnownVersion(version=version, was_loaded=True))

    def sent(self, chat_id: ChatId, reader: str, version: Version) -> None:
        """Note that a reader wrote this version."""
        self._note(chat_id, reader, KnownVersion(version=version, was_sent=True))

    def returned(self, chat_id: ChatId, reader: str, version: Version) -> None:
        """Note that a reader was sent this version, but may not have used it."""
        self._note(chat_id, reader, KnownVersion(version=version))

    def _note(self, chat_id: ChatId, reader: str, known: KnownVersion) -> None:
        for key in {(chat_id, reader), (chat_id, ANYBODY)}:
            previous = self._known.pop(key, ())
            self._size -= _size(previous)
            self._known[key] = _with(previous, known)
            self._size += _size(self._known[key])
        while len(self._known) > 2 and self._size > _ENTRIES_IN_ALL:  # noqa: PLR2004 - just noted
            self._size -= _size(self._known.popitem(last=False)[1])


def _with(previous: Sequence[KnownVersion], known: KnownVersion) -> tuple[KnownVersion, ...]:
    others = list(previous)
    for place, other in enumerate(others):
        if other.version.says_the_same(known.version):
            del others[place]
            known = KnownVersion(
                version=known.version,
                was_sent=known.was_sent or other.was_sent,
                was_loaded=known.was_loaded or (other.was_loaded and not known.was_sent),
            )
            break
    return (*others[1 - _VERSIONS_PER_CHAT :], known)


def _likeness(document: Version, previous: Version) -> tuple[int, int]:
    shared = missing = 0
    for key, entry in previous.by_key.items():
        mine = document.by_key.get(key)
        shared += mine is not None and mine == entry
        missing += mine is None
    for key, value in previous.other.items():
        shared += key in document.other and document.other[key] == value
        missing += key not in document.other
    return shared, -missing


def _size(chat: Sequence[KnownVersion]) -> int:
    return sum(1 + len(known.version.entries) for known in chat)

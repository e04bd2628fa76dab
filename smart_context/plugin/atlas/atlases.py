"""Each person's atlas, kept up to date with their chats: only changed chats are read and merged."""

import asyncio
import hashlib
import json
import logging
import operator
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from datetime import UTC, tzinfo
from itertools import chain

import numpy as np
from cachetools import LRUCache

from smart_context.base.caches import Caches
from smart_context.base.errors import SmartContextError, StoreFailed
from smart_context.base.times import utc_stamp
from smart_context.base.values import OWNER, JsonObject, PersonId
from smart_context.chat.listed.rows import ChatRow
from smart_context.chat.messages import ChatId
from smart_context.host.events.events import Emit, Event
from smart_context.llm.models import Embedder, Matrix
from smart_context.llm.multilingual.files import MULTILINGUAL
from smart_context.plugin.atlas.reading import (
    NOTHING_READ,
    READ_KEYS,
    ReadChat,
    read_chat,
    with_kept,
    with_vectors,
)
from smart_context.plugin.choices.sidecars import document_names, read_sidecar
from smart_context.relevance.kept_rows import KeptRows
from smart_context.relevance.vectors.cache import EmbeddingCache
from smart_context.storage.ports import Storage
from smart_context.topics.atlas.account import TimeSpan, account
from smart_context.topics.atlas.merging import merged
from smart_context.topics.atlas.subjects import NO_SUBJECTS, SUBJECTS, Subjects
from smart_context.topics.atlas.values import (
    ChatEntry,
    ChatTopic,
    StoredAtlas,
    chat_topics_of,
    from_document,
    to_document,
)

_FORMAT = 2


class KeptEntries:
    """The entries of chats for one embedding model. Blocks; safe for several processes.

    Args:
        model: The model's name; entries with vectors of another are dropped.
    """

    def __init__(self, caches: Caches, model: str) -> None:
        digest = hashlib.sha256(f"{_FORMAT}\0{model}".encode()).digest()
        self._rows = KeptRows(
            caches=caches,
            name="atlas.sqlite",
            table="chats",
            columns="""(
    person TEXT, chat TEXT, revision TEXT, value BLOB, PRIMARY KEY (person, chat)
) WITHOUT ROWID""",
            max_bytes=2 << 30,
            version=int.from_bytes(digest[:4], "big", signed=True),
            timeout_s=10.0,
        )

    def read(self, person: PersonId) -> dict[ChatId, ChatEntry]:
        """The entries of a person's chats; none if they are damaged."""
        query = "SELECT chat, revision, value FROM chats WHERE person = ?"
        try:
            return {row[0]: _decoded(*row) for row in self._rows.read(query, (person,))}
        except (ValueError, TypeError, KeyError, IndexError) as error:
            self._rows.drop(error)
            return {}

    def write(
        self, person: PersonId, changed: Mapping[ChatId, ChatEntry], gone: Iterable[ChatId]
    ) -> None:
        """Keep entries in place of the previous ones; a failed write is only logged."""
        kept = ((person, id_, entry.revision, _encoded(entry)) for id_, entry in changed.items())
        self._rows.write(
            ("DELETE FROM chats WHERE person = ? AND chat = ?", ((person, id_) for id_ in gone)),
            ("INSERT OR REPLACE INTO chats VALUES (?, ?, ?, ?)", kept),
        )


def _encoded(entry: ChatEntry) -> bytes:
    """A line of JSON, then the arrays one after the other."""
    head = {
        "known": entry.is_known,
        "times": len(entry.times),
        "topics": [
            [t.key[1], t.label, t.colour, t.language, len(t.vector), len(t.words), len(t.places)]
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
            colour=colour,
            language=language,
            vector=array("<f2", width).astype(np.float32),
            words=array("<u4", words).astype(np.uint32),
            counts=array("u1", words).astype(np.uint8),
            places=array("<i4", places).astype(np.int32),
        )
        for topic_id, label, colour, language, width, words, places in head["topics"]
    )
    if any(len(topic.places) and topic.places.max() >= len(times) for topic in topics):
        raise ValueError(f"{chat_id}: a place beyond the end")
    return ChatEntry(revision=revision, is_known=head["known"] is True, times=times, topics=topics)


ATLAS_CHANGED: Event[JsonObject] = Event("smart_context.atlas_changed")
"""Event: a person's atlas has changed; carries the numbers of its topics and of pending chats."""

_DOCUMENT = "atlas"
_CHATS_IN_MEMORY = 8
_AT_ONCE = 64


@dataclass(slots=True, kw_only=True)
class PersonsAtlas:
    """One person's atlas, as far as it is built."""

    rows: Sequence[ChatRow] = ()
    # the atlas, and the entry of each chat; not to be changed
    archive: StoredAtlas = field(default_factory=StoredAtlas)
    built_at: str = ""  # when it last changed; ISO 8601 in UTC, empty for never
    states: Mapping[ChatId, str] = field(default_factory=dict)  # the revisions that `rows` are of
    unread: int = 0  # the number of changed chats that are not read yet
    is_loaded: bool = False
    merged_of: Mapping[ChatId, ChatEntry] | None = None
    told: tuple[int, int] | None = None
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    # the account of all topics, with what it was made from; most calls can reuse it
    accounted: tuple[StoredAtlas, Sequence[ChatRow], tzinfo, JsonObject] | None = None

    @property
    def pending(self) -> int:
        """The number of chats whose topics are not yet known or not yet merged."""
        merged_of = self.merged_of or {}
        waiting = (not e.is_known or id_ not in merged_of for id_, e in self.archive.chats.items())
        return self.unread + sum(waiting)

    def titles(self) -> Mapping[ChatId, str]:
        """The titles of the chats."""
        return {row.id: row.title for row in self.rows}

    def account(self, zone: tzinfo = UTC) -> JsonObject:
        """The account of all topics without a limit, by the days of a zone; not to be changed."""
        made_of = self.archive, self.rows, zone
        if self.accounted and all(map(operator.is_, self.accounted, made_of)):
            return self.accounted[-1]
        found = account(
            self.archive, {row.id: row.title for row in self.rows}, span=TimeSpan(), zone=zone
        )
        self.accounted = (*made_of, found)
        return found


@dataclass(eq=False)
class Atlases:
    """The atlases of all persons who ask."""

    storage: Storage
    embedder: Embedder
    cache: EmbeddingCache
    emit: Emit
    logger: logging.Logger
    _persons: dict[PersonId, PersonsAtlas] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self._read_before: LRUCache[tuple[PersonId, ChatId], ReadChat] = LRUCache(_CHATS_IN_MEMORY)
        self._kept = KeptEntries(self.storage.caches, self.embedder.name)
        self._known_subjects: Subjects | None = None
        self._reads_all = self.embedder.name.startswith(MULTILINGUAL)

    @property
    def persons(self) -> Sequence[PersonId]:
        """The persons whose atlas is in memory."""
        return list(self._persons)

    def known(self, person: PersonId) -> PersonsAtlas:
        """A person's atlas as it was last built."""
        return self._persons.setdefault(person, PersonsAtlas())

    async def refreshed(self, person: PersonId) -> PersonsAtlas:
        """A person's atlas, brought up to date; reads only chats that have changed.

        Raises:
            StoreFailed: The chats can't be listed.
        """
        mine = self.known(person)
        async with mine.lock:
            if not mine.is_loaded:
                await self._load(person, mine)
            listing = self.storage.for_person(person).chats.listing
            states = await listing.revisions(person, *document_names(person))
            if states != mine.states or not mine.rows:
                mine.rows = await listing.rows(person)
                mine.states = states
            before = mine.archive.chats
            here = {row.id for row in mine.rows}
            changed = [
                row
                for row in mine.rows
                if row.id not in before or before[row.id].revision != states.get(row.id, "")
            ]
            gone = before.keys() - here
            if changed or gone:
                await self._read_changed(person, mine, changed, gone, states)
            await self._merge(person, mine)
        return mine

    async def _load(self, person: PersonId, mine: PersonsAtlas) -> None:
        entries = await asyncio.to_thread(self._kept.read, person)
        try:
            document = await asyncio.to_thread(
                self.storage.for_person(person).vault_documents.read, *_place_of(person)
            )
        except StoreFailed as error:
            self.logger.warning("The atlas is built again: %s", error)
            document = None
        atlas = await asyncio.to_thread(from_document, document)
        built_at = document.get("built_at") if document else ""
        mine.archive = StoredAtlas(atlas=atlas, chats=entries)
        known = {key for topic in atlas.topics for key in topic.members}
        mine.merged_of = {
            chat_id: entry
            for chat_id, entry in entries.items()
            if known.issuperset(topic.key for topic in entry.topics)
        }
        mine.built_at = built_at if isinstance(built_at, str) else ""
        mine.is_loaded = True

    async def _read_changed(
        self,
        person: PersonId,
        mine: PersonsAtlas,
        changed: Sequence[ChatRow],
        gone: AbstractSet[ChatId],
        states: Mapping[ChatId, str],
    ) -> None:
        entries = {id_: entry for id_, entry in mine.archive.chats.items() if id_ not in gone}
        mine.archive = StoredAtlas(atlas=mine.archive.atlas, chats=entries)
        mine.unread = sum(row.id not in entries for row in changed)
        removed: Iterable[ChatId] = gone
        due = 2 * len(entries)
        for start in range(0, len(changed), _AT_ONCE):
            batch = changed[start : start + _AT_ONCE]
            found = await self._entries(person, batch, states)
            mine.unread -= sum(chat_id not in entries for chat_id in found)
            entries = {**entries, **found}
            mine.archive = StoredAtlas(atlas=mine.archive.atlas, chats=entries)
            await asyncio.to_thread(self._kept.write, person, found, removed)
            removed = ()
            if len(entries) >= due and mine.unread:  # show a large archive before all of it is read
                await self._merge(person, mine)
                due = 2 * len(entries)
        if removed:
            await asyncio.to_thread(self._kept.write, person, {}, removed)
        mine.unread = 0

    async def _entries(
        self, person: PersonId, batch: Sequence[ChatRow], states: Mapping[ChatId, str]
    ) -> dict[ChatId, ChatEntry]:
        read = {row.id: await self._read(person, row, states.get(row.id, "")) for row in batch}
        texts = [
            (chat_id, place, text)
            for chat_id, each in read.items()
            for place, missing in each.missing.items()
            for text in missing
        ]
        vectors = await self._embedded([text for _, _, text in texts])
        rows: dict[ChatId, dict[int, list[int]]] = {}
        for row, (chat_id, place, _) in enumerate(texts):
            rows.setdefault(chat_id, {}).setdefault(place, []).append(row)
        for chat_id, numbers in rows.items() if len(vectors) else ():
            read[chat_id] = with_vectors(
                read[chat_id], {place: vectors[each] for place, each in numbers.items()}
            )
        self._read_before.update({(person, chat_id): each for chat_id, each in read.items()})
        return {chat_id: each.entry for chat_id, each in read.items()}

    async def _embedded(self, texts: Sequence[str]) -> Matrix:
        """The vectors of texts as rows; none if the embedder fails, so only words are compared."""
        places = {text: place for place, text in enumerate(dict.fromkeys(texts))}
        distinct = list(places)
        try:
            parts = [
                np.asarray(await self.embedder.embed(distinct[start : start + _AT_ONCE]))
                for start in range(0, len(distinct), _AT_ONCE)
            ]
        except SmartContextError as error:
            self.logger.warning("The atlas goes by words only: %s", error)
            return np.zeros((0, 0), dtype=np.float32)
        if not parts:
            return np.zeros((0, 0), dtype=np.float32)
        return np.concatenate(parts)[[places[text] for text in texts]]

    async def _subjects(self) -> Subjects:
        """The subjects that themes may be about; none if the embedder fails."""
        if self._known_subjects is None:
            rows = await self._embedded(SUBJECTS)
            if not len(rows):
                return NO_SUBJECTS
            self._known_subjects = Subjects(SUBJECTS, rows)
        return self._known_subjects

    async def _read(self, person: PersonId, row: ChatRow, state: str) -> ReadChat:
        """A chat as the atlas needs it; without content if it can't be read."""
        nothing = replace(NOTHING_READ, entry=replace(NOTHING_READ.entry, revision=state))
        if not row.message_count:
            return nothing
        try:
            storage = self.storage.for_person(person)
            chat = await storage.chats.snapshot(row.id, *READ_KEYS)
            documents = await storage.documents.read(row.id, *document_names(person))
        except SmartContextError as error:
            self.logger.warning("The chat %s is not in the atlas: %s", row.id, error)
            return nothing
        before = self._read_before.get((person, row.id), NOTHING_READ)

        def work() -> ReadChat:
            return read_chat(row.id, state, chat, read_sidecar(documents).sidecar, before)

        read = await asyncio.to_thread(work)
        if wanted := list(chain.from_iterable(read.keys.values())):
            rows = await self.cache.kept(row.id, wanted)
            read = await asyncio.to_thread(with_kept, read, rows)
        return read

    async def _merge(self, person: PersonId, mine: PersonsAtlas) -> None:
        before, chats = mine.archive, mine.archive.chats
        atlas = before.atlas
        if mine.merged_of is not chats:
            titles, topics = mine.titles(), chat_topics_of(chats)
            subjects = await self._subjects() if len(topics) > 1 else NO_SUBJECTS
            atlas = await asyncio.to_thread(
                lambda: merged(
                    topics,
                    before.atlas,
                    reads_all=self._reads_all,
                    titles=titles,
                    subjects=subjects,
                )
            )
            if mine.unread:  # compare all again when the rest is read
                atlas = replace(atlas, merged=0)
            mine.merged_of = chats
        if atlas != before.atlas:
            mine.built_at = utc_stamp()
            mine.archive = StoredAtlas(atlas=atlas, chats=chats)
            document = to_document(atlas) | {"built_at": mine.built_at}
            try:
                await asyncio.to_thread(
                    self.storage.for_person(person).vault_documents.write,
                    *_place_of(person),
                    document,
                )
            except StoreFailed as error:
                self.logger.warning("The atlas can't be kept: %s", error)
        numbers = (len(atlas.topics), mine.pending)
        if mine.told is not None and mine.told != numbers:
            self.emit(ATLAS_CHANGED, {"topics": numbers[0], "pending": numbers[1]}, person)
        mine.told = numbers


def _place_of(person: PersonId) -> tuple[str, str]:
    """The kind and the key of a person's atlas."""
    return ("", _DOCUMENT) if person == OWNER else (_DOCUMENT, person)

"""Imports chats into a vault: adds new messages and keeps the changes made here.

A chat is identified by its program and its id there, whatever file it is in. Its document lists
the imported messages, so that a message that was deleted here does not come back.
"""

import asyncio
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import InitVar, asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal

from smart_context.base.config.files import MOST_INSTRUCTIONS
from smart_context.base.errors import CommandFailed, SmartContextError
from smart_context.base.text.names import storable
from smart_context.base.text.scores import counted
from smart_context.base.times import utc_stamp
from smart_context.base.values import OWNER, JsonObject
from smart_context.chat.documents.branches import BRANCHES, REMOVED, branches_of, set_branches
from smart_context.chat.documents.document import set_value
from smart_context.chat.documents.ownership import OWNED_BY
from smart_context.chat.exported import attached_in, attached_name, link_texts_in
from smart_context.chat.files.attached_file import key_of
from smart_context.chat.listed.rows import folder_of
from smart_context.chat.messages import (
    INSTRUCTIONS,
    SOURCE,
    ChatId,
    Message,
    MessageId,
    Part,
    messages_of,
)
from smart_context.importing.found import (
    FoundChat,
    FoundMessage,
    NotKnown,
    NotReadable,
    OwnChat,
    entry_of,
    message_id,
    paths_of,
)
from smart_context.importing.reading import ChatFile, ImportReader
from smart_context.importing.recognised import Found, UnreadableChat
from smart_context.storage.chosen import choose
from smart_context.storage.ports import Storage

Outcome = Literal["new", "grown", "unchanged", "deleted", "unreadable"]
Progress = Callable[[str, int, float], None]
"""Called with the file being read, the number of chats read so far, and the share of all bytes."""

Known = Mapping[str, Message | None]
"""The present and former messages of a chat by id; `None` for former ones."""

IMPORTED = "imported"
"""The key of the ids of all messages that were imported into a chat."""

IMPORTED_INSTRUCTIONS = "imported_instructions"
"""The key of the last imported instructions, which shows if they were changed here."""

_SURE = 8
"""A message id of at least this length occurs in no other chat."""

_MOST_FAILURES, _MOST_SHOWN = 1_000, 20
_MOST_AT_ONCE, _MOST_CHARACTERS = 16, 4 << 20


@dataclass(slots=True, kw_only=True)
class ImportOutcome:
    """The result of an import."""

    new: int = 0  # new chats
    grown: int = 0  # chats with new messages or instructions
    unchanged: int = 0  # chats with nothing new
    deleted: int = 0  # chats in the trash, where they stay
    unreadable: int = 0  # chats without a readable message
    # failures, each `{"file", "id", "title", "error"}`; the first thousand
    failed: list[JsonObject] = field(default_factory=list)
    further_failed: int = 0  # the number of further failures
    messages: int = 0  # the number of added messages
    files: int = 0  # the number of added attached files

    @property
    def taken(self) -> int:
        """The number of chats that were read."""
        return self.new + self.grown + self.unchanged + self.deleted

    @property
    def failures(self) -> int:
        """The number of failures."""
        return len(self.failed) + self.further_failed

    def row(self) -> JsonObject:
        """The account as JSON."""
        row = asdict(self)
        if not self.further_failed:
            del row["further_failed"]
        return row

    def words(self) -> str:
        """The account in words."""
        if not (self.taken or self.unreadable or self.failed):
            return "No chats of a known program were found."
        chats = f"{counted(self.new, 'new chat')}, {self.grown} grown, {self.unchanged} unchanged"
        added = f"{counted(self.messages, 'message')} and {counted(self.files, 'file')} added"
        lines = [f"{chats}; {added}."]
        if self.deleted:
            lines.append(f"{counted(self.deleted, 'chat')} stayed in the trash.")
        if self.unreadable:
            verb = "holds" if self.unreadable == 1 else "hold"
            lines.append(f"{self.unreadable:,} {verb} no messages that can be read.")
        return "\n".join(lines)

    def problems(self) -> str:
        """The failures in words; empty if there are none."""
        if not self.failed:
            return ""
        count = self.failures
        lines = [f"{count:,} could not be read:"]
        for entry in self.failed[:_MOST_SHOWN]:
            named = entry["title"] or entry["id"]
            lines.append(f"  {entry['file']}: {named + ': ' if named else ''}{entry['error']}")
        if count > _MOST_SHOWN:
            lines.append(f"  and {count - _MOST_SHOWN:,} more")
        return "\n".join(lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportOptions:
    """The options of an import."""

    client: str = ""  # one of `FORMATS`, as `chats_in` takes it; empty recognises each file
    folder: str = ""  # the folder for new chats, in the list of chats; empty for none
    is_dry: bool = False  # True to only count the changes


@dataclass(eq=False)
class Importer:
    """Imports chats into one vault."""

    storage: Storage  # the vault's storage
    wishes: InitVar[ImportOptions | None] = None  # the options; `None` for the defaults
    progress: Progress = lambda *_: None  # called while files are read
    account: ImportOutcome = field(default_factory=ImportOutcome, init=False)

    def __post_init__(self, wishes: ImportOptions | None) -> None:
        self._wishes = wishes or ImportOptions()
        self._in_trash: AbstractSet[str] = frozenset()

    async def run(
        self, paths: Sequence[Path], names: Mapping[Path, str] | None = None
    ) -> ImportOutcome:
        """Import files, folders and archives; a broken one does not stop the others.

        Args:
            names: The names of files that are stored under other names.
        """
        self._in_trash = await self.storage.chats.trash.ids(self.storage.person)
        with ImportReader() as reader:
            for path in paths:
                name = (names or {}).get(path) or str(path)
                before = (self.account.taken, self.account.unreadable, self.account.failures)
                try:
                    sources = await asyncio.to_thread(reader.files_in, path, name)
                except (NotReadable, OSError) as refused:
                    self._fail(name, UnreadableChat(id="", title="", error=str(refused)))
                    continue
                await self._read_all(sources)
                taken, unreadable, failures = before
                if (taken, failures) == (self.account.taken, self.account.failures):
                    has_any = self.account.unreadable > unreadable
                    held = "messages that can be read" if has_any else "chats of a known program"
                    self._fail(name, UnreadableChat(id="", title="", error=f"holds no {held}"))
        return self.account

    async def _read_all(self, sources: Sequence[ChatFile]) -> None:
        size, before = sum(source.size for source in sources) or 1, 0
        for source in sources:
            try:
                await self._read(source, partial(_share, source, before, size))
            except NotKnown as error:
                if len(sources) == 1:
                    self._fail(source.name, UnreadableChat(id="", title="", error=str(error)))
            except NotReadable as error:
                self._fail(source.name, UnreadableChat(id="", title="", error=str(error)))
            before += source.size

    async def _read(self, source: ChatFile, share: Callable[[], float]) -> None:
        batches = _batches(source.chats(self._wishes.client))
        while batch := await asyncio.to_thread(next, batches, ()):
            self.progress(source.name, self.account.taken, share())
            await asyncio.gather(*(self._take(source, found) for found in batch))

    async def _take(self, source: ChatFile, found: Found | UnreadableChat) -> None:
        if isinstance(found, UnreadableChat):
            self._fail(source.name, found)
            return
        try:
            if isinstance(found, OwnChat):
                outcome = await self._own(source, found)
            else:
                outcome = await self._foreign(source, found)
        except (SmartContextError, RecursionError) as error:
            name = "" if isinstance(found, OwnChat) else found.id
            self._fail(source.name, UnreadableChat(id=name, title=found.title, error=str(error)))
            return
        setattr(self.account, outcome, getattr(self.account, outcome) + 1)

    def _fail(self, file: str, broken: UnreadableChat) -> None:
        if len(self.account.failed) == _MOST_FAILURES:
            self.account.further_failed += 1
        else:
            self.account.failed.append(
                {"file": file, "id": broken.id, "title": broken.title, "error": broken.error}
            )

    async def _own(self, source: ChatFile, found: OwnChat) -> Outcome:
        document = {key: value for key, value in found.document.items() if key != OWNED_BY}
        branches = [(one.get("after"), _own_rows(one)) for one in branches_of(document)]
        entries = _own_rows(document)
        rows = _rows(entries, branches)
        if not rows:
            return "unreadable"
        free: list[ChatId] = []
        for chat_id in found.chat_ids_for(self.storage.person):
            known = await self._known(chat_id)
            if known is None:
                free.append(chat_id)
            elif _is_same(known, rows):
                await self._put_files(source, found)  # before the message that refers to them
                await self._choose(chat_id, found, known)
                return await self._grown(chat_id, known, entries, branches)
        if not self._in_trash.isdisjoint(found.chat_ids_for(self.storage.person)):
            return "deleted"
        await self._put_files(source, found)
        await self._made_in(free, document, found)
        self.account.messages += len(entries)
        return "new"

    async def _made_in(self, ids: Sequence[ChatId], document: JsonObject, found: OwnChat) -> None:
        """Make a chat under the first of these ids that no other person's chat has."""
        for chat_id in ids[:-1]:
            with suppress(CommandFailed):
                await self._choose(chat_id, found, {})
                await self._made(chat_id, document)
                return
        await self._choose(ids[-1], found, {})
        await self._made(ids[-1], document)

    async def _choose(self, chat_id: ChatId, found: OwnChat, known: Known) -> None:
        """Hide and pin the new messages of an export as they were in it."""
        hidden, pinned = (
            [MessageId(each) for each in ids if each not in known]
            for ids in (found.hidden, found.pinned)
        )
        await self._hide(chat_id, hidden, pinned)

    async def _put_files(self, source: ChatFile, found: OwnChat) -> None:
        """Store the files next to an exported chat that are missing here."""
        for key, name in attached_in(found.document).items():
            if await self.storage.blobs.info(key) is not None:
                await self.storage.blobs.keep(key)
                continue
            read = await asyncio.to_thread(source.assets.read, attached_name(key, name))
            if read is None or key_of(read[1]) != key:
                continue  # the export has only its name
            try:
                await self._kept(name, read[1])
            except CommandFailed as error:
                chat_id = found.chat_id_for(self.storage.person)
                self._fail(source.name, UnreadableChat(id=chat_id, title=name, error=str(error)))
            else:
                self.account.files += 1
        for key, text in link_texts_in(found.document).items():
            if await self.storage.blobs.info(key) is None:
                await self._kept("link.txt", text.encode("utf-8", "replace"))

    async def _foreign(self, source: ChatFile, found: FoundChat) -> Outcome:
        paths = await asyncio.to_thread(paths_of, found)
        rows = (paths.path, *(row for _, row in paths.branches))
        if not paths.path:
            return "unreadable"
        chat_id = found.chat_id_for(self.storage.person)
        known = await self._known(chat_id)
        if known and not await asyncio.to_thread(_has_any, found, rows, known):
            found = found.apart()  # a different chat has its id
            chat_id = found.chat_id_for(self.storage.person)
            known = await self._known(chat_id)
        if chat_id in self._in_trash:
            return "deleted"

        # In one thread: a thread for each of 100,000 branches takes a minute.
        entries, *others = await asyncio.to_thread(
            lambda: [[entry_of(found, message) for message in row] for row in rows]
        )
        for row, stored_row in zip(rows, (entries, *others), strict=True):
            for message, entry in zip(row, stored_row, strict=True):
                if message.assets:
                    await self._add_files(source, message, entry, known or {})
        branches = [
            (None if before is None else str(message_id(found, before)), row)
            for (before, _), row in zip(paths.branches, others, strict=True)
        ]
        hidden = [message_id(found, m) for row in rows for m in row if m.is_hidden]
        await self._hide(chat_id, [each for each in hidden if each not in (known or {})])
        told = self._instructions(source, found)
        outcome: Outcome = "new"
        if known is not None:
            outcome = await self._grown(chat_id, known, entries, branches, told)
        else:
            folder = self._wishes.folder
            document = await asyncio.to_thread(_document, found, entries, branches, folder)
            _instruct(document, told)
            await self._made(chat_id, document)
            self.account.messages += len(_ids(entries, branches))
        stored = _rows(entries, branches)
        self.account.files += sum(len(row.get("files", ())) for row in stored)  # of new messages
        return outcome

    def _instructions(self, source: ChatFile, found: FoundChat) -> str:
        """The system prompt of a chat; empty if it is too long, which is reported as a failure."""
        told = storable(found.instructions.strip())
        if len(told) <= MOST_INSTRUCTIONS:
            return told
        error = (
            f"its system prompt was left out: a chat's instructions have at most "
            f"{MOST_INSTRUCTIONS:,} characters, found {len(told):,}"
        )
        self._fail(source.name, UnreadableChat(id=found.id, title=found.title, error=error))
        return ""

    async def _hide(
        self, chat_id: ChatId, ids: Sequence[MessageId], pinned: Sequence[MessageId] = ()
    ) -> None:
        """Hide new messages before they are stored, so that they are never sent."""
        if not (ids or pinned) or self._wishes.is_dry:
            return
        await choose(self.storage, chat_id, hidden=ids, pinned=pinned)

    async def _known(self, chat_id: ChatId) -> Known | None:
        """The present and former messages of a chat by id; `None` if the chat does not exist."""
        if not await self.storage.chats.exists(chat_id):
            return None
        # Not `load`, which keeps whole versions of every loaded chat in memory.
        messages, kept = await self.storage.chats.snapshot(chat_id, IMPORTED, BRANCHES, REMOVED)
        listed = kept.get(IMPORTED)
        known: dict[str, Message | None] = dict.fromkeys(
            map(str, listed) if isinstance(listed, list) else ()
        )
        for path in (messages, *map(messages_of, branches_of(kept))):
            known.update({str(message.id): message for message in path})
        return known

    async def _made(self, chat_id: ChatId, document: JsonObject) -> None:
        if not self._wishes.is_dry:
            await self.storage.chats.update(chat_id, lambda made: made.update(document))

    async def _add_files(
        self, source: ChatFile, message: FoundMessage, entry: JsonObject, known: Known
    ) -> None:
        """Add the archive's files to a message's entry, if the message is new or has grown."""
        files: list[JsonObject] = []
        if entry["id"] in known and not _has_gone_on(known[entry["id"]], entry):
            return
        for place, (name, shown) in enumerate(message.assets):
            read = await asyncio.to_thread(source.assets.read, name)
            try:
                kept = None if read is None else await self._kept(shown or read[0], read[1])
            except CommandFailed:  # the file is neither text nor an image
                kept = None
            if kept is not None:
                files.append({**kept, "id": f"{entry['id']}-{place}"})
            elif shown or not entry["content"]:
                parts = Message.from_dict(entry).parts
                told = {"type": "info", "text": f"[{shown or 'A file'}, not in the import]"}
                entry["content"] = [*parts, told]
        if files:
            entry["files"] = files

    async def _kept(self, name: str, content: bytes) -> JsonObject:
        """A message's reference to a file, which is stored unless this is a dry run."""
        if self._wishes.is_dry:
            return {}
        kept = await self.storage.blobs.put(name, content)
        key = kept.storage_key
        return {"name": kept.name, "file_type": kept.file_type, "storage_key": key}

    async def _grown(
        self,
        chat_id: ChatId,
        known: Known,
        entries: Sequence[JsonObject],
        branches: Sequence[tuple[str | None, Sequence[JsonObject]]],
        told: str | None = None,
    ) -> Outcome:
        """Add new messages to an existing chat.

        Args:
            told: The imported instructions; `None` leaves the chat's unchanged.
        """
        fresh, has_gone_on = await asyncio.to_thread(_news, _rows(entries, branches), known)
        before = await self.storage.chats.value(chat_id, IMPORTED_INSTRUCTIONS) or ""
        is_told = told is not None and told != before
        has_more = fresh or has_gone_on
        if not has_more and not is_told:
            return "unchanged"

        def change(document: JsonObject) -> None:
            if has_more:
                _add(document, entries, branches, known)
            if is_told:
                _instruct(document, told or "")

        if not self._wishes.is_dry:
            await self.storage.chats.update(chat_id, change, creates=False)
        self.account.messages += fresh
        return "grown"


def _has_any(found: FoundChat, rows: Iterable[Sequence[FoundMessage]], known: Known) -> bool:
    """True if an existing chat has a message of the found one."""
    return any(_is_in(found, message, known) for row in rows for message in row)


def _is_in(found: FoundChat, message: FoundMessage, known: Known) -> bool:
    """True if a message is known; if its id is short, role and text have to match as well."""
    name = message_id(found, message)
    if name not in known or len(message.id) >= _SURE:
        return name in known
    here, there = known[name], Message.from_dict(entry_of(found, message))
    return here is None or (here.role, here.text) == (there.role, there.text)


def _news(rows: Sequence[JsonObject], known: Known) -> tuple[int, bool]:
    """The number of new messages; if it is 0, True if a known message has grown."""
    fresh = sum(row["id"] not in known for row in rows)
    return fresh, not fresh and any(_has_gone_on(known[row["id"]], row) for row in rows)


def _share(source: ChatFile, before: int, size: int) -> float:
    """The share of all bytes read so far, with `before` bytes in the files before this one."""
    return min(1.0, (before + source.passed) / size)


def _document(
    found: FoundChat,
    entries: Sequence[JsonObject],
    branches: Sequence[tuple[str | None, Sequence[JsonObject]]],
    folder: str,
) -> JsonObject:
    document: JsonObject = {"messages": list(entries)}
    if found.title:
        document["title"] = found.title
    if found.created_at:
        document["created_at"] = found.created_at
    document[SOURCE] = {"client": found.client, "id": storable(found.id)}
    document[IMPORTED] = _ids(entries, branches)
    if folder := folder_of(folder):
        document["folder"] = folder
    if branches:
        set_branches(document, [_branch(after, row) for after, row in reversed(branches)])
    return document


def _instruct(document: JsonObject, told: str) -> None:
    """Set a chat's imported instructions, unless they were changed here."""
    if document.get(INSTRUCTIONS, "") == document.get(IMPORTED_INSTRUCTIONS, ""):
        set_value(document, INSTRUCTIONS, told)
    set_value(document, IMPORTED_INSTRUCTIONS, told)


def _branch(after: str | None, row: Sequence[JsonObject]) -> JsonObject:
    first = str(row[0]["id"])
    at = str(row[0].get("created_at") or utc_stamp())
    return {"id": f"b{first[1:]}", "after": after, "created_at": at, "messages": list(row)}


def _ids(
    entries: Sequence[JsonObject], branches: Sequence[tuple[str | None, Sequence[JsonObject]]]
) -> list[str]:
    return [str(row["id"]) for row in _rows(entries, branches)]


def _own_rows(path: JsonObject) -> list[JsonObject]:
    """The messages of an exported document or branch; missing ids are derived."""
    return [message.to_dict() for message in messages_of(path)]


def _is_same(known: Known, rows: Sequence[JsonObject]) -> bool:
    """True if an existing chat is the exported one: it is empty, or has a message in common."""
    told = ((known.get(row["id"]), Message.from_dict(row)) for row in rows)
    return not known or any(
        here is not None and (here.role, here.text) == (there.role, there.text)
        for here, there in told
    )


def _rows(
    entries: Sequence[JsonObject], branches: Sequence[tuple[str | None, Sequence[JsonObject]]]
) -> list[JsonObject]:
    return [*entries, *(row for _, rows in branches for row in rows)]


def _add(
    document: JsonObject,
    entries: Sequence[JsonObject],
    branches: Sequence[tuple[str | None, Sequence[JsonObject]]],
    known: Collection[str],
) -> None:
    """Add new messages: at the end of the path if they continue it, else as a branch."""
    made: list[JsonObject] = []
    start = _first_new(entries, known)
    if start < len(entries):
        added = [dict(entry) for entry in entries[start:] if entry["id"] not in known]
        after = str(entries[start - 1]["id"]) if start else None
        if _goes_on(document, after, known):
            document["messages"].extend(added)
        else:
            made.append(_branch(after, added))
    for before, row in branches:
        start = _first_new(row, known)
        if start < len(row):
            fresh = [dict(entry) for entry in row[start:] if entry["id"] not in known]
            made.append(_branch(str(row[start - 1]["id"]) if start else before, fresh))
    told = {row["id"]: row for row in _rows(entries, branches)}
    document["messages"] = _gone_on(document["messages"], told)
    set_branches(
        document,
        [
            {**branch, "messages": _gone_on(branch["messages"], told)}
            for branch in (*made, *branches_of(document))
        ],
    )
    document[IMPORTED] = list(dict.fromkeys([*known, *told]))


def _gone_on(rows: Sequence[Any], told: Mapping[str, JsonObject]) -> list[Any]:
    """The messages, with the new parts of answers that were incomplete when imported."""
    found: list[Any] = []
    for row in rows:
        more = told.get(str(row.get("id"))) if isinstance(row, dict) else None
        if more and _has_gone_on(Message.from_dict(row), more):
            files = {file["id"]: file for file in (*row.get("files", ()), *more.get("files", ()))}
            found.append({**row, **more, **({"files": [*files.values()]} if files else {})})
        else:
            found.append(row)
    return found


def _has_gone_on(here: Message | None, told: JsonObject) -> bool:
    """True if a message unchanged here now has more parts, or results of its calls."""
    if here is None or not here.parts:
        return False
    more = Message.from_dict(told).parts
    pairs = [*zip(here.parts, more, strict=False)]
    return (
        len(pairs) == len(here.parts)
        and here.parts != more
        and all(part == new or _is_answered(part, new) for part, new in pairs)
    )


def _is_answered(part: Part, new: Part) -> bool:
    """True if `part` is a call without a result, and `new` the same call."""
    outcome = {"state": new.get("state"), "result": new.get("result")}
    return part.get("state") == "call" and {**part, **outcome} == new


def _first_new(entries: Sequence[JsonObject], known: Collection[str]) -> int:
    places = (place for place, entry in enumerate(entries) if entry["id"] not in known)
    return next(places, len(entries))


def _goes_on(document: JsonObject, after: str | None, known: Collection[str]) -> bool:
    """True if messages after `after` continue the path: nothing else of the import follows it."""
    ids = [str(row.get("id")) for row in document["messages"] if isinstance(row, Mapping)]
    last = next((name for name in reversed(ids) if name in known), None)
    return after in {None, last} or after not in ids


def _batches(found: Iterator[Found | UnreadableChat]) -> Iterator[list[Found | UnreadableChat]]:
    """Chats to store together, so that disks are waited for once; never a chat twice."""
    batch: list[Found | UnreadableChat] = []
    names: set[str] = set()
    size = 0
    problem: NotReadable | None = None
    try:
        for each in found:
            name = "" if isinstance(each, UnreadableChat) else each.chat_id_for(OWNER)
            if batch and (name in names or len(batch) == _MOST_AT_ONCE or size > _MOST_CHARACTERS):
                yield batch
                batch, names, size = [], set(), 0
            batch.append(each)
            names.add(name)
            if isinstance(each, FoundChat):
                size += sum(len(str(p.get("text"))) for m in each.messages for p in m.parts)
    except NotReadable as error:
        problem = error  # the chats before the damage are stored first
    if batch:
        yield batch
    if problem:
        raise problem

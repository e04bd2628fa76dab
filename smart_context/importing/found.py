"""A chat as read from another program's file, before it becomes one of the vault's. Pure."""

import hashlib
import json
import math
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import groupby
from typing import Any

from smart_context.base.text.names import storable, storable_value
from smart_context.base.times import utc_stamp
from smart_context.base.values import JsonObject, PersonId, person_tag
from smart_context.chat.messages import ChatId, MessageId, Role, messages_of
from smart_context.llm.thoughts import split_thoughts

LONGEST_TITLE = 200
_MOST_ADDED = 200_000
"""The maximum number of messages of one chat with all its branches: twice that of a stored chat."""

MOST_BEFORE = 400
"""The maximum number of messages between a call and its result; keeps a file of results fast."""
_DATES = (
    *("%B %d, %Y %I:%M%p", "%b %d, %Y %I:%M%p", "%Y-%m-%d@%Hh%Mm%Ss", "%Y-%m-%d@%Hh%Mm%Ss%fms"),
    *("%Y-%m-%d @%Hh %Mm %Ss", "%Y-%m-%d @%Hh %Mm %Ss %fms"),
)
"""The time formats of SillyTavern, oldest versions included; other times are ISO 8601."""
_FILES = {"image": "Picture", "document": "Document"}
"""The types of blocks that hold a file, and the name for a file without one."""
_MILLISECONDS = 10**11
"""Numbers from this one on are milliseconds; as seconds they would be after the year 5138."""


class NotReadable(ValueError):
    """A conversation or file that does not have its program's format; the message says why."""


class OtherForm(NotReadable):
    """A known program's file in a format that can't be read; the message names one that can."""


class NotKnown(NotReadable):
    """A file without a sign of any known program; skipped in folders and archives."""


@dataclass(slots=True)
class _Calls:
    """An index of a message's open calls by id and tool; each part is scanned once."""

    parts: list[JsonObject] = field(default_factory=list)  # as last scanned
    looked_at: int = 0  # the number of scanned parts
    waiting: dict[tuple[str, str], deque[JsonObject]] = field(default_factory=dict)

    def first(self, parts: list[JsonObject], call_id: str, tool: str) -> JsonObject | None:
        """The first call without a result, by id or, if that is empty, by tool; else any."""
        if parts is not self.parts:
            self.parts, self.looked_at, self.waiting = parts, 0, {}
        for part in map(parts.__getitem__, range(self.looked_at, len(parts))):
            if part.get("state") == "call":
                keys = (str(part["tool_call_id"]), ""), ("", str(part["tool_name"])), ("", "")
                for key in {*keys}:
                    self.waiting.setdefault(key, deque()).append(part)
        self.looked_at = len(parts)
        calls = self.waiting.get((call_id, "" if call_id else tool), deque())
        while calls and calls[0]["state"] != "call":
            calls.popleft()
        return calls[0] if calls else None


class _WithCalls:
    """Holds the index of calls outside the fields, which the child process sends as JSON."""

    __slots__ = ("_calls",)

    def __post_init__(self) -> None:
        self._calls = _Calls()


@dataclass(slots=True, kw_only=True)
class FoundMessage(_WithCalls):
    """One message of a found chat."""

    id: str  # its id in the other program; unique in its chat
    role: Role  # the role of its author
    parts: list[JsonObject] = field(default_factory=list)  # its content, as stored parts
    parent: str | None = None  # the id of the message before it; `None` at the beginning
    created_at: str = ""  # its time, ISO 8601 in UTC; empty if unknown
    model: str = ""  # the model that wrote it; empty if unknown
    is_summary: bool = False  # True if it summarises earlier messages
    is_hidden: bool = False  # True if the other program does not send it to the model
    # attached files: a part of the file's name, or a `data:` address with the content; and the name
    # that people see, empty for the file's name in the archive
    assets: list[tuple[str, str]] = field(default_factory=list)

    def open_call(self, *, call_id: str = "", tool: str = "") -> JsonObject | None:
        """The first call without a result, by id or, if that is empty, by tool; else any."""
        return self._calls.first(self.parts, call_id, tool)

    @property
    def is_wordless(self) -> bool:
        """True for an answer without text so far: only thoughts, calls and files."""
        kinds = {part.get("type") for part in self.parts}
        return self.role == "assistant" and kinds <= {"reasoning", "tool_call"}

    @property
    def is_empty(self) -> bool:
        """True if it has no text, no call and no file."""
        return not self.assets and not any(
            part.get("type") == "tool_call" or str(part.get("text") or "").strip()
            for part in self.parts
        )


@dataclass(slots=True, kw_only=True)
class FoundChat:
    """One chat of another program."""

    client: str  # the program, as in `source.client`
    id: str  # its id in that program; a reader leaves it empty if there is none
    title: str = ""  # its title; empty if it has none
    created_at: str = ""  # its first time, ISO 8601 in UTC; empty if unknown
    instructions: str = ""  # its system prompt, sent in each turn; empty if it has none
    # all messages in order; their parents make them a tree
    messages: list[FoundMessage] = field(default_factory=list)
    current: str | None = None  # the last message of the current path; `None`: the last of all

    def add(
        self, key: object, role: object, *texts: str, at: object = None, model: object = ""
    ) -> FoundMessage:
        """Add a message after the last one; set `parent` afterwards if it follows another.

        Args:
            key: Its id; its position if that is empty or not a text.
            role: `user` or `human`; anything else is the assistant.
            texts: Its texts, one part each; empty ones are skipped.
            at: Its time, as `moment` takes it.
            model: The model that wrote it; ignored if it is the user's.

        Raises:
            NotReadable: If the chat has too many messages.
        """
        if len(self.messages) >= _MOST_ADDED:
            raise NotReadable(f"expected at most {_MOST_ADDED:,} messages, found more")
        is_asked = text_of(role) in {"user", "human"}
        found = FoundMessage(
            id=text_of(key) or str(len(self.messages)),
            role="user" if is_asked else "assistant",
            parts=[text_part(text) for text in texts if text],
            parent=self.messages[-1].id if self.messages else None,
            created_at=moment(at),
            model="" if is_asked else text_of(model),
        )
        self.messages.append(found)
        return found

    @property
    def beginning(self) -> str:
        """A hash of its time and its messages up to the first answer, for a chat without an id."""
        told: list[object] = [self.created_at]
        for message in self.messages:
            told.append([message.role, *(part.get("text") for part in message.parts)])
            if message.role == "assistant" and not message.is_empty:
                break
        return hashlib.sha256(json.dumps(told).encode()).hexdigest()

    def apart(self) -> "FoundChat":
        """The same chat under another id, for when a different chat already has its id."""
        return replace(self, id=f"{self.id} {self.beginning}")

    def chat_id_for(self, person: PersonId) -> ChatId:
        """Its id in the vault, the same for each import by one person."""
        named = f"{self.client}\0{self.id}"
        if tag := person_tag(person):
            named = f"{named}\0{tag}"
        return ChatId(hashlib.sha256(named.encode(errors="replace")).hexdigest()[:16])


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnChat:
    """A chat that was exported from Smart Context."""

    id: str  # its id when it was exported; empty if unknown
    document: JsonObject  # the chat document
    hidden: Sequence[str] = ()  # the ids of messages that the exporting person had hidden
    pinned: Sequence[str] = ()  # the ids of messages that they had pinned

    def chat_ids_for(self, person: PersonId) -> Sequence[ChatId]:
        """The ids to try, in order: its own, one for the person, one from its beginning.

        Its own may belong to another person's or another chat. Without one, only the last is tried.
        """
        told: list[str] = []
        for message in messages_of(self.document):
            told += [message.id, message.role, message.text]
            if message.role == "assistant":
                break
        tag = person_tag(person)
        named = [f"{tag}\0{self.id}", "\0".join((tag, self.id, *told))]
        digests = [hashlib.sha256(name.encode(errors="replace")).hexdigest() for name in named]
        ids = [ChatId(digest[:16]) for digest in digests]
        return [ChatId(self.id), *ids] if self.id else ids[1:]

    def chat_id_for(self, person: PersonId) -> ChatId:
        """The first id to try for a person."""
        return ChatId(self.id) if self.id else self.chat_ids_for(person)[0]

    @property
    def title(self) -> str:
        """Its title; empty for none."""
        return title_of(self.document.get("title"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Paths:
    """A tree of messages as a path and its branches."""

    path: Sequence[FoundMessage]  # the current path, oldest first
    # each branch with the message that it follows; `None` at the beginning
    branches: Sequence[tuple[FoundMessage | None, Sequence[FoundMessage]]]


def paths_of(chat: FoundChat) -> Paths:
    """The current path of a chat and its branches.

    Empty messages are left out; their followers follow the message before. An answer's thoughts
    and calls become part of it, if they are messages of their own. A cycle of parents is cut. A
    message whose parent is missing is at the beginning.
    """
    known = {message.id: message for message in chat.messages}
    parent = {message.id: _parent(message, known) for message in chat.messages}
    told = [message for message in chat.messages if not message.is_empty]
    if not told:
        return Paths(path=(), branches=())
    leaf = chat.current if chat.current in known else told[-1].id
    path = [known[name] for name in reversed(list(_way_up(leaf, parent)))]
    path = [message for message in path if not message.is_empty]
    placed = {message.id for message in path}
    branches: list[tuple[FoundMessage | None, list[FoundMessage]]] = []
    rows = {message.id: path for message in path}
    for message, before in _in_order(told, parent, placed):
        row = rows.get(before) if before is not None else None
        if row is not None and row is not path and row[-1].id == before:
            row.append(message)
        else:
            row = [message]
            branches.append((known[before] if before is not None else None, row))
        rows[message.id] = row
    forks = {before.id for before, _ in branches if before is not None}
    wholes: dict[str, FoundMessage] = {}
    whole_path = _whole_answers(path, forks, wholes)
    rows_after = [(before, _whole_answers(row, forks, wholes)) for before, row in branches]
    return Paths(
        path=whole_path,
        branches=[(before and wholes[before.id], row) for before, row in rows_after],
    )


def _in_order(
    told: Sequence[FoundMessage], parent: Mapping[str, str | None], placed: set[str]
) -> Iterator[tuple[FoundMessage, str | None]]:
    """The messages off the path, each after its predecessor, with the predecessor's id.

    Args:
        placed: The ids of the path; the ids of the yielded messages are added.
    """
    known = {message.id: message for message in told}
    passed: dict[str, str | None] = {}  # results for empty messages, so that each is passed once
    for message in told:
        way: dict[str, str | None] = {}
        name: str | None = message.id
        while name is not None and name not in placed and name not in way:
            before = _told_before(name, parent, known.keys(), passed)
            way[name], name = before, before
        for name, before in reversed(way.items()):
            placed.add(name)
            yield known[name], before if before in placed and before != name else None


def _told_before(
    name: str,
    parent: Mapping[str, str | None],
    known: AbstractSet[str],
    passed: dict[str, str | None],
) -> str | None:
    """The id of the nearest non-empty message before this one."""
    way: list[str] = []
    found = parent[name]
    while found is not None and found not in known:
        if found in passed:
            found = passed[found]
            break
        passed[found] = None  # the result if the parents form a cycle
        way.append(found)
        found = parent[found]
    passed.update(dict.fromkeys(way, found))
    return found


def _whole_answers(
    row: Sequence[FoundMessage], forks: AbstractSet[str], wholes: dict[str, FoundMessage]
) -> list[FoundMessage]:
    """The messages, with thoughts and calls merged into the answer that follows them.

    Args:
        forks: The ids of messages with a branch after them.
        wholes: Gets, by the id of each message, the message that it became part of.
    """
    joined: list[FoundMessage] = []
    is_open = False
    for message in row:
        is_answer = message.role == "assistant"
        if is_open and is_answer and message.is_hidden == joined[-1].is_hidden:
            whole = joined[-1]
            whole.parts.extend(message.parts)
            whole.assets.extend(message.assets)
            whole.model = message.model or whole.model
        else:
            parts, assets = [*message.parts], [*message.assets]
            joined.append(replace(message, parts=parts, assets=assets))
        wholes[message.id] = joined[-1]
        is_open = message.is_wordless and message.id not in forks
    return joined


def _parent(message: FoundMessage, known: Mapping[str, FoundMessage]) -> str | None:
    return message.parent if message.parent in known else None


def _way_up(name: str | None, parent: Mapping[str, str | None]) -> Iterable[str]:
    """The ids from a message up to the beginning; stops at a cycle."""
    seen: set[str] = set()
    while name is not None and name not in seen:
        seen.add(name)
        yield name
        name = parent[name]


def message_id(chat: FoundChat, message: FoundMessage) -> MessageId:
    """The id of a message in the vault, the same for each import."""
    text = f"{chat.client}\0{chat.id}\0{message.id}"
    return MessageId(f"m{hashlib.sha256(text.encode(errors='replace')).hexdigest()[:12]}")


def entry_of(chat: FoundChat, message: FoundMessage) -> JsonObject:
    """The message in the format of a chat document, without its files."""
    parts = storable_value(message.parts)
    plain = len(parts) == 1 and parts[0].get("type") == "text"
    entry: JsonObject = {
        "id": message_id(chat, message),
        "role": message.role,
        "content": parts[0]["text"] if plain else parts,
    }
    if message.created_at:
        entry["created_at"] = message.created_at
    if message.model:
        entry["model"] = storable(message.model)
    if message.is_summary:
        entry["is_summary"] = True
    return entry


def text_part(text: str) -> JsonObject:
    """A text part."""
    return {"type": "text", "text": text}


def joined_texts(parts: Iterable[JsonObject], between: str) -> list[JsonObject]:
    """The parts, with adjacent texts joined into one."""
    joined: list[JsonObject] = []
    for is_text, run in groupby(parts, lambda part: part.get("type") == "text"):
        texts = [*run]
        joined += [text_part(between.join(str(p["text"]) for p in texts))] if is_text else texts
    return joined


def thought(text: str) -> JsonObject:
    """A part with a model's thoughts."""
    return {"type": "reasoning", "text": text}


def tell_thoughts(chat: FoundChat) -> FoundChat:
    """Separate thoughts from answers in a chat's texts, as for an answer that arrives live."""
    for message in chat.messages:
        if message.role == "assistant" and not message.is_summary:
            message.parts = [told for part in message.parts for told in _with_thought(part)]
    return chat


def _with_thought(part: JsonObject) -> list[JsonObject]:
    if part.get("type") != "text":
        return [part]
    thoughts, said = split_thoughts(part["text"])
    parts = [thought(thoughts)] if thoughts else []
    return [*parts, text_part(said)] if said or not parts else parts


def call(
    call_id: str, name: str, args: object, result: object = None, *, is_done: bool = False
) -> JsonObject:
    """A tool call, with its result if `is_done`."""
    part: JsonObject = {
        "type": "tool_call",
        "state": "result" if is_done else "call",
        "tool_call_id": call_id,
        "tool_name": name,
        "args": parsed(args),
    }
    return {**part, "result": result} if is_done else part


def answered(messages: Sequence[FoundMessage], call_id: str, result: object) -> FoundMessage | None:
    """Add a result to its call in the last `MOST_BEFORE` messages; returns the call's message."""
    for message in reversed(messages[-MOST_BEFORE:]):
        if message.parts and (part := message.open_call(call_id=call_id)):
            part.update(state="result", result=result)
            return message
    return None


def moment(value: object) -> str:
    """A time as ISO 8601 in UTC; empty if it is not a time, or outside of the calendar.

    Args:
        value: Seconds or milliseconds since 1970, a number in a text, or an ISO 8601 text.
    """
    if isinstance(value, bool) or value is None:
        return ""
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return _from_text(str(value))
    try:
        if not isinstance(value, int | float) or not math.isfinite(value):
            return ""
        seconds = value / 1000 if abs(value) >= _MILLISECONDS else value
        return utc_stamp(float(seconds))
    except (ValueError, OverflowError, OSError):
        return ""


def _from_text(text: str) -> str:
    for form in ("", *_DATES):
        try:
            found = (
                datetime.strptime(text.strip(), form)  # noqa: DTZ007 - the zone is set below
                if form
                else datetime.fromisoformat(text.strip())
            )
            return utc_stamp(found if found.tzinfo else found.replace(tzinfo=UTC))
        except (ValueError, OverflowError):
            continue
    return ""


def text_of(value: object) -> str:
    """The value if it is a text, else an empty text."""
    return value if isinstance(value, str) else ""


def instructions_of(*texts: object) -> str:
    """The texts as one system prompt, without blank ones and duplicates."""
    return "\n\n".join(dict.fromkeys(filter(None, (text_of(text).strip() for text in texts))))


def objects(value: object) -> list[Mapping[str, Any]]:
    """The objects of a list; empty for anything else."""
    return (
        [entry for entry in value if isinstance(entry, Mapping)] if isinstance(value, list) else []
    )


def mapping(value: object) -> Mapping[str, Any]:
    """An object; an empty one for anything else."""
    return value if isinstance(value, Mapping) else {}


def parsed(value: object) -> object:
    """The object or list in a JSON text; any other value unchanged."""
    if isinstance(value, str) and value.lstrip()[:1] in {"{", "["}:
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def title_of(value: object) -> str:
    """A title on one line, of at most 200 characters."""
    return " ".join(storable(text_of(value)).split())[:LONGEST_TITLE]


def add_blocks(content: object, found: FoundMessage, before: Sequence[FoundMessage]) -> None:
    """Add content blocks to a message as parts; a result goes to its call if that is found."""
    if isinstance(content, str) and content:
        found.parts.append(text_part(content))
    for block in objects(content):
        kind, text = block.get("type"), text_of(block.get("text"))
        if kind in {"text", "voice_note"} and text:
            found.parts.append(text_part(text))
        elif kind == "thinking":
            found.parts.append(thought(text_of(block.get("thinking"))))
        elif kind == "tool_use":
            name = text_of(block.get("id")) or f"{found.id}-{len(found.parts)}"
            found.parts.append(call(name, text_of(block.get("name")), block.get("input")))
        elif kind == "tool_result":
            _add_result(block, found, before)
        elif kind in _FILES:
            found.assets.append(_file_of(block))


def _file_of(block: Mapping[str, Any]) -> tuple[str, str]:
    source = mapping(block.get("source"))
    address = f"data:{source.get('media_type')};base64,{text_of(source.get('data'))}"
    return address, text_of(block.get("title")) or _FILES[block["type"]]


def _add_result(
    block: Mapping[str, Any], found: FoundMessage, before: Sequence[FoundMessage]
) -> None:
    result, name = text_in(block.get("content")), text_of(block.get("tool_use_id"))
    name = name or _open_call(found, text_of(block.get("name")))
    caller = answered([*before[1 - MOST_BEFORE :], found], name, result)
    if caller is None and found.role == "assistant":
        caller = found
        if result:
            label = text_of(block.get("name")) or "tool"
            found.parts.append(call(name, label, {}, result, is_done=True))
    if caller:  # pictures from a tool belong to the message with the call
        shown = objects(block.get("content"))
        caller.assets.extend(_file_of(one) for one in shown if one.get("type") in _FILES)


def _open_call(found: FoundMessage, tool: str) -> str:
    """The id of a tool's first open call, since exports of claude.ai have no ids of calls."""
    part = found.open_call(tool=tool)
    return str(part["tool_call_id"]) if part else ""


def text_in(content: object) -> str:
    """The text of a block's content: a text, an object with one, or a list of blocks."""
    if isinstance(content, str):
        return content
    if isinstance(content, Mapping):
        return text_of(content.get("content")) or text_of(content.get("output"))
    return "\n".join(filter(None, (text_of(block.get("text")) for block in objects(content))))

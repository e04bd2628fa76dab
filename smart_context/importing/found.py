"""A chat as another program's file has it, before it becomes one of ours. Pure."""

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

from smart_context.base.asking import person_tag, whoever_asks
from smart_context.base.text.names import storable, storable_value
from smart_context.base.times import utc_stamp
from smart_context.base.values import JsonObject
from smart_context.chat.messages import ChatId, MessageId, Role, messages_of
from smart_context.llm.thoughts import split_thoughts

LONGEST_TITLE = 200
_MOST_ADDED = 200_000
"""The messages of one chat with all its branches: twice what a chat may have."""

MOST_BEFORE = 400
"""Most messages between a call and its result, so that a file of results alone is not slow."""
_DATES = (
    *("%B %d, %Y %I:%M%p", "%b %d, %Y %I:%M%p", "%Y-%m-%d@%Hh%Mm%Ss", "%Y-%m-%d@%Hh%Mm%Ss%fms"),
    *("%Y-%m-%d @%Hh %Mm %Ss", "%Y-%m-%d @%Hh %Mm %Ss %fms"),
)
"""The forms of SillyTavern's times, oldest versions included; else they are ISO 8601."""
_FILES = {"image": "Picture", "document": "Document"}
"""Blocks that are files, and what a file without a name is called."""
_MILLISECONDS = 10**11
"""Numbers from here on are milliseconds: as seconds they would be after the year 5138."""


class NotReadable(ValueError):
    """A conversation, or a file, that is not as its program writes it; says what is wrong."""


class OtherForm(NotReadable):
    """A file of a known program in a form that is not read; says which one to ask for."""


class NotKnown(NotReadable):
    """A file that shows no sign of a known program; passed over in folders and archives."""


@dataclass(slots=True)
class _Calls:
    """The calls of a message, found by id or tool without looking through all of its parts."""

    parts: list[JsonObject] = field(default_factory=list)  # as they were last looked at
    looked_at: int = 0  # how many of them
    waiting: dict[tuple[str, str], deque[JsonObject]] = field(default_factory=dict)

    def first(self, parts: list[JsonObject], call_id: str, tool: str) -> JsonObject | None:
        """The first call without a result."""
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
    """Keeps the calls apart from the fields, which are what a child hands over."""

    __slots__ = ("_calls",)

    def __post_init__(self) -> None:
        self._calls = _Calls()


@dataclass(slots=True, kw_only=True)
class FoundMessage(_WithCalls):
    """One message."""

    id: str  # its id in the other program; unique in its chat
    role: Role  # who wrote it
    parts: list[JsonObject] = field(default_factory=list)  # its content: parts of our messages
    parent: str | None = None  # the id of the message before it; `None` at the beginning
    created_at: str = ""  # when, ISO 8601 in UTC; empty if unknown
    model: str = ""  # the model that wrote it; empty if unknown
    is_summary: bool = False  # it stands for earlier messages
    is_hidden: bool = False  # the other program does not send it to the model
    # attached files: a part of the name in the archive, or a `data:` address with the content, and
    # the name that people see; empty for what the archive calls it
    assets: list[tuple[str, str]] = field(default_factory=list)

    def open_call(self, *, call_id: str = "", tool: str = "") -> JsonObject | None:
        """The first call without a result: of this id, else of this tool, else of any."""
        return self._calls.first(self.parts, call_id, tool)

    @property
    def is_wordless(self) -> bool:
        """An answer that has only thought, called and drawn so far."""
        kinds = {part.get("type") for part in self.parts}
        return self.role == "assistant" and kinds <= {"reasoning", "tool_call"}

    @property
    def is_empty(self) -> bool:
        """Nothing was said."""
        return not self.assets and not any(
            part.get("type") == "tool_call" or str(part.get("text") or "").strip()
            for part in self.parts
        )


@dataclass(slots=True, kw_only=True)
class FoundChat:
    """One chat."""

    client: str  # the program, as `source.client` has it
    id: str  # its id there; a reader leaves it empty where there is none
    title: str = ""  # its title; empty for none
    created_at: str = ""  # when it began, ISO 8601 in UTC; empty if unknown
    instructions: str = ""  # its system prompt, told to the model in each turn; empty for none
    # all messages, in order; a tree by their parents
    messages: list[FoundMessage] = field(default_factory=list)
    current: str | None = None  # the last message of the current path; `None`: the last of all

    def add(
        self, key: object, role: object, *texts: str, at: object = None, model: object = ""
    ) -> FoundMessage:
        """Add a message, which follows the last one unless its `parent` is set afterwards.

        Args:
            key: Its id; its number if that is no text.
            role: `user` or `human`; anything else is the assistant.
            texts: What it says.
            at: When, as `moment` takes it.
            model: What wrote it, if it is an answer.

        Raises:
            NotReadable: If the chat has too many.
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
        """What tells it where its program gives no id: its time, and all up to the first answer."""
        told: list[object] = [self.created_at]
        for message in self.messages:
            told.append([message.role, *(part.get("text") for part in message.parts)])
            if message.role == "assistant" and not message.is_empty:
                break
        return hashlib.sha256(json.dumps(told).encode()).hexdigest()

    def apart(self) -> "FoundChat":
        """The same chat under an id of its own, where another one has its id."""
        return replace(self, id=f"{self.id} {self.beginning}")

    @property
    def chat_id(self) -> ChatId:
        """The id that the chat has here, the same for each import by a person."""
        named = f"{self.client}\0{self.id}"
        if tag := person_tag(whoever_asks()):
            named = f"{named}\0{tag}"
        return ChatId(hashlib.sha256(named.encode(errors="replace")).hexdigest()[:16])


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnChat:
    """A chat that was exported from here."""

    id: str  # its id where it was exported; empty if nothing tells
    document: JsonObject  # its document
    hidden: Sequence[str] = ()  # the ids of its messages that whoever exported it had hidden
    pinned: Sequence[str] = ()  # and those that they had pinned

    @property
    def chat_ids(self) -> Sequence[ChatId]:
        """The ids that it may get, in order: its own, one of the person's, one by its beginning.

        Its own may be another person's, or another chat's.
        """
        told: list[str] = []
        for message in messages_of(self.document):
            told += [message.id, message.role, message.text]
            if message.role == "assistant":
                break
        tag = person_tag(whoever_asks())
        named = [f"{tag}\0{self.id}", "\0".join((tag, self.id, *told))]
        digests = [hashlib.sha256(name.encode(errors="replace")).hexdigest() for name in named]
        ids = [ChatId(digest[:16]) for digest in digests]
        return [ChatId(self.id), *ids] if self.id else ids[1:]

    @property
    def chat_id(self) -> ChatId:
        """The first of the ids that it may get."""
        return ChatId(self.id) if self.id else self.chat_ids[0]

    @property
    def title(self) -> str:
        """Its title; empty for none."""
        return title_of(self.document.get("title"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Paths:
    """A tree of messages as a path and its branches."""

    path: Sequence[FoundMessage]  # the current path, oldest first
    # each with the message that it follows; `None` at the beginning
    branches: Sequence[tuple[FoundMessage | None, Sequence[FoundMessage]]]


def paths_of(chat: FoundChat) -> Paths:
    """The current path of a chat and its branches.

    Empty messages are left out; what followed one follows the one before. What an answer thought
    and called before it spoke is part of it. A circle of parents is cut, and a parent that is not
    there is the beginning.
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
    """The messages off the path, each after the one that it follows, with that one's id.

    Args:
        placed: The ids of the path; gets those of the messages.
    """
    known = {message.id: message for message in told}
    passed: dict[str, str | None] = {}  # what empty messages follow, so each is passed once
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
    """The id of the nearest message before this one that is not empty."""
    way: list[str] = []
    found = parent[name]
    while found is not None and found not in known:
        if found in passed:
            found = passed[found]
            break
        passed[found] = None  # where a circle closes
        way.append(found)
        found = parent[found]
    passed.update(dict.fromkeys(way, found))
    return found


def _whole_answers(
    row: Sequence[FoundMessage], forks: AbstractSet[str], wholes: dict[str, FoundMessage]
) -> list[FoundMessage]:
    """The messages, with thoughts and calls joined to the answer that follows them.

    Args:
        forks: The ids of messages that branches follow.
        wholes: Gets the message that each became part of, by its id.
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
    """The ids from a message to the beginning; ends where a circle closes."""
    seen: set[str] = set()
    while name is not None and name not in seen:
        seen.add(name)
        yield name
        name = parent[name]


def message_id(chat: FoundChat, message: FoundMessage) -> MessageId:
    """The id that a message has here, the same for each import."""
    text = f"{chat.client}\0{chat.id}\0{message.id}"
    return MessageId(f"m{hashlib.sha256(text.encode(errors='replace')).hexdigest()[:12]}")


def entry_of(chat: FoundChat, message: FoundMessage) -> JsonObject:
    """The message as a chat document has it, without its files."""
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
    """A part of text."""
    return {"type": "text", "text": text}


def joined_texts(parts: Iterable[JsonObject], between: str) -> list[JsonObject]:
    """The parts, with texts that follow each other as one."""
    joined: list[JsonObject] = []
    for is_text, run in groupby(parts, lambda part: part.get("type") == "text"):
        texts = [*run]
        joined += [text_part(between.join(str(p["text"]) for p in texts))] if is_text else texts
    return joined


def thought(text: str) -> JsonObject:
    """What a model thought before it answered."""
    return {"type": "reasoning", "text": text}


def tell_thoughts(chat: FoundChat) -> FoundChat:
    """Tell thoughts from answers in the texts of a chat, as is done while an answer arrives."""
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
    """A tool call, with its result if there is one."""
    part: JsonObject = {
        "type": "tool_call",
        "state": "result" if is_done else "call",
        "tool_call_id": call_id,
        "tool_name": name,
        "args": parsed(args),
    }
    return {**part, "result": result} if is_done else part


def answered(messages: Sequence[FoundMessage], call_id: str, result: object) -> FoundMessage | None:
    """Add a result to the call that it answers, a little before, and return whose that is."""
    for message in reversed(messages[-MOST_BEFORE:]):
        if message.parts and (part := message.open_call(call_id=call_id)):
            part.update(state="result", result=result)
            return message
    return None


def moment(value: object) -> str:
    """A time as ISO 8601 in UTC; empty if it is none, or none that a calendar has.

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
                datetime.strptime(text.strip(), form)  # noqa: DTZ007 - given one below
                if form
                else datetime.fromisoformat(text.strip())
            )
            return utc_stamp(found if found.tzinfo else found.replace(tzinfo=UTC))
        except (ValueError, OverflowError):
            continue
    return ""


def text_of(value: object) -> str:
    """A text; empty for anything else."""
    return value if isinstance(value, str) else ""


def instructions_of(*texts: object) -> str:
    """What a program tells the model in each turn, which it may keep in several places."""
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
    """The object or list that a text of JSON holds; anything else as it is."""
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
    """Add the blocks to a message as parts; a result goes to its call, if that is there."""
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
    if caller:  # pictures that a tool gave belong to who called it
        shown = objects(block.get("content"))
        caller.assets.extend(_file_of(one) for one in shown if one.get("type") in _FILES)


def _open_call(found: FoundMessage, tool: str) -> str:
    """The id of the first open call of a tool: what claude.ai exports has no ids."""
    part = found.open_call(tool=tool)
    return str(part["tool_call_id"]) if part else ""


def text_in(content: object) -> str:
    """The text of a block's content: a text, an object with one, or a list of blocks."""
    if isinstance(content, str):
        return content
    if isinstance(content, Mapping):
        return text_of(content.get("content")) or text_of(content.get("output"))
    return "\n".join(filter(None, (text_of(block.get("text")) for block in objects(content))))

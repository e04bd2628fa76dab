"""The messages of a chat.

On disk a message is a JSON object (docs/chats.md), in memory a frozen `Message`. Unknown keys are
kept in `extra` and written back, so another program's fields survive.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, NewType, cast, get_args

from smart_context.base.values import JsonObject, text_in

MessageId = NewType("MessageId", str)
"""Names a message within its chat; stable across saves."""

ChatId = NewType("ChatId", str)
"""Names a chat within its vault, and its file."""

Role = Literal["user", "assistant", "system", "tool"]
ROLES: frozenset[str] = frozenset(get_args(Role))

Part = Mapping[str, Any]
"""A piece of a message: `{"type": "text" | "image" | "info" | "reasoning" | "tool_call", …}`."""

SOURCE = "source"
"""The key of a chat's origin: the program, its own id of the chat, and the client key it used."""

HELD = "held_by_provider"
"""Marks a chat whose provider holds the history, so that the filter can't leave anything out."""

INSTRUCTIONS = "instructions"
"""The key of a chat's own instructions in its document."""

PRIVATE = "private"
"""Marks a chat whose messages no other chat recalls."""

CUT = "cut"
"""Marks a message that a client no longer sends, at the beginning of its list."""

STAYS = "stays"
"""Marks a message that is sent with every request: a system message, or one of an unknown kind."""

EXTRACTED = "extracted"
"""Marks a notice of the program in place of an answer: no model was asked, passages are quoted."""

OFF_PICK = "off_pick"
"""Marks a question that was sent although it is about none of the topics picked at that time."""

MOST_ATTACHED = 1_000
"""The most files, and the most links, of a message that are read; others stay in the document."""

_NOTHING: Mapping[str, Any] = MappingProxyType({})
_WRITTEN_WHEN_SET = ("created_at", "generating", "error", "error_code", "is_summary")
_USUAL = frozenset({"id", "role", "content", "created_at"})
_SIMPLE = frozenset((str, int, float, bool, type(None)))
_KNOWN = frozenset({"id", "role", "content", "files", "links", *_WRITTEN_WHEN_SET})


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message of a chat; shares nothing with the document that it was made from."""

    id: MessageId  # identifies the message within its chat
    role: Role  # the sender
    content: str | tuple[Part, ...]  # plain text, or parts in order
    created_at: str = ""  # ISO 8601 in UTC; empty when unknown
    generating: bool = False  # the answer is still being written
    error: str = ""  # the reason why the answer failed; empty when it did not
    error_code: int | str = 0  # the failure's number or name; 0 when there was none
    is_summary: bool = False  # the message summarises older ones (a compaction)
    # attached files, each `{"id", "name", "file_type", "storage_key"}`
    files: tuple[Mapping[str, Any], ...] = ()
    # attached links, each `{"id", "url", "title", "storage_key"}`
    links: tuple[Mapping[str, Any], ...] = ()
    # keys of other programs, kept as they were
    extra: Mapping[str, Any] = field(default_factory=lambda: _NOTHING)

    @classmethod
    def from_dict(cls, document: Mapping[str, Any], *, position: int = 0) -> "Message":
        """Make a message from its JSON object; never fails on unexpected values.

        Args:
            document: The object on disk. An unknown role reads as `user`; a missing id is
                derived from `position` and the content, so that it is the same on each read.
            position: The message's place in its chat, counted from 0.
        """
        role = document.get("role")
        known_role = cast("Role", role if isinstance(role, str) and role in ROLES else "user")
        content = _content_of(document.get("content"))
        raw_id = document.get("id")
        message_id = (
            MessageId(raw_id)
            if isinstance(raw_id, str) and raw_id
            else derived_id(position, known_role, content)
        )
        created_at = text_in(document.get("created_at"))
        if _USUAL.issuperset(document):  # most messages have no other keys, and chats are long
            return cls(id=message_id, role=known_role, content=content, created_at=created_at)
        return cls(
            id=message_id,
            role=known_role,
            content=content,
            created_at=created_at,
            generating=document.get("generating") is True,
            error=text_in(document.get("error")),
            error_code=_code(document.get("error_code")),
            is_summary=document.get("is_summary") is True,
            files=_objects(document.get("files")),
            links=_objects(document.get("links")),
            extra=copied({key: value for key, value in document.items() if key not in _KNOWN}),
        )

    def to_dict(self) -> JsonObject:
        """The JSON object to write, without the fields that are not set."""
        content = (
            self.content if isinstance(self.content, str) else [copied(p) for p in self.content]
        )
        document: JsonObject = {"id": self.id, "role": self.role, "content": content}
        for name in _WRITTEN_WHEN_SET:
            if value := getattr(self, name):
                document[name] = value
        for name in ("files", "links"):
            if entries := getattr(self, name):
                document[name] = [copied(entry) for entry in entries]
        if self.extra:
            document.update(copied(self.extra))
        return document

    @property
    def parts(self) -> tuple[Part, ...]:
        """The content as parts; plain text is one text part, empty text is none."""
        if not isinstance(self.content, str):
            return self.content
        return ({"type": "text", "text": self.content},) if self.content else ()

    @property
    def text(self) -> str:
        """Its text parts, joined by a newline."""
        if isinstance(self.content, str):
            return self.content
        return "\n".join(
            text_in(part.get("text")) for part in self.content if part.get("type") == "text"
        )

    @property
    def is_complete(self) -> bool:
        """True unless the message is still being written, or has failed."""
        return not (self.generating or self.error or self.error_code)

    @property
    def is_extracted(self) -> bool:
        """True for a notice of the program that only quotes passages: never sent to a model."""
        return self.extra is not _NOTHING and self.extra.get(EXTRACTED) is True

    def with_content(self, content: str | Iterable[Part]) -> "Message":
        """The message with other content."""
        return replace(self, content=content if isinstance(content, str) else tuple(content))


def messages_of(document: Mapping[str, Any]) -> tuple[Message, ...]:
    """The messages of a chat document, in order; entries that are not objects are skipped."""
    entries = document.get("messages")
    if not isinstance(entries, list):
        return ()
    return tuple(
        Message.from_dict(entry, position=position)
        for position, entry in enumerate(entries)
        if isinstance(entry, Mapping)
    )


def without_notices(messages: Sequence[Message]) -> tuple[Message, ...]:
    """The messages that are not notices of the program; the same tuple if there are none."""
    if True not in [message.is_extracted for message in messages if message.extra]:  # rare
        return tuple(messages)
    return tuple([message for message in messages if not message.is_extracted])


def give_ids(document: JsonObject) -> None:
    """Store derived ids in the document; call it before a change that would alter them."""
    entries = document.get("messages")
    entries = document["messages"] = entries if isinstance(entries, list) else []
    objects = [entry for entry in entries if isinstance(entry, dict)]
    for entry, message in zip(objects, messages_of(document), strict=True):
        entry["id"] = message.id


def derived_id(position: int, role: str, content: str | Sequence[Part]) -> MessageId:
    """A stable id for a message without one, derived from its position and content."""
    digest = hashlib.sha256(f"{position}\0{role}\0{content!r}".encode())
    return MessageId(f"m{digest.hexdigest()[:12]}")


def copied(entry: Mapping[str, Any]) -> JsonObject:
    """A deep copy of a JSON object."""
    copy = dict(entry)
    if _SIMPLE.issuperset(map(type, copy.values())):  # most parts are text
        return copy
    waiting: list[Any] = [copy]
    for holder in waiting:
        for place, value in holder.items() if type(holder) is dict else enumerate(holder):
            if type(value) in _SIMPLE:
                continue
            if type(value) is dict or isinstance(value, Mapping):
                holder[place] = dict(value)
                waiting.append(holder[place])
            elif isinstance(value, list | tuple):
                holder[place] = list(value)
                waiting.append(holder[place])
    return copy


def _content_of(value: object) -> str | tuple[Part, ...]:
    if isinstance(value, str):
        return value
    if isinstance(value, list | tuple):
        return tuple(
            copied(part) if isinstance(part, Mapping) else {"type": "text", "text": str(part)}
            for part in value
        )
    return "" if value is None else str(value)


def instructions_in(document: Mapping[str, Any]) -> str:
    """The instructions that a chat's document has; empty for none."""
    return text_in(document.get(INSTRUCTIONS)).strip()


def _code(value: object) -> int | str:
    return value if isinstance(value, int | str) and not isinstance(value, bool) else 0


def _objects(value: object) -> tuple[Mapping[str, Any], ...]:
    return (
        tuple(copied(entry) for entry in value[:MOST_ATTACHED] if isinstance(entry, Mapping))
        if isinstance(value, list | tuple)
        else ()
    )


class Arrived(NamedTuple):
    """The part of an answer that has arrived: its message, its text after the steps, the steps."""

    message_id: MessageId
    text: str
    steps: tuple[Part, ...] = ()


SUMMARIZES = "summarizes"
"""The key of the ids of the messages that a summary replaces."""

TOPICS = "topics"
"""The key of the labels of a summary's topics, for people."""


def topic_summary(
    message_id: MessageId,
    text: str,
    *,
    summarizes: Sequence[MessageId],
    topics: Sequence[str],
    created_at: str,
) -> Message:
    """A summary that replaces just these messages of a topic (docs/history.md).

    A chat may have any number of them. A summary of all messages up to a boundary is a compaction
    (`compaction.py`).
    """
    return Message(
        id=message_id,
        role="system",
        content=text,
        created_at=created_at,
        is_summary=True,
        extra={SUMMARIZES: list(summarizes), TOPICS: list(topics)},
    )


def summarized_by(message: Message) -> tuple[MessageId, ...]:
    """The messages that a summary of a topic replaces; none for any other message."""
    named = message.extra.get(SUMMARIZES) if message.is_summary else None
    ids = named if isinstance(named, list | tuple) else ()
    return tuple(MessageId(each) for each in ids if isinstance(each, str))


def standing_for(messages: Sequence[Message]) -> Mapping[MessageId, Message]:
    """The messages that a summary of their topic replaces, each with that summary.

    A summary that failed replaces nothing. If two name a message, the later one counts.
    """
    summaries = [message for message in messages if message.is_summary]
    named = [(summary, ids) for summary in summaries if (ids := summarized_by(summary))]
    if not named:
        return {}
    known = {message.id for message in messages}
    return {
        message_id: summary
        for summary, ids in named
        if summary.is_complete and summary.role != "tool"
        for message_id in ids
        if message_id in known and message_id != summary.id
    }

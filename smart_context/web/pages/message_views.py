"""What a page shows of a chat's messages: which of them, and each as safe HTML."""

import json
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from smart_context.chat.messages import Message, MessageId, Part
from smart_context.web.pages.attached_views import AttachedView, attached_views
from smart_context.web.pages.markdown import visible
from smart_context.web.pages.summary_views import SummaryView, summary_view

PAGE_MESSAGES = 80
"""How many messages a page opens with, and how many each scroll upwards adds."""

MAX_PAGE_MESSAGES = 400
"""The most that one request gets, whatever it asks for."""

_SPEAKERS = {"user": "You", "assistant": "Assistant", "system": "Instruction", "tool": "Tool"}
_LEAD_IN = 3
"""How many messages are shown before the one that a link points at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """A run of a chat's messages.

    Attributes:
        messages: Oldest first.
        older: How many there are before them.
        newer: How many there are after them.
    """

    messages: tuple[Message, ...]
    older: int
    newer: int

    @property
    def is_newest(self) -> bool:
        """Nothing comes after it, so new messages may be added to it."""
        return not self.newer


def newest(messages: Sequence[Message], limit: int = PAGE_MESSAGES) -> Window:
    """The last messages of a chat."""
    return _window(messages, len(messages) - limit, len(messages))


def before(messages: Sequence[Message], message_id: str, limit: int = PAGE_MESSAGES) -> Window:
    """The messages just before one; those before the end if there is no such message."""
    end = _position(messages, message_id, default=len(messages))
    return _window(messages, end - limit, end)


def since(messages: Sequence[Message], message_id: str) -> Window:
    """A message and all after it, at most `MAX_PAGE_MESSAGES`, the newest kept."""
    start = _position(messages, message_id, default=len(messages) - PAGE_MESSAGES)
    return _window(messages, max(start, len(messages) - MAX_PAGE_MESSAGES), len(messages))


def around(messages: Sequence[Message], message_id: str) -> Window:
    """A message with a little before it and what comes after, to the end if that is not far."""
    start = max(0, _position(messages, message_id, default=len(messages)) - _LEAD_IN)
    left = len(messages) - start
    if left <= PAGE_MESSAGES:
        return newest(messages)
    end = len(messages) if left <= MAX_PAGE_MESSAGES else start + PAGE_MESSAGES
    return _window(messages, start, end)


def chosen(messages: Sequence[Message], message_ids: Sequence[str]) -> Window:
    """Those of the given ids that exist, in the chat's order."""
    wanted = set(message_ids[:MAX_PAGE_MESSAGES])
    return Window(messages=tuple(m for m in messages if m.id in wanted), older=0, newer=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class PartView:
    """One piece of a message.

    Attributes:
        kind: `text`, `image`, `info`, `reasoning` or `tool_call`; anything else is left out.
        html: What to show, safe.
        title: One line that stands for it when it is folded.
    """

    kind: str
    html: Markup
    title: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageView:
    """One message as the page shows it.

    Attributes:
        id: Names the message within its chat.
        role: Who spoke, as stored.
        speaker: Who spoke, for people.
        parts: What was said, in order.
        version: Changes when anything that is shown changes.
        error: Why the answer failed; empty when it did not.
        is_generating: The answer is still being written.
        summary: What is told of the older messages that it stands for; `None` if it is no summary.
        created_at: ISO 8601; empty when unknown.
        attached: Its files and links.
    """

    id: MessageId
    role: str
    speaker: str
    parts: tuple[PartView, ...]
    version: str
    error: str
    is_generating: bool
    summary: SummaryView | None
    created_at: str
    attached: tuple[AttachedView, ...]


def message_view(message: Message, render: Callable[[str], str]) -> MessageView:
    """A message ready for the template.

    Args:
        message: As it is stored.
        render: Markdown to safe HTML.
    """
    summary, said = summary_view(message) if message.is_summary else (None, message)
    parts = (_part_view(part, render) for part in said.parts)
    return MessageView(
        id=message.id,
        role=message.role,
        speaker=_SPEAKERS[message.role],
        parts=tuple(part for part in parts if part is not None),
        version=version(message),
        error=visible(message.error),
        is_generating=message.generating,
        summary=summary,
        created_at=message.created_at,
        attached=attached_views(message),
    )


def version(message: Message) -> str:
    """A short mark that changes with what the message shows."""
    attached = (message.files, message.links)
    shown = (message.role, message.content, message.generating, message.error, *attached)
    return f"{_checksum(repr(shown)):08x}"


def digest(messages: Sequence[Message]) -> str:
    """A short mark that changes when any of these messages changes; cheap for ten thousand."""
    mark = 0
    for message in messages:
        mark = zlib.crc32(f"{message.id}\0{message.text}".encode(errors="replace"), mark)
    return f"{mark:08x}"


def _checksum(text: str) -> int:
    return zlib.crc32(text.encode(errors="replace"))


def _position(messages: Sequence[Message], message_id: str, *, default: int) -> int:
    return next((i for i, message in enumerate(messages) if message.id == message_id), default)


def _window(messages: Sequence[Message], start: int, end: int) -> Window:
    start = max(0, start)
    return Window(messages=tuple(messages[start:end]), older=start, newer=len(messages) - end)


def _part_view(part: Part, render: Callable[[str], str]) -> PartView | None:
    kind = str(part.get("type"))
    text = part.get("text")
    if kind in {"text", "info", "reasoning"} and isinstance(text, str):
        return PartView(kind=kind, html=Markup(render(text)))  # noqa: S704  # sanitised
    if kind == "image":
        return PartView(kind=kind, html=Markup(), title=visible(str(part.get("storage_key", ""))))
    if kind == "tool_call":
        return PartView(kind=kind, html=_tool_call(part), title=_tool_title(part))
    return None


def _tool_title(part: Part) -> str:
    state = {"call": "called", "result": "answered", "error": "failed"}
    name = visible(str(part.get("tool_name") or "Tool"))
    return f"{name} {state.get(str(part.get('state')), 'called')}"


def _tool_call(part: Mapping[str, object]) -> Markup:
    shown = "\n\n".join(
        f"{name}: {_plain(part[name])}" for name in ("args", "result") if part.get(name)
    )
    return Markup("<pre>{}</pre>").format(visible(shown))


def _plain(value: object) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, indent=2, default=str)

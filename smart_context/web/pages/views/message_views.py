"""A chat's messages in the form for pages, with safe HTML, and the reasons of failed answers."""

import json
import re
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from markupsafe import Markup

from smart_context.base.text.scores import counted
from smart_context.chat.compaction import boundary_of, is_clearing, newest_summary
from smart_context.chat.files.attached_file import is_safe_address
from smart_context.chat.messages import (
    TOPICS,
    Message,
    MessageId,
    Part,
    standing_for,
    summarized_by,
)
from smart_context.web.pages.markup.footnotes import with_ids
from smart_context.web.pages.markup.markdown import visible

SHOWN_IMAGES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
"""Types of images that a page may show; other files can only be downloaded."""

_KEY = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True, kw_only=True)
class AttachedView:
    """A file or a link of a message, as a chip."""

    kind: Literal["file", "image", "link"]  # file, image or link
    name: str
    address: str  # its address; empty if that is not safe


def attached_views(message: Message) -> tuple[AttachedView, ...]:
    """The chips of a message: files, then links; files and links without a name are left out."""
    return (
        *(_file(entry) for entry in message.files if _name(entry)),
        *(_link(entry) for entry in message.links if _name(entry)),
    )


def _file(entry: Mapping[str, Any]) -> AttachedView:
    key = str(entry.get("storage_key", ""))
    address = f"/api/files/{key}" if _KEY.fullmatch(key) else ""
    is_image = bool(address) and str(entry.get("file_type")) in SHOWN_IMAGES
    return AttachedView(kind="image" if is_image else "file", name=_name(entry), address=address)


def _link(entry: Mapping[str, Any]) -> AttachedView:
    url = str(entry.get("url", ""))
    address = url if is_safe_address(url) else ""
    return AttachedView(kind="link", name=_name(entry), address=address)


def _name(entry: Mapping[str, Any]) -> str:
    names = (entry.get(key) for key in ("name", "title", "url", "id"))
    return visible(str(next((name for name in names if name), "")))


_HEADLINE = re.compile(r"\*(Summary of [^\n,]+)(?:, ([^\n]+?))?\.\*\s*\n")
"""The first line of the product's summaries: their extent and their author."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryView:
    """A summary as a card."""

    title: str  # its extent or its topics
    by: str = ""  # its author or method; empty if unknown
    is_cleared: bool = False  # it replaces messages that are no longer sent in any form
    # the messages that it replaces; empty if it replaces all before it
    summarizes: tuple[MessageId, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionView:
    """The summaries in use, as they apply to some messages of a chat."""

    # the id of the summary of all messages before it; empty if there is none
    summary: str = ""
    boundary: str = ""  # the id of the last message that it replaces
    count: int = 0  # number of those messages that it replaces, from the first on
    behind: frozenset[MessageId] = frozenset()  # the messages behind a summary of their topic
    of_topics: frozenset[MessageId] = frozenset()  # the ids of these summaries

    def covers(self, place: int, message: Message) -> bool:
        """True if a summary replaces the shown message at this place."""
        return place < self.count or message.id in self.behind


def summary_view(message: Message) -> tuple[SummaryView, Message]:
    """A summary's card, and the summary without the text that the card shows."""
    if is_clearing(message):
        return SummaryView(title="Context cleared here", is_cleared=True), message
    found = _HEADLINE.match(message.text)
    rest = message.with_content(message.text[found.end() :].lstrip("\n")) if found else message
    by = found[2] or "" if found else ""
    if ids := summarized_by(message):
        named = message.extra.get(TOPICS)
        labels = ", ".join(map(str, named if isinstance(named, list | tuple) else ()))
        title = f"Summary of {labels or 'a topic'} · {counted(len(ids), 'message')}"
        return SummaryView(title=title, by=by, summarizes=ids), rest
    title = found[1] if found else "Summary of the messages above"
    return SummaryView(title=title, by=by), rest


def compaction_view(messages: Sequence[Message], shown: Sequence[Message]) -> CompactionView:
    """The compaction in use, as it applies to some messages of a chat.

    Args:
        messages: All of the chat.
        shown: A part of them, in the same order.
    """
    standing = standing_for(messages)
    of_topics = frozenset(each.id for each in standing.values())
    summary = newest_summary(messages)
    if summary is None:
        return CompactionView(behind=frozenset(standing), of_topics=of_topics)
    boundary = boundary_of(summary)
    compacted: set[str] = set()
    for message in messages:
        compacted.add(message.id)
        if message.id == boundary:
            break
    count = sum(message.id in compacted for message in shown)
    return CompactionView(
        summary=summary.id,
        boundary=boundary,
        count=count,
        behind=frozenset(standing),
        of_topics=of_topics,
    )


_ADDRESS = re.compile(r" at https?://\S+(?= )")
_SENTENCE = re.compile(r"(.+?)(?:[.!?]\s|:\s|[.!?:]?$)", re.DOTALL)
_TOO_LONG = re.compile(r"Too long for this model[^.]*\. Pick a topic")
"""A failure whose headline also says what to do first."""

_WAIT = re.compile(r"Wait (\d{1,4}) s, then try again")
FOR_THE_PAGE = (
    (re.compile(r"refused the request with status 401\b"), "did not accept the key (401)"),
    (re.compile(r"refused the request with status 429\b"), "takes no more requests now (429)"),
    (re.compile(r"refused the request with status (\d+)"), r"refused the request (\1)"),
    (
        re.compile(r", or put it into an environment variable [^.]* table of \.vault\.toml"),
        "",
    ),
    (re.compile(r" or with: smart-context models add"), "."),
    (re.compile(r"base_url"), "the address under Settings"),
    (re.compile(r"timeout_s"), "the longest wait under Settings"),
    (re.compile(r" in (?:the \[llm(?:\.categories)?\] table of )?\.vault\.toml"), ""),
    (
        re.compile(r"^this chat is still being answered; stop that first, or wait"),
        "This chat is still being answered. Stop that first, or wait.",
    ),
)
"""Names of files and commands in messages, with words for people who only have a page.

`static/lib/text.js` has the same.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureView:
    """A failure."""

    headline: str  # the problem in one sentence without addresses
    details: str  # the whole text; empty if the headline says all
    wait_s: int  # seconds after which to try again; 0 if that is not known
    is_too_long: bool  # the request was longer than the model takes, and less can be sent


def failure_view(error: str) -> FailureView:
    """A failure from its text."""
    text = error.strip()
    for words, plain in FOR_THE_PAGE:
        text = words.sub(plain, text)
    too_long = _TOO_LONG.match(text)
    found = too_long or _SENTENCE.match(_ADDRESS.sub("", text, count=1))
    first = found.group(found.lastindex or 0).strip() if found else "This answer failed"
    headline = f"{first}."
    wait = _WAIT.search(text)
    details = "" if text.rstrip(".") == headline.rstrip(".") else text
    return FailureView(
        headline=headline,
        details=details,
        wait_s=int(wait.group(1)) if wait else 0,
        is_too_long=too_long is not None,
    )


_SOURCE = re.compile(r"^\*\*(\d)\.\*\* `([^`\[\]|\n]+\.md(?:#[^`\[\]|\n]*)?)`$", re.MULTILINE)
"""The heading of a quoted note in an answer without a model."""

_EARLIER = re.compile(
    r"^\*\*(\d)\.\*\* `(earlier in this chat: (?:your message|an answer))`$", re.MULTILINE
)
"""The heading of a quoted message in such an answer."""

_NO_MODEL = re.compile(
    r"^No chat model is configured[^\n]*?`\.vault\.toml`\.\s*(Closest passages from (.+?):)?"
)
"""The beginning of such an answer; the page has a button instead of the file's name."""

SPEAKERS = {"user": "You", "assistant": "Assistant", "system": "Instruction", "tool": "Tool"}
"""The speakers' names on the page, by role."""

_NOTICE = "Notice"


@dataclass(frozen=True, slots=True, kw_only=True)
class PieceView:
    """One piece of a message."""

    kind: str  # `text`, `image`, `info`, `reasoning` or `tool_call`; anything else is left out
    html: Markup  # the content, as safe HTML
    title: str = ""  # the line shown while it is folded


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageView:
    """One message as the page shows it."""

    id: MessageId  # names the message within its chat
    role: str  # the speaker, as stored
    speaker: str  # the speaker's name on the page
    parts: tuple[PieceView, ...]  # the pieces, in order
    version: str  # changes when anything shown changes
    error: str  # the reason of a failed answer; empty if it did not fail
    is_generating: bool  # the answer is still being written
    is_extracted: bool  # a notice of the program that quotes notes and the chat; no model wrote it
    # the reason for an answer cut in the middle: the user stopped it, or it reached its limit
    ending: str
    is_notice: bool  # it only says why there is no answer
    summary: SummaryView | None  # the card of a summary; `None` for other messages
    created_at: str  # ISO 8601; empty when unknown
    attached: tuple[AttachedView, ...]  # its files and links

    @property
    def failure(self) -> FailureView:
        """The error, as the page shows it."""
        return failure_view(self.error)


def message_view(message: Message, render: Callable[[str], str]) -> MessageView:
    """A message, ready for the template."""
    summary, said = summary_view(message) if message.is_summary else (None, message)
    shown = _with_links(render) if message.is_extracted else render
    parts = (
        _part_view(part, shown, f"{message.id}-{place}") for place, part in enumerate(said.parts)
    )
    return MessageView(
        id=message.id,
        role=message.role,
        speaker=_speaker(message),
        parts=tuple(part for part in parts if part is not None),
        version=version(message),
        error=visible(message.error),
        is_generating=message.generating,
        is_extracted=message.is_extracted,
        ending=_ending(message),
        is_notice=is_notice(message),
        summary=summary,
        created_at=message.created_at,
        attached=attached_views(message),
    )


def _ending(message: Message) -> str:
    marks = {
        "stopped": "" if is_notice(message) else "Stopped",  # the notice says it
        "cut_off": "Cut off: the answer is as long as the model may write",
        "filtered": "Cut off: a content filter of the provider ended the answer",
    }
    return next((words for mark, words in marks.items() if message.extra.get(mark) is True), "")


def _speaker(message: Message) -> str:
    """The speaker: the program for quotes without a model, and for notices without an answer."""
    return _NOTICE if message.is_extracted or is_notice(message) else SPEAKERS[message.role]


def _with_links(render: Callable[[str], str]) -> Callable[[str], str]:
    """Renders quotes whose sources are links to their notes, in words for the page."""

    def shown(text: str) -> str:
        linked = _SOURCE.sub(r"**\1.** [[\2]]", _NO_MODEL.sub(_without_a_model, text))
        return render(_EARLIER.sub(r"**\1.** *\2*", linked))

    return shown


def _without_a_model(opening: re.Match[str]) -> str:
    where = opening[2]
    quotes = f", so here are the closest passages from {where}:" if where else ". "
    return f"No model was connected{quotes}"


def is_notice(message: Message) -> bool:
    """True if a message only gives the reason for a missing answer, such as a stopped one."""
    return {part.get("type") for part in message.parts} == {"info"}


def version(message: Message) -> str:
    """A short digest of the content that a message shows."""
    attached = (message.files, message.links)
    ending = _ending(message)
    shown = (message.role, message.content, message.generating, message.error, ending)
    return f"{_checksum(repr((*shown, *attached))):08x}"


def digest(messages: Sequence[Message]) -> str:
    """A short digest of these messages; cheap for ten thousand."""
    mark = 0
    for message in messages:
        mark = zlib.crc32(f"{message.id}\0{message.text}".encode(errors="replace"), mark)
    return f"{mark:08x}"


def _checksum(text: str) -> int:
    return zlib.crc32(text.encode(errors="replace"))


def _part_view(part: Part, render: Callable[[str], str], name: str) -> PieceView | None:
    kind = str(part.get("type"))
    text = part.get("text")
    if kind in {"text", "info", "reasoning"} and isinstance(text, str):
        made = with_ids(render(text), name)
        return PieceView(kind=kind, html=Markup(made))  # noqa: S704  # sanitised
    if kind == "image":
        return PieceView(kind=kind, html=Markup(), title=visible(str(part.get("storage_key", ""))))
    if kind == "tool_call":
        return PieceView(kind=kind, html=_tool_call(part), title=_tool_title(part))
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

"""The state of each message of a page: in context or not, and folded with its neighbours.

The page's script makes the same decisions when the filter changes (`highlight.js`, `folds.js`). A
page is sent with its decisions, so that nothing moves once it runs.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter

from starlette.datastructures import QueryParams

from smart_context.chat.messages import Message
from smart_context.topics.identity import Colour
from smart_context.web.pages.views.message_views import CompactionView, is_notice
from smart_context.web.pages.views.panel_view import PanelView

PAGE_MESSAGES = 80
"""Messages that a page opens with, and that each scroll upwards adds."""

MAX_PAGE_MESSAGES = 400
"""Most messages of one request."""

_LEAD_IN = 3
"""Messages shown before the one that a link points to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageRun:
    """A run of a chat's messages."""

    messages: tuple[Message, ...]  # oldest first
    older: int  # number of messages before them
    newer: int  # number of messages after them

    @property
    def is_newest(self) -> bool:
        """True if no messages follow, so new ones may be added."""
        return not self.newer


def window_asked_for(messages: Sequence[Message], asked: QueryParams) -> MessageRun:
    """The messages that an address asks for.

    `ids` gives these messages, in the chat's order, as far as they exist. `before` and `after` give
    a page on that side of a message, or of the chat's end if it is missing; `since` a message and
    all after it; `at` a message with a few before it, to the end if that is near. The default is
    the last page.
    """
    count, size = len(messages), _limit(asked.get("limit", ""))
    if asked.get("ids"):
        wanted = set(_ids(asked.getlist("ids"))[:MAX_PAGE_MESSAGES])
        chosen = tuple(message for message in messages if message.id in wanted)
        return MessageRun(messages=chosen, older=0, newer=0)
    side = next((name for name in ("before", "after", "since", "at") if asked.get(name)), "")
    wanted_id = asked.get(side, "")
    place = next((n for n, message in enumerate(messages) if message.id == wanted_id), count)
    start, end = _span(side, place, count, size)
    start, end = max(0, start), min(end, count)
    return MessageRun(messages=tuple(messages[start:end]), older=start, newer=count - end)


def _span(side: str, place: int, count: int, size: int) -> tuple[int, int]:
    """The bounds of the messages on a side of a place; may reach beyond all `count`."""
    match side:
        case "before":
            return place - size, place
        case "after":
            return place + 1, place + 1 + size
        case "since" if place < count:
            return max(place, count - MAX_PAGE_MESSAGES), count
        case "at" if count - max(0, place - _LEAD_IN) > PAGE_MESSAGES:
            start = max(0, place - _LEAD_IN)
            return start, count if count - start <= MAX_PAGE_MESSAGES else start + PAGE_MESSAGES
        case _:
            return count - (PAGE_MESSAGES if side else size), count


def _limit(text: str) -> int:
    digits = text if text.isascii() and text.isdecimal() else ""
    wanted = int(digits[:6] or PAGE_MESSAGES)  # reading many digits takes quadratic time
    return min(max(wanted, 1), MAX_PAGE_MESSAGES)


def _ids(values: Sequence[str]) -> list[str]:
    """Ids given one by one or joined by commas."""
    return [message_id for value in values for message_id in (value, *value.split(","))]


_ANSWERS_LOOKED_AT = 8
"""The number of last messages that are searched for an answer that is being written."""

_LAID_OUT = 40
"""The number of newest drawn messages that are laid out at once; others when they come near."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageState:
    """The state in which a page shows one message."""

    is_inside: bool = False  # it is known to be in context
    is_out: bool = False  # it is known to be out of context
    is_folded: bool = False  # one line stands for it and its neighbours that are out
    line: int = 0  # the number of messages that the line before it stands for; 0: there is none
    is_near_end: bool = False  # it is laid out at once
    # the colour of the picked topic that keeps it; `None` if there is none
    hue: Colour | None = None


def message_states(
    messages: Sequence[Message],
    panel: PanelView | None,
    compaction: CompactionView,
    *,
    folds: bool = True,
) -> list[MessageState]:
    """The state of each message of a window.

    Args:
        messages: The window, oldest first.
        panel: The plugin's panel, with the messages in context; `None` if it is turned off.
        compaction: The summaries in use, which replace messages of the window.
        folds: True if messages out of context may be folded.
    """
    inside = (panel.message_ids if panel else None) or frozenset()
    hues, only = _hues(panel) if panel else ({}, None)
    outs = _outs(messages, panel, compaction)
    folded = [False] * len(messages)
    if folds and not (panel and panel.state.get("fell_back")):
        folded = _folded(messages, outs, compaction)
    return [
        MessageState(
            is_inside=message.id in inside,
            is_out=outs[place],
            is_folded=folded[place],
            line=line,
            is_near_end=folded[place:].count(False) <= _LAID_OUT,
            hue=hues.get(message.id, only) if message.id in inside else None,
        )
        for place, (message, line) in enumerate(
            zip(messages, _lines(messages, folded), strict=True)
        )
    ]


def _outs(
    messages: Sequence[Message], panel: PanelView | None, compaction: CompactionView
) -> list[bool]:
    ids = panel.message_ids if panel else None
    choices = panel.state if panel else {}
    kept_anyway = {*choices.get("pinned", ()), *choices.get("sticky", ())}
    known = 0 if ids is None else _under_way(messages)
    outs = [
        message.id not in (ids or ())
        and (place < known or (compaction.covers(place, message) and message.id not in kept_anyway))
        for place, message in enumerate(messages)
    ]
    # Notices are never sent: they fold only if the filter folds messages, too.
    said = zip(outs[compaction.count :], messages[compaction.count :], strict=True)
    if any(
        is_out and not (message.is_extracted or message.id in compaction.behind)
        for is_out, message in said
    ):
        return outs
    return [
        is_out and (place < compaction.count or not messages[place].is_extracted)
        for place, is_out in enumerate(outs)
    ]


def _folded(
    messages: Sequence[Message], outs: Sequence[bool], compaction: CompactionView
) -> list[bool]:
    """For each message, True if it is folded; a notice goes with the question before it."""
    folded: list[bool] = []
    for place, (message, is_out) in enumerate(zip(messages, outs, strict=True)):
        is_compacted = compaction.covers(place, message)
        is_asked_for = message.is_extracted and message is messages[-1]
        stays = message.is_extracted and not (is_compacted or (folded and folded[-1]))
        may_fold = _may_fold(message, is_compacted=is_compacted) and not (is_asked_for or stays)
        folded.append(is_out and may_fold)
    return folded


def _may_fold(message: Message, *, is_compacted: bool) -> bool:
    """False for summaries, failed answers and notices, unless a summary replaces them."""
    is_needed = message.is_summary or message.error or is_notice(message)
    return not message.generating and (is_compacted or not is_needed)


def _lines(messages: Sequence[Message], folded: Sequence[bool]) -> list[int]:
    """For each message the length of the folded run that begins with it, else 0.

    Notices, which are never sent, count only in a run without messages.
    """
    lines: list[int] = []
    for is_folded, run in groupby(zip(folded, messages, strict=True), key=itemgetter(0)):
        said = [not message.is_extracted for _, message in run]
        count = sum(said) or len(said)
        lines += [count if is_folded else 0, *[0] * (len(said) - 1)]
    return lines


def _hues(panel: PanelView) -> tuple[dict[str, Colour], Colour | None]:
    """The hues of the topics that keep messages, by message, and the hue of all others."""
    picked = {topic.label: topic.hue for topic in panel.topics if topic.is_active}
    kept_by = panel.state.get("kept_by") or {}
    if not kept_by:
        return {}, next(iter(picked.values())) if len(picked) == 1 else None
    return {
        message_id: picked[label]
        for label, message_ids in kept_by.items()
        if label in picked
        for message_id in message_ids
    }, None


def _under_way(messages: Sequence[Message]) -> int:
    """The place of the question that is being answered; the end if none is.

    The plugin does not report an answer that is being written, and its question is always sent.
    """
    for place in range(len(messages) - 1, max(-1, len(messages) - 1 - _ANSWERS_LOOKED_AT), -1):
        if messages[place].generating:
            return place - 1 if place and messages[place - 1].role == "user" else place
    return len(messages)

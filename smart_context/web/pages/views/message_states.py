"""How each message of a page is shown: in context or not, and folded away with its neighbours.

The page's script decides the same when the filter changes (`highlight.js`, `folds.js`); a page is
sent with what it would decide, so that nothing moves once it runs.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from smart_context.chat.messages import Message
from smart_context.web.pages.views.panel_view import PanelView
from smart_context.web.pages.views.summary_views import CompactionView

_ANSWERS_LOOKED_AT = 8
"""An answer that is being written is among the last messages."""

_LAID_OUT = 40
"""The newest that are drawn are laid out at once, the others when they come near."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageState:
    """How a page shows one message.

    Attributes:
        is_inside: It is known to be in context.
        is_out: It is known not to be.
        is_folded: One line stands for it and its neighbours that are out.
        line: The number of messages that the line before it stands for; 0: there is none.
        is_near_end: It is laid out at once.
    """

    is_inside: bool = False
    is_out: bool = False
    is_folded: bool = False
    line: int = 0
    is_near_end: bool = False


def message_states(
    messages: Sequence[Message],
    panel: PanelView | None,
    compaction: CompactionView,
    *,
    folds: bool = True,
) -> list[MessageState]:
    """How to show each message of a window.

    Args:
        messages: The window, oldest first.
        panel: What the plugin says is in context; `None` if it is turned off.
        compaction: What a summary replaces of the window.
        folds: Messages that are out may be folded.
    """
    ids = panel.message_ids if panel is not None else None
    choices = panel.state if panel is not None else {}
    kept_anyway = {*choices.get("pinned", ()), *choices.get("sticky", ())}
    known = _under_way(messages)
    folds = folds and not choices.get("fell_back")

    def out(place: int, message: Message) -> bool:
        if ids is not None and message.id in ids:
            return False
        is_compacted = place < compaction.count and message.id not in kept_anyway
        return is_compacted or (ids is not None and place < known)

    def folded(place: int, message: Message) -> bool:
        if message.generating or not (folds and outs[place]):
            return False
        return place < compaction.count or not (message.is_summary or message.error)

    outs = [out(place, message) for place, message in enumerate(messages)]
    foldeds = [folded(place, message) for place, message in enumerate(messages)]
    lines = [
        size if is_folded and place == 0 else 0
        for is_folded, run in groupby(foldeds)
        for size in (len(list(run)),)
        for place in range(size)
    ]
    drawn = foldeds.count(False)
    states = []
    for message, is_out, is_folded, line in zip(messages, outs, foldeds, lines, strict=True):
        states.append(
            MessageState(
                is_inside=ids is not None and message.id in ids,
                is_out=is_out,
                is_folded=is_folded,
                line=line,
                is_near_end=drawn <= _LAID_OUT,
            )
        )
        drawn -= not is_folded
    return states


def _under_way(messages: Sequence[Message]) -> int:
    """The place of the question that is being answered; the end if none is.

    The plugin says nothing of an answer that is being written, and its question is sent anyway.
    """
    for place in range(len(messages) - 1, max(-1, len(messages) - 1 - _ANSWERS_LOOKED_AT), -1):
        if messages[place].generating:
            return place - 1 if place and messages[place - 1].role == "user" else place
    return len(messages)

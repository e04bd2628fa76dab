"""What the Smart Context panel shows, from what the plugin's commands say (contract A9, A11)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

HUES = 12
"""How many hues there are; `tokens.css` names each."""

_HUE_STEP = 5
"""To the next free hue; has no common factor with `HUES`, so every hue is reached."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicView:
    """A bubble.

    Attributes:
        label: What the topic is called, as the model wrote it.
        count: How many messages are about it; 0 for a topic that is gone.
        is_active: It is picked.
        hue: Which of the `HUES` it wears.
    """

    label: str
    count: int
    is_active: bool
    hue: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PanelView:
    """The panel of one chat.

    Attributes:
        topics: The bubbles, in the order of the extraction.
        gone: Picked topics that the chat no longer has.
        sticky_count: How many messages are standing instructions.
        is_on: Whether picking topics narrows the history.
        status: The plugin's status line; empty while it is not known.
        message_ids: In context now; `None` when it is not known yet.
        state: The plugin's own words, for the page's script to go on from.
    """

    topics: tuple[TopicView, ...]
    gone: tuple[TopicView, ...]
    sticky_count: int
    is_on: bool
    status: str
    message_ids: frozenset[str] | None
    state: Mapping[str, Any]

    @property
    def short_status(self) -> str:
        """The status for where there is little room: `5 of 14`."""
        if self.status.startswith("No message"):
            return "No match"
        return self.status.partition(" messages in context")[0]


def panel_view(state: Mapping[str, Any]) -> PanelView:
    """The panel from the result of `get_topics`, with what `set_filter` returns if it is known."""
    stored = [topic for topic in state.get("topics", ()) if isinstance(topic, Mapping)]
    counts = {str(t["label"]): int(t.get("count", 0)) for t in stored if not t.get("sticky")}
    active = tuple(str(label) for label in state.get("active_topics") or ())
    labels = (*counts, *(label for label in active if label not in counts))
    hues = hues_of(labels)
    views = {
        label: TopicView(
            label=label, count=counts.get(label, 0), is_active=label in active, hue=hues[label]
        )
        for label in labels
    }
    message_ids = state.get("message_ids")
    return PanelView(
        topics=tuple(view for label, view in views.items() if label in counts),
        gone=tuple(view for label, view in views.items() if label not in counts),
        sticky_count=_sticky_count(stored),
        is_on=state.get("embedding_search") is not False,
        status=str(state.get("status") or ""),
        message_ids=None if message_ids is None else frozenset(message_ids),
        state=state,
    )


def hues_of(labels: Sequence[str]) -> dict[str, int]:
    """A hue for each label: its own, or the next free one when another label has it already.

    The page's script computes the same (`static/cloud/hues.js`), so a bubble keeps its colour.
    """
    hues: dict[str, int] = {}
    for label in sorted(labels):
        hue = fnv1a(label) % HUES
        taken = set(hues.values())
        while hue in taken and len(taken) < HUES:
            hue = (hue + _HUE_STEP) % HUES
        hues[label] = hue
    return hues


def fnv1a(text: str) -> int:
    """A 32-bit hash of the text's UTF-8, the same in every program and on every day."""
    mark = 0x811C9DC5
    for byte in text.encode(errors="replace"):
        mark = ((mark ^ byte) * 0x01000193) & 0xFFFFFFFF
    return mark


def messages_counted(count: int) -> str:
    """`1 message`, `4 messages`."""
    return "1 message" if count == 1 else f"{count} messages"


def _sticky_count(topics: Sequence[Mapping[str, Any]]) -> int:
    return sum(
        len(topic.get("message_ids") or ()) or int(topic.get("count", 0))
        for topic in topics
        if topic.get("sticky")
    )

"""The Smart Context panel as pages show it, from the plugin's results."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from smart_context.topics.identity import hue_of, new_id


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicView:
    """A bubble.

    Attributes:
        id: Stays when the topic is renamed.
        label: The topic's name.
        count: Number of messages about it; 0 for a topic that is gone.
        is_active: It is picked.
        hue: The number of its colour in `tokens.css`.
    """

    id: str
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
        sticky_count: Number of messages with standing instructions.
        is_on: Picking topics narrows the history.
        status: The plugin's status line; empty while unknown.
        message_ids: The messages in context now; `None` while unknown.
        state: The plugin's result, for the page's script.
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
        """A short form of the status: `5 of 14`."""
        if self.status.startswith("No message"):
            return "No match"
        return self.status.partition(" messages in context")[0]


def panel_view(state: Mapping[str, Any]) -> PanelView:
    """The panel from the result of `get_topics`."""
    stored = [topic for topic in state.get("topics", ()) if isinstance(topic, Mapping)]
    picked = state.get("active_topics") or ()
    named = [
        topic
        for topic in stored
        if not topic.get("sticky") and (not topic.get("parent_id") or topic["label"] in picked)
    ]
    counts = {str(topic["label"]): int(topic.get("count", 0)) for topic in named}
    ids = {str(topic["label"]): str(topic["id"]) for topic in named if topic.get("id")}
    active = tuple(str(label) for label in state.get("active_topics") or ())
    labels = (*counts, *(label for label in active if label not in counts))
    views = {
        label: TopicView(
            id=topic_id,
            label=label,
            count=counts.get(label, 0),
            is_active=label in active,
            hue=hue_of(topic_id),
        )
        for label in labels
        for topic_id in (ids.get(label) or new_id(label, ()),)
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


def messages_counted(count: int) -> str:
    """`1 message`, `4 messages`."""
    return "1 message" if count == 1 else f"{count} messages"


def _sticky_count(topics: Sequence[Mapping[str, Any]]) -> int:
    return sum(
        len(topic.get("message_ids") or ()) or int(topic.get("count", 0))
        for topic in topics
        if topic.get("sticky")
    )

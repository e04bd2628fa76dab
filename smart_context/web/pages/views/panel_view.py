"""The Smart Context panel as pages show it, from the plugin's results."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from smart_context.base.results import PanelResult, TopicResult
from smart_context.topics.identity import Colour, colours_of, hue_of, new_topic_id


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicView:
    """A bubble.

    Attributes:
        id: Stays when the topic is renamed.
        count: Number of messages about it; 0 for a topic that is gone.
        is_active: It is picked.
        hue: Its colour in `tokens.css`.
    """

    id: str
    label: str
    count: int
    is_active: bool
    hue: Colour


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


def panel_view(found: PanelResult) -> PanelView:
    """The panel from what the plugin gives."""
    topics, gone = bubbles(found["topics"], found["active_topics"])
    return PanelView(
        topics=topics,
        gone=gone,
        sticky_count=_sticky_count(found["topics"]),
        is_on=found["embedding_search"],
        status=found["status"],
        message_ids=frozenset(found["message_ids"]),
        state=found,
    )


def early_panel(stored: Sequence[TopicResult], *, problem: str = "") -> PanelView:
    """The panel while the plugin has not answered yet, or has failed.

    Args:
        stored: The topics in the chat's file.
    """
    topics, _ = bubbles(stored, ())
    return PanelView(
        topics=topics,
        gone=(),
        sticky_count=_sticky_count(stored),
        is_on=True,
        status="",
        message_ids=None,
        state={"topics": stored, **({"problem": problem} if problem else {})},
    )


def bubbles(
    stored: Sequence[TopicResult], picked: Sequence[str]
) -> tuple[tuple[TopicView, ...], tuple[TopicView, ...]]:
    """The bubbles of topics, and of those that are picked and gone."""
    shown = {
        topic["label"]: topic
        for topic in stored
        if not topic.get("sticky") and (not topic.get("parent_id") or topic["label"] in picked)
    }
    colours = colours_of(
        (topic["id"], topic.get("parent_id", "")) for topic in stored if not topic.get("sticky")
    )
    views = [
        TopicView(
            id=topic["id"],
            label=label,
            count=topic["count"],
            is_active=label in picked,
            hue=colours[topic["id"]],
        )
        for label, topic in shown.items()
    ]
    gone = [
        TopicView(id=topic_id, label=label, count=0, is_active=True, hue=hue_of(topic_id))
        for label in picked
        if label not in shown
        for topic_id in (new_topic_id(label, ()),)
    ]
    return tuple(views), tuple(gone)


def _sticky_count(topics: Sequence[TopicResult]) -> int:
    return sum(topic["count"] for topic in topics if topic.get("sticky"))

"""The Smart Context panel as pages show it, from the plugin's results."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from smart_context.base.results import PanelResult, TopicResult
from smart_context.topics.identity import Colour, colours_of, hue_of, new_topic_id

MOST_IDS = 2_000
"""The most messages whose ids are part of a page; its script fetches the others later."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicView:
    """A bubble."""

    id: str  # stays when the topic is renamed
    label: str
    count: int  # number of messages about it; 0 for a topic that is gone
    is_active: bool  # it is picked
    hue: Colour  # its colour in `tokens.css`


@dataclass(frozen=True, slots=True, kw_only=True)
class PanelView:
    """The panel of one chat."""

    topics: tuple[TopicView, ...]  # the bubbles, in the order of the extraction
    gone: tuple[TopicView, ...]  # picked topics that the chat no longer has
    sticky_count: int  # number of messages with standing instructions
    is_on: bool  # picking topics narrows the history
    status: str  # the plugin's status line; empty while unknown
    short_status: str  # the same for narrow places
    message_ids: frozenset[str] | None  # the messages in context now; `None` while unknown
    state: Mapping[str, Any]  # the plugin's result, for the page's script


def panel_view(found: PanelResult) -> PanelView:
    """The panel from the plugin's result."""
    topics, gone = bubbles(found["topics"], found["active_topics"])
    left_out = {"message_ids", "kept_by"} if len(found["message_ids"]) > MOST_IDS else set()
    return PanelView(
        topics=topics,
        gone=gone,
        sticky_count=_sticky_count(found["topics"]),
        is_on=found["embedding_search"],
        status=found["status"],
        short_status=found["short_status"],
        message_ids=frozenset(found["message_ids"]),
        state={key: value for key, value in found.items() if key not in left_out},
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
        short_status="",
        message_ids=None,
        state={"topics": stored, **({"problem": problem} if problem else {})},
    )


def bubbles(
    stored: Sequence[TopicResult], picked: Sequence[str]
) -> tuple[tuple[TopicView, ...], tuple[TopicView, ...]]:
    """The bubbles of topics, and of picked topics that no longer exist."""
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
        for topic_id in (new_topic_id(label),)
    ]
    return tuple(views), tuple(gone)


def _sticky_count(topics: Sequence[TopicResult]) -> int:
    return sum(topic["count"] for topic in topics if topic.get("sticky"))

"""What the plugin tells clients about a chat: the results of its commands and its events."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from smart_context.plugin.selection.selector import ChatView, Decision
from smart_context.plugin.selection.status_line import status_line
from smart_context.relevance.reasons import KINDS, ReasonKind
from smart_context.values import JsonObject


def filter_view(view: ChatView, decision: Decision) -> JsonObject:
    """The result of `set_filter`, which `filter_changed` carries too.

    It has all that the page shows: the status line, the pins, the hidden, the standing
    instructions, the topic that keeps each message, the role, and a problem in words.
    """
    state = view.sidecar.state
    sticky = view.sticky_ids
    return {
        "active_topics": list(state.active_topics),
        "message_ids": [message.id for message in decision.messages],
        "total_messages": len(view.messages),
        "fell_back": decision.selection.fell_back,
        "status": status_line(view, decision),
        "problem": decision.problem,
        "threshold": decision.selection.reasons.threshold,
        "threshold_is_own": state.threshold is not None,
        "pinned": list(state.pinned),
        "hidden": list(state.hidden),
        "sticky": [m.id for m in view.messages if m.id in sticky],
        "kept_by": _kept_by(decision),
        "role": state.role,
    }


def topics_view(view: ChatView, *, is_searching: bool) -> JsonObject:
    """What `get_topics` returns (contract A9)."""
    return {
        "topics": public_topics(view.topics),
        "active_topics": list(view.sidecar.state.active_topics),
        "embedding_search": is_searching,
        "total_messages": len(view.messages),
    }


def public_topics(topics: Sequence[Mapping[str, Any]]) -> list[JsonObject]:
    """The topics of a chat file, those that are well formed."""
    return [dict(topic) for topic in topics if isinstance(topic.get("label"), str)]


def _kept_by(decision: Decision) -> dict[str, list[str]]:
    """The topics, each with the messages that it keeps."""
    reasons = decision.selection.reasons
    if reasons.found is None or decision.selection.fell_back:
        return {}
    kept: dict[str, list[str]] = {}
    positions = np.flatnonzero(reasons.kinds == KINDS.index(ReasonKind.TOPIC))
    for position, topic in zip(positions.tolist(), reasons.found.topics_of(positions), strict=True):
        kept.setdefault(topic, []).append(reasons.ids[position])
    return kept

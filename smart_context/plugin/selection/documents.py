"""A chat's filter as clients get it, in results and events."""

from collections.abc import Mapping

from smart_context.base.results import FilterResult
from smart_context.chat.messages import MessageId
from smart_context.plugin.choices.undo import Undoable
from smart_context.plugin.selection.absences import NOTICE, Absence, absences
from smart_context.plugin.selection.selector import ChatView, Decision
from smart_context.plugin.selection.status_line import status_line
from smart_context.relevance.reasons import ReasonKind

HELD_BY_PROVIDER = (
    "The provider holds this chat's history: the client sends only what is new, so the filter "
    "leaves nothing out. Set the client to send the whole history."
)


def filter_result(
    view: ChatView, decision: Decision, *, role_problem: str, undoable: Undoable
) -> FilterResult:
    """The filter, and its result as the page shows it.

    `set_filter` returns it, and `filter_changed` carries it.
    """
    state = view.sidecar.state
    sticky = view.sticky_ids
    absent = absences(view.messages, decision.candidates)
    result: FilterResult = {
        "active_topics": list(state.active_topics),
        "message_ids": [message.id for message in decision.messages],
        "total_messages": len(view.messages),
        "fell_back": decision.selection.fell_back,
        "status": status_line(view, decision, absent),
        "problem": " ".join(
            filter(None, (decision.problem, HELD_BY_PROVIDER if view.is_held else "", role_problem))
        ),
        "threshold": decision.selection.reasons.threshold,
        "cut": decision.selection.reasons.cut,
        "threshold_is_own": state.threshold is not None,
        "pinned": list(state.pinned),
        "hidden": list(state.hidden),
        "sticky": [m.id for m in view.messages if m.id in sticky],
        "kept_by": _kept_by(decision),
        "summed_up": _summed_up(view, absent),
        "role": state.role,
        "undo_steps": undoable.count,
        "undo_words": undoable.words,
        "moved": [move.told for move in undoable.moves],
    }
    if decision.waits:
        result["waits"] = True
    return result


def _summed_up(view: ChatView, absent: Mapping[MessageId, Absence]) -> dict[str, int]:
    """How many messages of each topic a summary or clearing stands for, by the topic's id."""
    if not any(message.is_summary for message in view.messages):
        return {}
    gone = {
        message_id
        for message_id, absence in absent.items()
        if absence is not NOTICE and absence.reason.kind is ReasonKind.SUMMARISED
    }
    counts = {topic.id: len(gone.intersection(topic.message_ids)) for topic in view.sidecar.topics}
    return {topic_id: count for topic_id, count in counts.items() if count}


def _kept_by(decision: Decision) -> dict[str, list[str]]:
    """The messages that each topic keeps, by its label."""
    ids = decision.selection.reasons.ids
    kept: dict[str, list[str]] = {}
    for position, topic in decision.selection.kept_by_topic():
        kept.setdefault(topic, []).append(ids[position])
    return kept

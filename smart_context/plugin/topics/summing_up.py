"""Which messages of a topic a summary replaces, and why others stay word for word. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from smart_context.chat.messages import Message, MessageId
from smart_context.chat.tool_pairs import NOBODY, find_tool_pairs
from smart_context.chat.topic_summaries import standing_for
from smart_context.plugin.selection.selector import ChatView
from smart_context.plugin.topics.members import NamedTopics

PART_OF_CALL = "part of a tool call that stays"
HALF_A_CALL = "a tool call without its result"


class Kept(NamedTuple):
    """A message that stays word for word, and why, for users."""

    message_id: MessageId
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What summing up topics does to a chat."""

    summed_up: tuple[Message, ...]  # the messages that the summary replaces, oldest first
    kept: tuple[Kept, ...]  # the others of these topics, oldest first


def plan_of(view: ChatView, named: NamedTopics, *, recent: int) -> Plan:
    """What a summary of topics replaces.

    Messages that are not sent anyway, such as failed answers and those behind another summary,
    are in neither list.

    Args:
        recent: The number of newest messages that stay.
    """
    messages = view.messages
    reasons = dict(_reasons(view, named, recent))
    behind = standing_for(messages)
    sent = {message.id for message in view.history}
    group_of = _groups(messages)
    summed_up: list[Message] = []
    kept: list[Kept] = []
    for place, message in enumerate(messages):
        exchange = group_of.get(place, (place,))
        is_member = message.id in named.ids
        if message.is_summary or message.id in behind or not message.is_complete:
            continue
        if not (is_member or any(messages[each].id in named.ids for each in exchange)):
            continue
        staying = [messages[each].id in reasons for each in exchange]
        is_sent = any(messages[each].id in sent for each in exchange)
        if any(staying) and is_member:
            kept.append(Kept(message.id, reasons.get(message.id, PART_OF_CALL)))
        elif is_sent and not any(staying):
            summed_up.append(message)
    return Plan(summed_up=tuple(summed_up), kept=tuple(kept))


def _reasons(view: ChatView, named: NamedTopics, recent: int) -> Iterator[tuple[MessageId, str]]:
    """Why messages may not be summed up; of several reasons the last one counts."""
    for message_id, label in named.elsewhere.items():
        yield message_id, f"also about {label}"
    for message_id in _half_calls(view.messages):
        yield message_id, HALF_A_CALL
    newest = "the newest message" if recent == 1 else f"one of the {recent} newest messages"
    for messages in (view.messages, view.history):
        yield from ((m.id, newest) for m in messages[max(0, len(messages) - recent) :])
    yield from ((message_id, "standing instruction") for message_id in view.sticky_ids)
    yield from ((message_id, "pinned by you") for message_id in view.sidecar.state.pinned)
    yield from ((message_id, "hidden by you") for message_id in view.sidecar.state.hidden)


def _groups(messages: Sequence[Message]) -> Mapping[int, Sequence[int]]:
    """For each message of a tool exchange, the places of all its messages."""
    groups: dict[int, list[int]] = {}
    for result, caller in find_tool_pairs(messages).caller_of.items():
        if caller != NOBODY:
            groups.setdefault(caller, [caller]).append(result)
    return {place: group for group in groups.values() for place in group}


def _half_calls(messages: Sequence[Message]) -> Iterator[MessageId]:
    """Messages with a call whose result is nowhere, and results without a call."""
    pairs = find_tool_pairs(messages)
    answered = set(pairs.call_id_of.values())
    yield from (messages[at].id for at, caller in pairs.caller_of.items() if caller == NOBODY)
    for message in messages:
        if isinstance(message.content, str):
            continue
        calls = (part for part in message.content if part.get("type") == "tool_call")
        if any("result" not in c and c.get("tool_call_id") not in answered for c in calls):
            yield message.id

"""Restores pinned messages that other plugins have taken from the history. Pure."""

from collections.abc import Collection, Iterable, Iterator, Sequence

from smart_context.chat.messages import (
    Message,
    MessageId,
)
from smart_context.chat.tool_pairs import NO_CALLER, find_tool_pairs, has_tool_calls


def with_pinned_restored(
    history: Sequence[Message], messages: Sequence[Message], wanted: Collection[MessageId]
) -> tuple[Message, ...]:
    """The history plus the wanted messages that it lacks, in chronological order.

    A tool call comes with its results, and a result with its call, as they are stored. Failed and
    unfinished messages and notices of the program are never brought back.
    """
    known = {message.id: message for message in history} if wanted else {}
    lost = {name for name in wanted if name not in known or _is_stripped(known[name])}
    if not lost:
        return tuple(history)
    place = {message.id: position for position, message in enumerate(messages)}
    whole = set(_with_partners(messages, (place[name] for name in lost if name in place)))
    returning = [at for at in sorted(whole) if messages[at].id not in known]
    merged: list[Message] = []
    for message in history:
        position = place.get(message.id, -1)
        while returning and returning[0] < position:
            merged.append(messages[returning.pop(0)])
        merged.append(messages[position] if position in whole else message)
    return (*merged, *(messages[at] for at in returning))


def _is_stripped(message: Message) -> bool:
    """True if nothing is left of a message, as of a call of an old round."""
    return not message.text.strip() and not has_tool_calls(message)


def _with_partners(messages: Sequence[Message], positions: Iterable[int]) -> Iterator[int]:
    """The positions of complete messages, with those of their calls and results."""
    caller_of = find_tool_pairs(messages).caller_of
    callers = {caller_of.get(position, position) for position in positions} - {NO_CALLER}
    yield from (at for at in callers if messages[at].is_complete and not messages[at].is_extracted)
    for result, caller in caller_of.items():
        if caller in callers and messages[caller].is_complete and messages[result].is_complete:
            yield result

"""Builds the history that a turn sends (docs/history.md).

Pure: messages are never changed, and only the resolver reads anything. The steps work on positions
in the list of messages, so no message is copied.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from smart_context.base.threads import MANY_MESSAGES, beside
from smart_context.chat.files.attachments import (
    AttachmentResolver,
    keys_of,
    read_attachments,
    shown_of,
    whole_keys_of,
    with_attachments,
)
from smart_context.chat.messages import Message, MessageId, standing_for
from smart_context.chat.tool_pairs import (
    ToolPairs,
    find_tool_pairs,
    has_tool_calls,
    without_tool_calls,
)

__all__ = ["AttachmentResolver", "CompactionPoint", "ContextBuilderOptions", "build_context"]


@dataclass(frozen=True, slots=True)
class CompactionPoint:
    """A summary that replaces the messages up to a boundary."""

    summary_message_id: MessageId | str  # the message that holds the summary
    boundary_message_id: MessageId | str  # the last message that the summary replaces
    # ISO 8601, or seconds or milliseconds, the same for all points. If two are equal, the later one
    # in the list is newer.
    created_at: str | float | datetime


@dataclass(frozen=True, slots=True)
class ContextBuilderOptions:
    """Options for building a history."""

    attachment_resolver: AttachmentResolver  # reads the text of an attachment
    # the number of messages sent with the current one; `None` for no limit; below 0 counts as 0
    max_context_message_count: int | None = None
    compaction_points: Sequence[CompactionPoint] = ()  # in any order
    # the number of newest rounds that keep their tool calls; 0 keeps none, a negative number all
    keep_tool_call_rounds: int = 2
    # the model can ask for the rest of a long attachment
    model_support_tool_use_for_file: bool = False
    # returns the number of characters to send of each attachment's text, the newest message's
    # first; `None` sends all
    fit_attachments: Callable[[Sequence[str]], Sequence[int]] | None = None


async def build_context(
    messages: Sequence[Message], options: ContextBuilderOptions
) -> list[Message]:
    """The messages to send, oldest first, with their attachments written into them.

    Leaves out unfinished and failed messages, notices of the program, messages replaced by a
    summary, tool calls of old rounds, and messages beyond the limit. A tool result is left out
    with its call.

    Args:
        messages: The chat, oldest first; the last one is the current one.

    Returns:
        Messages that need no change are the same objects as in `messages`.
    """
    is_long = len(messages) > MANY_MESSAGES
    if not options.compaction_points:
        limit = options.max_context_message_count
        plain = await beside(lambda: _newest_if_plain(messages, limit), is_long=is_long)
        if plain is not None:
            return plain
    history = await beside(lambda: _chosen(messages, options), is_long=is_long)
    return await _attach(history, options)


def _chosen(messages: Sequence[Message], options: ContextBuilderOptions) -> list[Message]:
    positions = [position for position, message in enumerate(messages) if not message.generating]
    positions, summary_at = _compact(messages, positions, options.compaction_points)
    oldest = _oldest_kept_round(messages, positions, options.keep_tool_call_rounds)
    changed = {
        position: without_tool_calls(messages[position])
        for position in positions[:oldest]
        if not isinstance(messages[position].content, str) and has_tool_calls(messages[position])
    }
    positions = [
        position
        for position in positions
        if messages[position].is_complete and not messages[position].is_extracted
    ]
    pairs = find_tool_pairs(messages)
    positions = _keep_pairs(messages, positions, pairs, changed)
    limit = options.max_context_message_count
    if limit is not None:
        positions = _newest(messages, positions, limit, summary_at)
        positions = _keep_pairs(messages, positions, pairs, changed)
    if not changed:
        return [messages[position] for position in positions]
    return [changed.get(position) or messages[position] for position in positions]


def _newest_if_plain(messages: Sequence[Message], limit: int | None) -> list[Message] | None:
    """The history if no step would change it; else `None`.

    Messages beyond the limit are not inspected, so a short history of a long chat is cheap.
    """
    if not messages or limit is None:
        newest = list(messages)
    else:
        leading = int(messages[0].role == "system")
        first = _first_in_limit(len(messages), leading, limit)
        newest = [*messages[:leading], *messages[first:]]
    return newest if _is_plain(messages[:1]) and _is_plain(newest) else None


def _is_plain(messages: Sequence[Message]) -> bool:
    """True if no message has tools, attachments or failures or is a notice; one pass."""
    return not [
        None
        for message in messages
        if message.generating
        or message.is_summary
        or message.files
        or message.links
        or message.error
        or message.error_code
        or message.role == "tool"
        or not isinstance(message.content, str)
        or (message.extra and message.is_extracted)
    ]


def _first_in_limit(count: int, leading: int, limit: int) -> int:
    return max(leading, count - max(limit, 0) - 1)


def _compact(
    messages: Sequence[Message], positions: list[int], points: Sequence[CompactionPoint]
) -> tuple[list[int], int | None]:
    """The positions after the newest usable point, and the position of its summary.

    Messages that a summary of their topic replaces are left out; that summary keeps its place.
    """
    usable = _usable_point(messages, positions, points) if points else None
    behind = standing_for([messages[position] for position in positions])
    standing = {summary.id for summary in behind.values()}
    spoken = [
        position
        for position in positions
        if (message := messages[position]).id not in behind
        and (not message.is_summary or message.id in standing)
    ]
    if usable is None:
        return spoken, None
    summary_at, boundary_at = usable
    leading = [
        position
        for position in spoken[:1]
        if messages[position].role == "system"
        and not messages[position].is_summary
        and position != summary_at
    ]
    tail = [
        position
        for position in spoken
        if position > boundary_at and position != summary_at and position not in leading
    ]
    return [*leading, summary_at, *tail], summary_at


def _usable_point(
    messages: Sequence[Message], positions: Sequence[int], points: Sequence[CompactionPoint]
) -> tuple[int, int] | None:
    named = {name for p in points for name in (p.summary_message_id, p.boundary_message_id)}
    place: dict[str, int] = {}
    for position in positions:
        if (message_id := messages[position].id) in named:
            place.setdefault(message_id, position)
    ordered = sorted(points, key=lambda point: _moment(point.created_at))
    for point in reversed(ordered):
        summary_at = place.get(point.summary_message_id)
        boundary_at = place.get(point.boundary_message_id)
        if summary_at is None or boundary_at is None:
            continue
        summary = messages[summary_at]
        if summary.role != "tool" and not (summary.error or summary.error_code):
            return summary_at, boundary_at  # a tool's result can't come before its call
    return None


def _moment(created_at: str | float | datetime) -> float:
    """A sort key; an unreadable time counts as the oldest."""
    if isinstance(created_at, (int, float)):
        return float(created_at)
    if isinstance(created_at, str):
        try:
            created_at = datetime.fromisoformat(created_at)
        except ValueError:
            return -math.inf
    if created_at.tzinfo is None:
        created_at = created_at.replace(tzinfo=UTC)
    return created_at.timestamp()


def _oldest_kept_round(messages: Sequence[Message], positions: Sequence[int], keep: int) -> int:
    """The index in `positions` where the oldest kept round begins; 0 if all are kept."""
    if keep < 0:
        return 0
    if keep == 0:
        return len(positions)
    rounds = 0
    answered = False
    for index in range(len(positions) - 1, -1, -1):
        role = messages[positions[index]].role
        if role == "assistant":
            answered = answered or not messages[positions[index]].is_extracted
        elif role == "user" and answered:
            rounds += 1
            answered = False
            if rounds == keep:
                return index
    return 0


def _keep_pairs(
    messages: Sequence[Message], positions: list[int], pairs: ToolPairs, changed: dict[int, Message]
) -> list[int]:
    """The positions without tool results whose call is left out.

    Calls without a result are removed from `changed` copies of their messages.
    """
    if not pairs.caller_of:
        return positions

    def is_paired(position: int) -> bool:
        caller_at = pairs.caller_of.get(position)
        if caller_at is None:
            return True
        caller = changed.get(caller_at)
        return caller_at in alive and (caller is None or has_tool_calls(caller))

    alive = set(positions)
    kept = [position for position in positions if is_paired(position)]
    alive.intersection_update(kept)
    answered = {
        (pairs.caller_of[position], call)
        for position, call in pairs.call_id_of.items()
        if position in alive
    }
    for result_at, call_id in pairs.call_id_of.items():
        caller_at = pairs.caller_of[result_at]
        if caller_at in alive and (caller_at, call_id) not in answered:
            caller = changed.get(caller_at, messages[caller_at])
            changed[caller_at] = without_tool_calls(caller, {call_id})
    return kept


def _newest(
    messages: Sequence[Message], positions: list[int], limit: int, summary_at: int | None
) -> list[int]:
    """The newest `limit` messages and the current one; leading ones are kept and don't count."""
    leading = 1 if positions and messages[positions[0]].role == "system" else 0
    if summary_at is not None:
        leading = positions.index(summary_at) + 1
    first = _first_in_limit(len(positions), leading, limit)
    if first > leading:
        while first < len(positions) and messages[positions[first]].role == "tool":
            first += 1
    return positions[:leading] + positions[first:]


async def _attach(history: list[Message], options: ContextBuilderOptions) -> list[Message]:
    is_long = len(history) > MANY_MESSAGES
    carriers = await beside(
        lambda: [place for place, message in enumerate(history) if message.files or message.links],
        is_long=is_long,
    )
    if not carriers:
        return history
    texts = await read_attachments(
        [history[position] for position in carriers], options.attachment_resolver
    )
    carriers = await beside(
        lambda: [
            place
            for place in reversed(carriers)
            if not texts.keys().isdisjoint(keys_of(history[place]))
        ],
        is_long=is_long,
    )
    limits = _limits([history[position] for position in carriers], texts, options)
    for position, most in zip(carriers, limits, strict=True):
        can_read_on = options.model_support_tool_use_for_file
        history[position] = with_attachments(
            history[position], texts, can_read_on=can_read_on, most=most
        )
    return history


def _limits(
    newest_first: Sequence[Message], texts: Mapping[str, str], options: ContextBuilderOptions
) -> list[dict[str, int]]:
    """The maximum characters of each message's attachments, by storage key."""
    keys = [[key for key in keys_of(message) if key in texts] for message in newest_first]
    if options.fit_attachments is None:
        return [{} for _ in keys]
    can_read_on = options.model_support_tool_use_for_file
    shown = [
        shown_of(texts[key], can_read_on=can_read_on and key not in whole_keys_of(message))
        for message, own in zip(newest_first, keys, strict=True)
        for key in own
    ]
    lengths = iter(options.fit_attachments(shown))
    return [dict(zip(own, lengths, strict=False)) for own in keys]

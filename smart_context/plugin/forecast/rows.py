"""The messages of a forecast as clients get them: in or out, why, at what cost."""

from collections.abc import Callable, Collection

from smart_context.base.text.saying import said
from smart_context.base.values import JsonObject
from smart_context.chat.messages import Message
from smart_context.plugin.forecast.forecasts import Forecast
from smart_context.plugin.selection.window_budget import absences
from smart_context.relevance.reasons import Reason

ONE_LINE = 400


def candidate_rows(forecast: Forecast) -> list[JsonObject]:
    """All messages that the filter decided about."""
    return [_candidate(forecast, place) for place in range(len(forecast.decision.candidates))]


def rows_by_id(
    forecast: Forecast, asked: Collection[str], count_tokens: Callable[[str], int]
) -> dict[str, JsonObject]:
    """The rows of the messages with these ids, even if they are not candidates."""
    found: dict[str, JsonObject] = {
        message.id: _candidate(forecast, position)
        for position, message in enumerate(forecast.decision.candidates)
        if message.id in asked
    }
    absent = absences(forecast.view.messages, forecast.decision.candidates)
    for message in forecast.view.messages:
        if message.id in asked and message.id in absent:
            tokens = count_tokens(message.text)
            found[message.id] = _row(message, absent[message.id].reason, tokens)
    return found


def _candidate(forecast: Forecast, position: int) -> JsonObject:
    message = forecast.decision.candidates[position]
    reason = forecast.decision.selection.reasons.at(position)
    return _row(message, reason, int(forecast.costs.tokens[position]))


def _row(message: Message, reason: Reason, tokens: int) -> JsonObject:
    text = " ".join(message.text[:ONE_LINE].split())
    return message_row(message.id, message.role, reason, tokens, text)


def message_row(
    message_id: str, role: str, reason: Reason, tokens: int, text: str | None
) -> JsonObject:
    """A message with the reason why it is in or out, as previews and receipts have it."""
    return {
        "id": message_id,
        "role": role,
        "in": reason.is_in,
        "kind": reason.kind.value,
        "reason": said(reason.__str__, reason.kind.value),
        "short": said(lambda: reason.short, reason.kind.value),
        "score": reason.score,
        "topic": reason.topic,
        "tokens": tokens,
        "text": text,
    }

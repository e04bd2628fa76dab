"""The messages of a forecast as clients get them: in or out, with reason and tokens."""

from collections.abc import Collection, Iterator

from smart_context.base.text.saying import said
from smart_context.base.values import CountTokens, JsonObject
from smart_context.chat.listed.rows import plain_line
from smart_context.chat.messages import Message
from smart_context.host.request.prompt import tokens_as_sent
from smart_context.plugin.forecast.forecasts import Forecast
from smart_context.plugin.selection.absences import absences
from smart_context.relevance.reasons import Reason

ONE_LINE = 400


def candidate_rows(forecast: Forecast) -> list[JsonObject]:
    """All messages that the filter decided about."""
    return [_candidate(forecast, place) for place in range(len(forecast.decision.candidates))]


def all_rows(forecast: Forecast, count_tokens: CountTokens) -> list[JsonObject]:
    """All messages in the order of the chat, including those behind a summary."""
    decided = candidate_rows(forecast)
    absent = {row["id"]: row for row in _absent_rows(forecast, count_tokens)}
    if not absent:
        return decided
    rows = {row["id"]: row for row in decided} | absent
    return [*[rows.pop(m.id) for m in forecast.view.messages if m.id in rows], *rows.values()]


def rows_by_id(
    forecast: Forecast, asked: Collection[str], count_tokens: CountTokens
) -> dict[str, JsonObject]:
    """The rows of the messages with these ids, even if they are not candidates."""
    found: dict[str, JsonObject] = {
        message.id: _candidate(forecast, position)
        for position, message in enumerate(forecast.decision.candidates)
        if message.id in asked
    }
    return found | {row["id"]: row for row in _absent_rows(forecast, count_tokens, asked)}


def _absent_rows(
    forecast: Forecast, count_tokens: CountTokens, asked: Collection[str] | None = None
) -> Iterator[JsonObject]:
    """The rows of messages that the filter does not decide about: all, or those with these ids."""
    absent = absences(forecast.view.messages, forecast.decision.candidates)
    for message in forecast.view.messages if absent else ():
        if message.id in absent and (asked is None or message.id in asked):
            yield _row(message, absent[message.id].reason, tokens_as_sent(message, count_tokens))


def _candidate(forecast: Forecast, position: int) -> JsonObject:
    message = forecast.decision.candidates[position]
    return _row(message, forecast.reason_at(position), int(forecast.costs.tokens[position]))


def _row(message: Message, reason: Reason, tokens: int) -> JsonObject:
    text = plain_line(message.text[:ONE_LINE], ONE_LINE)
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
        "numbers": said(lambda: reason.numbers, ""),
        "score": reason.score,
        "topic": reason.topic,
        "tokens": tokens,
        "text": text,
    }

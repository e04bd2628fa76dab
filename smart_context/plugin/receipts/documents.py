"""Receipts as clients get them: in a list, in full, and the differences of two."""

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

from smart_context.base.config.endpoints import NO_PRICES, Prices
from smart_context.base.results import CostResult
from smart_context.base.values import JsonObject
from smart_context.chat.listed.rows import plain_line
from smart_context.chat.messages import Message
from smart_context.chat.tool_pairs import called_tools
from smart_context.plugin.forecast.costs import PART_NAMES
from smart_context.plugin.forecast.rows import message_row
from smart_context.plugin.receipts.receipt import (
    TOOL,
    Receipt,
    ReceiptRow,
    shown_body,
    shown_rounds,
)
from smart_context.plugin.receipts.spent import TurnCost
from smart_context.plugin.selection.last_request import SharedTokens, cost_document
from smart_context.relevance.reasons import Reason

ONE_LINE = 200
_IN_A_LIST = (
    *("turn", "question", "answer", "at", "outcome", "cut", "tokens", "left_out_tokens"),
    *("seconds", "fell_back", "client", "endpoint", "kind"),
)


def receipt_line(
    receipt: Receipt, texts: Mapping[str, str], prices: Prices = NO_PRICES
) -> JsonObject:
    """A receipt in a list."""
    return {
        **{name: getattr(receipt, name) for name in _IN_A_LIST},
        "text": plain_line(texts.get(receipt.question, ""), ONE_LINE),
        "topics": list(receipt.settings.get("topics", ())),
        "threshold": receipt.settings.get("threshold"),
        "in": receipt.kept,
        "total": len(receipt.rows),
        "usage": dict(receipt.usage),
        "cost": cost_of(receipt, prices),
        "spent": (spent := spent_of(receipt, prices)),
        "was_sent": spent is not None,
        "model": receipt.models.get("chat", ""),
    }


def receipt_document(
    receipt: Receipt, texts: Mapping[str, str], prices: Prices = NO_PRICES
) -> JsonObject:
    """A receipt in full; messages that are no longer in the chat have no text."""
    return {
        **receipt_line(receipt, texts, prices),
        "settings": dict(receipt.settings),
        "models": dict(receipt.models),
        "parts": dict(receipt.parts),
        "part_names": dict(PART_NAMES),
        "by_topic": dict(receipt.by_topic),
        "problem": receipt.problem,
        "unchanged": receipt.repeated_tokens,
        "sections": [section.to_dict() for section in receipt.sections],
        "messages": [_row_document(receipt, row, texts) for row in receipt.rows],
        "tool_results": tool_results(receipt.rows),
        "sent": dict(receipt.sent),
        "prompt": list(receipt.prompt) or None,
        "body": shown_body(receipt, receipt.prompt or None),
        "rounds": shown_rounds(receipt),
        "unseen": list(receipt.hidden_places),
    }


def cost_of(receipt: Receipt, prices: Prices) -> CostResult:
    """The cost of a turn's request, and of the same with all messages, without the answer."""
    known = {"unchanged": 0, "reread": 0, "unchanged_of_all": 0, **receipt.cost}
    return cost_document(
        sent=known.get("sent", receipt.tokens),
        saved=known.get("saved", receipt.left_out_tokens),
        shared=SharedTokens(known["unchanged"], known["reread"]),
        unchanged_of_all=known["unchanged_of_all"],
        price=prices.of(receipt.models.get("chat", "")),
        currency=prices.currency,
    )


def spent_of(receipt: Receipt, prices: Prices) -> JsonObject | None:
    """The tokens and price of a turn's requests and answer; `None` if nothing was answered."""
    spent = TurnCost.of(receipt)
    if spent is None:
        return None
    return {
        "requests": receipt.spent.get("requests", 1),
        "sent": spent.sent,
        "unchanged": spent.unchanged,
        "answered": spent.answered,
        "is_counted": spent.is_counted,
        "price": spent.price(prices),
    }


def difference_document(before: Receipt, after: Receipt, texts: Mapping[str, str]) -> JsonObject:
    """The differences from one turn to another: settings, messages, sections, tokens."""
    old, new = _by_id(before), _by_id(after)
    ids = list(dict.fromkeys(chain(old, new)))
    names = dict.fromkeys(chain(before.parts, after.parts))
    return {
        "from": before.turn,
        "to": after.turn,
        "settings": _changed(before.settings, after.settings),
        "models": _changed(before.models, after.models),
        "parts": {
            name: after.parts.get(name, 0) - before.parts.get(name, 0)
            for name in names
            if after.parts.get(name, 0) != before.parts.get(name, 0)
        },
        "tokens": after.tokens - before.tokens,
        "came_in": [
            _row_document(after, new[i], texts) for i in ids if _is_in(new, i) > _is_in(old, i)
        ],
        "went_out": [
            _row_document(*((after, new[i]) if i in new else (before, old[i])), texts)
            | {"gone": i not in new}
            for i in ids
            if _is_in(old, i) > _is_in(new, i)
        ],
        "reasons_changed": [
            _row_document(after, new[i], texts) | {"before": str(before.reason_of(old[i]))}
            for i in ids
            if i in old
            and i in new
            and _is_in(old, i) == _is_in(new, i)
            and _why(before.reason_of(old[i])) != _why(after.reason_of(new[i]))
        ],
        "sections": _changed(_sections(before), _sections(after)),
        "same_request": _is_same_request(before, after),
    }


def tool_results(rows: Sequence[ReceiptRow]) -> JsonObject | None:
    """The cost of the tool results that were sent, in total and by topic; `None` without any."""
    tokens: dict[str, list[int]] = {}
    for row in rows:
        if row.role == TOOL and row.is_in:
            tokens.setdefault(row.topic, []).append(row.tokens)
    if not tokens:
        return None
    by_topic = [
        {"topic": topic, "messages": len(found), "tokens": sum(found)}
        for topic, found in tokens.items()
    ]
    by_topic.sort(key=lambda entry: -int(str(entry["tokens"])))
    return {
        "messages": sum(map(len, tokens.values())),
        "tokens": sum(map(sum, tokens.values())),
        "by_topic": by_topic,
    }


def one_line_texts(messages: Sequence[Message]) -> dict[str, str]:
    """The beginning of each message on one line, by id; the tools' names if it only calls tools."""
    return {message.id: _one_line(message) for message in messages}


def _one_line(message: Message) -> str:
    if text := " ".join(message.text[:ONE_LINE].split()):
        return text
    called = ", ".join(called_tools(message))
    return f"Calls {called}"[:ONE_LINE] if called else ""


def _row_document(receipt: Receipt, row: ReceiptRow, texts: Mapping[str, str]) -> JsonObject:
    return message_row(row.id, row.role, receipt.reason_of(row), row.tokens, texts.get(row.id))


def _by_id(receipt: Receipt) -> dict[str, ReceiptRow]:
    return {row.id: row for row in receipt.rows}


def _is_in(rows: Mapping[str, ReceiptRow], message_id: str) -> bool:
    row = rows.get(message_id)
    return row is not None and row.is_in


def _why(reason: Reason) -> tuple[object, ...]:
    """The parts of a reason that people read, without the cut, which differs slightly each turn."""
    return reason.kind, reason.topic, reason.detail, reason.threshold, reason.short


def _changed(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, list[Any]]:
    names = dict.fromkeys((*before, *after))
    return {
        name: [before.get(name), after.get(name)]
        for name in names
        if before.get(name) != after.get(name)
    }


def _is_same_request(before: Receipt, after: Receipt) -> bool:
    known = before.parameters and after.parameters
    if known and before.parameters != after.parameters:
        return False
    return bool(before.sent) and before.sent.get("digest") == after.sent.get("digest")


def _sections(receipt: Receipt) -> dict[str, list[Any]]:
    return {s.name: [s.is_in, s.tokens, *s.sent] for s in receipt.sections}

"""What clients are told about receipts: lists, one turn, and what two turns differ in."""

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

from smart_context.chat.messages import Message
from smart_context.plugin.forecast.parts import PART_NAMES
from smart_context.plugin.receipts.receipt import Receipt, Row
from smart_context.values import JsonObject

ONE_LINE = 200


def summary_view(receipt: Receipt, texts: Mapping[str, str]) -> JsonObject:
    """One line of a list of turns."""
    return {
        "turn": receipt.turn,
        "question": receipt.question,
        "answer": receipt.answer,
        "at": receipt.at,
        "outcome": receipt.outcome,
        "text": texts.get(receipt.question, ""),
        "topics": list(receipt.settings.get("topics", ())),
        "threshold": receipt.settings.get("threshold"),
        "in": receipt.kept,
        "total": len(receipt.rows),
        "tokens": receipt.tokens,
        "usage": dict(receipt.usage),
        "model": receipt.models.get("chat", ""),
        "fell_back": receipt.fell_back,
    }


def receipt_view(receipt: Receipt, texts: Mapping[str, str]) -> JsonObject:
    """All of one turn; messages that are no longer in the chat have no text."""
    return {
        **summary_view(receipt, texts),
        "settings": dict(receipt.settings),
        "models": dict(receipt.models),
        "parts": dict(receipt.parts),
        "part_names": dict(PART_NAMES),
        "problem": receipt.problem,
        "unchanged": receipt.unchanged,
        "sections": [section.to_dict() for section in receipt.sections],
        "messages": [_row_view(row, texts) for row in receipt.rows],
        "sent": dict(receipt.sent),
        "prompt": list(receipt.prompt) or None,
        "unseen": [dict(place) for place in receipt.unseen],
    }


def difference_view(before: Receipt, after: Receipt, texts: Mapping[str, str]) -> JsonObject:
    """What differs from one turn to another: settings, messages, sections, tokens."""
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
        "came_in": [_row_view(new[i], texts) for i in ids if _is_in(new, i) > _is_in(old, i)],
        "went_out": [
            _row_view(new.get(i) or old[i], texts) | {"gone": i not in new}
            for i in ids
            if _is_in(old, i) > _is_in(new, i)
        ],
        "reasons_changed": [
            _row_view(new[i], texts) | {"before": str(old[i].reason)}
            for i in ids
            if i in old
            and i in new
            and _is_in(old, i) == _is_in(new, i)
            and str(old[i].reason) != str(new[i].reason)
        ],
        "sections": _changed(_sections(before), _sections(after)),
        "same_request": bool(before.sent) and before.sent.get("digest") == after.sent.get("digest"),
    }


def texts_of(messages: Sequence[Message]) -> dict[str, str]:
    """Each message on one line."""
    return {message.id: " ".join(message.text[:ONE_LINE].split()) for message in messages}


def _row_view(row: Row, texts: Mapping[str, str]) -> JsonObject:
    return {
        "id": row.id,
        "role": row.role,
        "in": row.reason.is_in,
        "kind": row.reason.kind.value,
        "reason": str(row.reason),
        "score": row.reason.score,
        "topic": row.reason.topic,
        "tokens": row.tokens,
        "text": texts.get(row.id),
    }


def _by_id(receipt: Receipt) -> dict[str, Row]:
    return {row.id: row for row in receipt.rows}


def _is_in(rows: Mapping[str, Row], message_id: str) -> bool:
    row = rows.get(message_id)
    return row is not None and row.reason.is_in


def _changed(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, list[Any]]:
    names = dict.fromkeys((*before, *after))
    return {
        name: [before.get(name), after.get(name)]
        for name in names
        if before.get(name) != after.get(name)
    }


def _sections(receipt: Receipt) -> dict[str, list[Any]]:
    return {s.name: [s.is_in, s.tokens, *s.sent] for s in receipt.sections}

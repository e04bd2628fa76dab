"""The receipt of a turn: what went in, what stayed out, why, at what cost."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from smart_context.llm.models import PromptMessage
from smart_context.relevance.reasons import Reason, ReasonKind
from smart_context.values import JsonObject

MAX_PROMPT_BYTES = 48 * 1024
"""A longer request is not kept; it can be made again while chat and notes stay as they were."""

_KINDS = frozenset(ReasonKind)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One message of the chat.

    Attributes:
        id: The message.
        role: Who spoke.
        reason: Why it was in or out.
        tokens: What it cost, or would have.
    """

    id: str
    role: str
    reason: Reason
    tokens: int

    def to_list(self) -> list[Any]:
        """As it is stored: id, role, kind, score, tokens, topic, detail; empty ends are cut."""
        reason = self.reason
        score = None if reason.score is None else round(float(reason.score), 3)
        row = [self.id, self.role, reason.kind.value, score, self.tokens]
        return row + [reason.topic, reason.detail][: 2 if reason.detail else bool(reason.topic)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A part of the request that is no message: the system prompt, the role, or one named context.

    Attributes:
        name: What it is called.
        is_in: Whether any of it was sent.
        why: In words.
        tokens: What it cost.
        sent: The notes in it.
        cut: Those that were sent in part.
        left_out: Those that did not fit.
    """

    name: str
    is_in: bool
    why: str
    tokens: int
    sent: tuple[str, ...] = ()
    cut: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()

    def to_dict(self) -> JsonObject:
        """The JSON object to store and to show."""
        lists = {"sent": self.sent, "cut": self.cut, "left_out": self.left_out}
        return {
            "name": self.name,
            "in": self.is_in,
            "why": self.why,
            "tokens": self.tokens,
            **{name: list(values) for name, values in lists.items() if values},
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """What one turn sent, and why.

    Attributes:
        turn: Names it.
        question: The message that was asked.
        answer: The answer's message.
        at: When, ISO 8601 in UTC.
        outcome: `finished`, `stopped`, `failed`, `aborted`, or `replayed`.
        settings: What decided: threshold, relevance, topics, pins and so on.
        models: Names by use.
        usage: Tokens that the endpoint counted; empty if it did not.
        parts: Tokens by part.
        rows: Every message of the chat that came before the question.
        sections: The system prompt, the role and the contexts.
        fell_back: No message reached the threshold, so all stayed.
        problem: Why the filter could not be applied; empty when it was.
        system: The system prompt before role and contexts.
        sent: Digest, number and size of the request's messages; empty if none was sent.
        prompt: The request itself; empty if it was too long to be kept.
        unseen: Where it held what people don't see.
        unchanged: Tokens at its beginning that are the same as in the chat's request before it;
            `None` if there was none, or it is not known.
    """

    turn: str
    question: str
    answer: str
    at: str
    outcome: str
    settings: Mapping[str, Any]
    models: Mapping[str, str]
    usage: Mapping[str, int] = field(default_factory=dict)
    parts: Mapping[str, int] = field(default_factory=dict)
    rows: tuple[Row, ...] = ()
    sections: tuple[Section, ...] = ()
    fell_back: bool = False
    problem: str = ""
    system: str = ""
    sent: Mapping[str, Any] = field(default_factory=dict)
    prompt: tuple[PromptMessage, ...] = ()
    unseen: tuple[Mapping[str, Any], ...] = ()
    unchanged: int | None = None

    @property
    def tokens(self) -> int:
        """All that was sent."""
        return sum(self.parts.values())

    @property
    def kept(self) -> int:
        """How many messages were in."""
        return sum(row.reason.is_in for row in self.rows)

    def to_line(self) -> str:
        """One line of compact JSON, without its end."""
        document = {
            "version": 1,
            **{name: getattr(self, name) for name in _PLAIN},
            "rows": [row.to_list() for row in self.rows],
            "sections": [section.to_dict() for section in self.sections],
            "prompt": list(self.prompt),
            "unseen": [dict(place) for place in self.unseen],
        }
        return json.dumps(document, ensure_ascii=False, separators=(",", ":"), default=dict)

    @classmethod
    def from_line(cls, line: str | bytes) -> "Receipt":
        """The receipt of a stored line.

        Raises:
            ValueError: If it is damaged, or of another version.
        """
        document = json.loads(line)
        if not isinstance(document, dict) or document.get("version") != 1:
            raise ValueError("expected a receipt of version 1")
        plain = {name: document[name] for name in _PLAIN if name in document}
        try:
            threshold = float(document["settings"]["threshold"])
            recent = int(document["settings"]["recent_messages"])
            return cls(
                **plain,
                rows=tuple(_row(entry, threshold, recent) for entry in document["rows"]),
                sections=tuple(_section(entry) for entry in document["sections"]),
                prompt=tuple(document.get("prompt") or ()),
                unseen=tuple(document.get("unseen") or ()),
            )
        except (KeyError, TypeError, IndexError, AttributeError) as error:
            raise ValueError(f"damaged receipt: {error!r}") from error


_PLAIN = (
    *("turn", "question", "answer", "at", "outcome", "settings", "models", "usage", "parts"),
    *("fell_back", "problem", "system", "sent", "unchanged"),
)


def sent_digest(prompt: Sequence[PromptMessage]) -> dict[str, Any]:
    """What tells one request from another: a digest of its messages, their number and size."""
    text = _canonical(prompt)
    return {
        "digest": hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest(),
        "messages": len(prompt),
        "characters": len(text),
    }


def kept_prompt(prompt: Sequence[PromptMessage]) -> tuple[PromptMessage, ...]:
    """The request, if it is short enough to be kept."""
    size = len(_canonical(prompt).encode("utf-8", "surrogatepass"))
    return tuple(prompt) if size <= MAX_PROMPT_BYTES else ()


def _canonical(prompt: Sequence[PromptMessage]) -> str:
    return json.dumps(list(prompt), ensure_ascii=False, separators=(",", ":"))


def _row(entry: Sequence[Any], threshold: float, recent: int) -> Row:
    message_id, role, kind, score, tokens, *more = entry
    if kind not in _KINDS:
        raise TypeError(f"no such reason: {kind!r}")
    reason = Reason(
        kind=ReasonKind(kind),
        score=None if score is None else float(score),
        topic=str(more[0]) if more else "",
        threshold=threshold,
        recent=recent,
        detail=str(more[1]) if len(more) > 1 else "",
    )
    return Row(id=str(message_id), role=str(role), reason=reason, tokens=int(tokens))


def _section(entry: Mapping[str, Any]) -> Section:
    return Section(
        name=str(entry["name"]),
        is_in=bool(entry["in"]),
        why=str(entry["why"]),
        tokens=int(entry["tokens"]),
        sent=tuple(entry.get("sent", ())),
        cut=tuple(entry.get("cut", ())),
        left_out=tuple(entry.get("left_out", ())),
    )

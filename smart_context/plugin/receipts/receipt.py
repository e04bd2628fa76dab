"""The receipt of a turn: the messages that were sent and left out, why, and the cost."""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import compress, count
from operator import ne
from typing import Any, NamedTuple

from smart_context.base.values import CountTokens, JsonObject
from smart_context.host.request.request import LISTS, added_by_client, request_body
from smart_context.host.request.tokens import texts_of, tokens_of_texts
from smart_context.llm.models import PromptMessage
from smart_context.llm.offline.responder import NAME as WITHOUT_MODEL
from smart_context.plugin.receipts import sound
from smart_context.plugin.selection.last_request import shared_beginning
from smart_context.plugin.settings import FilterSettings
from smart_context.relevance.reasons import OUT, Reason, ReasonKind

MAX_PROMPT_BYTES = 48 * 1024
"""A longer request is not stored; it can be rebuilt until chat or notes change."""

TOOL = "tool"
"""The role of a tool's result."""

_KINDS = frozenset(ReasonKind)
_USUAL = FilterSettings()

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_quoted: Callable[[str], str] = json.encoder.encode_basestring
_QUOTED_KINDS = {kind: _quoted(kind.value) for kind in ReasonKind}


class ReceiptRow(NamedTuple):
    """One message of the chat in a receipt, in the order of its stored fields.

    `Receipt.reason_of` gives its reason in words.
    """

    id: str
    role: str
    kind: ReasonKind  # the rule that decided about it
    score: float | None  # the best score over the selected topics; `None` if no filter was active
    tokens: int  # the tokens that it took, or would have taken
    topic: str = ""
    detail: str = ""

    @property
    def is_in(self) -> bool:
        """True if it was sent."""
        return self.kind not in OUT


def rows_of(fields: Iterable[tuple[Any, ...]]) -> Iterator[ReceiptRow]:
    """Rows from all their fields; twice as fast as their constructor for ten thousand."""
    return map(partial(tuple.__new__, ReceiptRow), fields)


class WrittenRows(NamedTuple):
    """The rows of a receipt, and the text of each as stored."""

    rows: Sequence[ReceiptRow] = ()
    texts: Sequence[str] = ()

    def followed_by(self, rows: Sequence[ReceiptRow]) -> "WrittenRows":
        """The rows of the next receipt; those at the beginning of both are not encoded again."""
        shorter = min(len(self.rows), len(rows))
        same = next(compress(count(), map(ne, self.rows, rows)), shorter)
        return WrittenRows(rows, [*self.texts[:same], *_texts_of(rows[same:])])


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceiptSection:
    """A part of the request other than a message: the system prompt, the role, or one context."""

    name: str
    is_in: bool  # True if any of it was sent
    why: str
    tokens: int
    sent: tuple[str, ...] = ()  # the notes in it
    cut: tuple[str, ...] = ()  # notes that were sent in part
    left_out: tuple[str, ...] = ()  # notes that did not fit

    def to_dict(self) -> JsonObject:
        """The section as clients get it and files store it."""
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
    """The content of one turn's request, with the reasons and the cost."""

    turn: str
    question: str  # the id of the question
    answer: str  # the id of the answer
    at: str  # the time at the end of the turn, ISO 8601 in UTC
    outcome: str  # `finished`, `stopped`, `failed`, `aborted`, or `replayed`
    # the settings of the decision: threshold, relevance, topics, pins and so on
    settings: Mapping[str, Any]
    models: Mapping[str, str]  # the models' names, by use
    # tokens as the endpoint counted them; empty if it did not count
    usage: Mapping[str, int] = field(default_factory=dict)
    parts: Mapping[str, int] = field(default_factory=dict)
    # the part `history` by topic, without what is in none; empty in older receipts
    by_topic: Mapping[str, int] = field(default_factory=dict)
    rows: tuple[ReceiptRow, ...] = ()  # every message of the chat that came before the question
    sections: tuple[ReceiptSection, ...] = ()  # the system prompt, the role and the contexts
    fell_back: bool = False  # True if no message reached the cut, so all were kept
    # the minimum score of kept messages; `None` without a filter, or if unknown
    cut: float | None = None
    has_probabilities: bool = False
    problem: str = ""  # why the filter could not be applied; empty if it was applied
    system: str = ""  # the system prompt before instructions, role and contexts
    instructions: str = ""
    # digest, number and size of the request's messages; empty if none was sent
    sent: Mapping[str, Any] = field(default_factory=dict)
    # the messages of the last request; empty if they were too long to store
    prompt: tuple[PromptMessage, ...] = ()
    # the other fields of its body; empty if unknown or too large to store
    parameters: Mapping[str, Any] = field(default_factory=dict)
    # the field that held the messages; empty if they were a text among `parameters`
    list_name: str = "messages"
    # the turn's requests before the last, as differences from it; see `stored_rounds`
    rounds: tuple[Mapping[str, Any], ...] = ()
    # the places of hidden text in the request, as stored
    hidden_places: tuple[JsonObject, ...] = ()
    # the tokens at the beginning that are the same as in the chat's previous request; `None` if
    # that request is unknown
    repeated_tokens: int | None = None
    client: str = ""  # the program whose request it was; empty for a turn of the page
    endpoint: str = ""  # the address that was asked for it
    seconds: float | None = None  # from the request to the end of the answer; `None` if unknown
    # the cost of the request in tokens; empty if unknown; see `cost_of`
    cost: Mapping[str, int] = field(default_factory=dict)
    # the tokens of all requests of the turn and of its answer; see `spent_tokens`
    spent: Mapping[str, int] = field(default_factory=dict)
    # the values for the cost of the next request; see `last_request_of`
    for_next: Mapping[str, Any] = field(default_factory=dict)
    # `turn`, `aside` or `held by the provider`: the filter applies to turns alone
    kind: str = "turn"

    @property
    def tokens(self) -> int:
        """The tokens of all parts."""
        return sum(self.parts.values())

    @property
    def left_out_tokens(self) -> int:
        """The tokens of the messages that were left out."""
        return sum([row.tokens for row in self.rows if row.kind in OUT])

    @property
    def kept(self) -> int:
        """The number of messages that were in."""
        return sum(row.is_in for row in self.rows)

    def reason_of(self, row: ReceiptRow) -> Reason:
        """The reason why one of its rows was in or out."""
        threshold = float(self.settings.get("threshold", _USUAL.similarity_threshold))
        cut = None if self.cut is None else float(self.cut)
        if not self.has_probabilities:  # such scores are compared with the cut as they are
            threshold, cut = threshold if cut is None else cut, None
        return Reason(
            kind=row.kind,
            score=row.score,
            topic=row.topic,
            threshold=threshold,
            cut=cut,
            recent=int(self.settings.get("recent_messages", _USUAL.recent_messages)),
            detail=row.detail,
        )

    def to_line(self, written: WrittenRows | None = None) -> str:
        """One line of compact JSON, without a line break.

        Args:
            written: The rows of the receipt, if their texts are made already.
        """
        texts = (written or WrittenRows().followed_by(self.rows)).texts
        document = {
            "version": 1,
            **{name: getattr(self, name) for name in _PLAIN},
            "sections": [section.to_dict() for section in self.sections],
            "prompt": list(self.prompt),
            "rounds": list(self.rounds),
            "unseen": list(self.hidden_places),
            "unchanged": self.repeated_tokens,
        }
        text = json.dumps(document, ensure_ascii=False, separators=(",", ":"), default=dict)
        return f'{text[:-1]},"rows":[{",".join(texts)}]}}'

    @classmethod
    def from_line(cls, line: str | bytes) -> "Receipt":
        """The receipt of a stored line; missing and damaged values get their defaults.

        Raises:
            ValueError: If it has another version, or lacks the id of turn, question or answer.
        """
        document = json.loads(line, parse_constant=lambda _: None)
        if not isinstance(document, dict) or document.get("version") != 1:
            raise ValueError("expected a receipt of version 1")
        plain = {name: read(document.get(name)) for name, read in _PLAIN.items()}
        found = {name: value for name, value in plain.items() if value is not None}
        if missing := _NAMES - found.keys():
            raise ValueError(f"expected a receipt that names its {', '.join(sorted(missing))}")
        return cls(
            **(_UNKNOWN | found),
            rows=tuple(sound.each(_row, document.get("rows"))),
            sections=tuple(sound.each(_section, document.get("sections"))),
            prompt=_all_of(sound.an_object, document.get("prompt")),
            rounds=_all_of(_stored_round, document.get("rounds")),
            hidden_places=tuple(sound.each(sound.an_object, document.get("unseen"))),
            repeated_tokens=sound.whole(document.get("unchanged")),
        )


_PLAIN: Mapping[str, Callable[[object], Any]] = {
    **dict.fromkeys(("turn", "question", "answer", "at", "outcome"), sound.text),
    "settings": sound.settings,
    "models": sound.by_name(sound.text),
    **dict.fromkeys(("usage", "parts", "by_topic"), sound.by_name(sound.whole)),
    "fell_back": sound.flag,
    "cut": sound.number,
    "has_probabilities": sound.flag,
    **dict.fromkeys(("problem", "system", "instructions"), sound.text),
    **dict.fromkeys(("sent", "parameters"), sound.an_object),
    **dict.fromkeys(("list_name", "client", "endpoint"), sound.text),
    "seconds": sound.number,
    **dict.fromkeys(("cost", "spent"), sound.by_name(sound.whole)),
    "for_next": sound.an_object,
    "kind": sound.text,
}
"""The fields that are stored under their own names and unchanged, each with its reader."""

_NAMES = frozenset({"turn", "question", "answer"})
_UNKNOWN: JsonObject = {"at": "", "outcome": "finished", "settings": {}, "models": {}}


def _texts_of(rows: Sequence[ReceiptRow]) -> list[str]:
    """Rows as stored, without trailing empty fields.

    Faster than `json`: rows of a long chat have few roles, kinds and topics.
    """
    quoted: dict[str, str] = {role: _quoted(role) for role in {row.role for row in rows}}
    ends = {end: _end(*end) for end in {row[-2:] for row in rows}}
    return [
        f"[{_quoted(id_)},{quoted[role]},{_QUOTED_KINDS[kind]},"
        f"{'null' if score is None else score},{tokens}{ends[topic, detail]}]"
        for id_, role, kind, score, tokens, topic, detail in rows
    ]


def _end(topic: str, detail: str) -> str:
    if detail:
        return f",{_quoted(topic)},{_quoted(detail)}"
    return f",{_quoted(topic)}" if topic else ""


class PromptDigest:
    """The digest of a request's messages so far; a longer request can continue it."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256(b"[")
        self._messages, self._characters = 0, 1

    def going_on(self, texts: Sequence[str]) -> "PromptDigest":
        """The digest with more messages, in their canonical form."""
        longer, text = PromptDigest(), ",".join(texts)
        if texts and self._messages:
            text = f",{text}"
        longer._hash = self._hash.copy()
        longer._hash.update(text.encode("utf-8", "surrogatepass"))
        longer._messages = self._messages + len(texts)
        longer._characters = self._characters + len(text)
        return longer

    def to_dict(self) -> dict[str, Any]:
        """The digest, the number of messages and their size in characters."""
        whole = self._hash.copy()
        whole.update(b"]")
        return {
            "digest": whole.hexdigest(),
            "messages": self._messages,
            "characters": self._characters + 1,
        }


def sent_digest(prompt: Sequence[PromptMessage]) -> dict[str, Any]:
    """A digest of a request's messages, their number and their size."""
    return PromptDigest().going_on([canonical(message) for message in prompt]).to_dict()


def canonical(message: PromptMessage) -> str:
    """A message in the form that digests are computed from."""
    return _encode(message)


def _row(entry: Sequence[Any]) -> ReceiptRow:
    message_id, role, kind, score, tokens, *more = entry
    if kind not in _KINDS:
        raise TypeError(f"no such reason: {kind!r}")
    found = sound.number(score)
    if found is None and score is not None:
        raise TypeError(f"no score: {score!r}")
    return ReceiptRow(
        str(message_id), str(role), ReasonKind(kind), found, int(tokens), *map(str, more[:2])
    )


def _section(entry: Mapping[str, Any]) -> ReceiptSection:
    return ReceiptSection(
        name=str(entry["name"]),
        is_in=bool(entry["in"]),
        why=str(entry["why"]),
        tokens=int(entry["tokens"]),
        **{name: tuple(sound.texts(entry.get(name)) or ()) for name in ("sent", "cut", "left_out")},
    )


def _stored_round(entry: Mapping[str, Any]) -> JsonObject | None:
    messages = entry["messages"]
    is_sound = (
        isinstance(entry["same"], int)
        and isinstance(messages, list)
        and all(isinstance(message, dict) for message in messages)
        and isinstance(entry.get("parameters", {}), dict)
    )
    return dict(entry) if is_sound else None


def _all_of(read: Callable[[Any], JsonObject | None], value: object) -> tuple[JsonObject, ...]:
    """The entries of a list if all are sound, else none, since they belong to one request."""
    found = sound.each(read, value)
    return tuple(found) if isinstance(value, list) and len(found) == len(value) else ()


MAX_PARAMETERS_CHARACTERS = 256 * 1024
"""Larger parameters are not stored; the tools of a coding agent take 30,000 to 120,000."""


def tools_in(body: Mapping[str, Any]) -> str | None:
    """The schemas of the tools of a body; `None` if nothing but its messages is known."""
    return added_by_client(body).tools if body else None


def list_name(body: JsonObject) -> str:
    """The field that holds the messages as a list; empty if there is none."""
    return next((name for name in LISTS if isinstance(body.get(name), list)), "")


def parameters_of(body: JsonObject) -> JsonObject:
    """All fields of a body except its list of messages; empty if too large to store."""
    parameters = {name: value for name, value in body.items() if name != list_name(body)}
    return parameters if len(json.dumps(parameters)) <= MAX_PARAMETERS_CHARACTERS else {}


def client_fields(newest: Receipt) -> JsonObject:
    """The fields that another program is expected to send next: those that it sent last.

    `instructions` of the Responses API are left out if our role or contexts were put into them.
    """
    if newest.kind != "turn" or not newest.client:
        return {}
    if newest.list_name == "messages":
        return dict(newest.parameters)
    shaped = newest.parts.get("role") or newest.parts.get("contexts")
    names = ("model", "tools", "text", *(() if shaped else ("instructions",)))
    return {name: newest.parameters[name] for name in names if name in newest.parameters}


def stored_rounds(bodies: Sequence[JsonObject]) -> tuple[JsonObject, ...]:
    """The requests of a turn before the last, each as the difference from the last.

    `same` is the number of equal messages at the beginning; `messages` are the others. Empty if
    that is too much to store.
    """
    if len(bodies) < 2:  # noqa: PLR2004 - one request has no rounds
        return ()
    last, parameters = bodies[-1], parameters_of(bodies[-1])
    rounds: list[JsonObject] = []
    for body in bodies[:-1]:
        messages = body["messages"]
        pairs = enumerate(zip(messages, last["messages"], strict=False))
        shorter = min(len(messages), len(last["messages"]))
        same = next((place for place, (one, other) in pairs if one != other), shorter)
        stored: JsonObject = {"same": same, "messages": messages[same:]}
        if (own := parameters_of(body)) != parameters:
            stored["parameters"] = own
        rounds.append(stored)
    return tuple(rounds) if len(json.dumps(rounds)) <= MAX_PROMPT_BYTES else ()


def shown_body(receipt: Receipt, prompt: Sequence[JsonObject] | None) -> JsonObject | None:
    """The last request's whole body; `None` if it is unknown.

    Without a model there is nothing in it but the messages.
    """
    is_known = receipt.parameters or receipt.models.get("chat") == WITHOUT_MODEL
    if prompt is None or not is_known:
        return None
    return _body(receipt.parameters, prompt, receipt.list_name)


def shown_rounds(receipt: Receipt) -> list[JsonObject]:
    """The whole bodies of a turn's requests, including the last; empty if it made only one."""
    last = shown_body(receipt, receipt.prompt)
    if last is None or not receipt.rounds:
        return []
    return [*(_round(receipt, each) for each in receipt.rounds), last]


def _round(receipt: Receipt, stored: Mapping[str, Any]) -> JsonObject:
    messages = [*receipt.prompt[: stored["same"]], *stored["messages"]]
    parameters = stored.get("parameters", receipt.parameters)
    return _body(parameters, messages, receipt.list_name)


def _body(parameters: Mapping[str, Any], messages: Sequence[Any], name: str) -> JsonObject:
    return request_body(parameters, messages, name) if name else dict(parameters)


@dataclass(frozen=True, eq=False)
class SentRequest:
    """A request that was sent."""

    messages: Sequence[PromptMessage] = ()  # its messages, or items of the Responses API
    texts: Sequence[str] = ()  # each message in its canonical form
    tokens: Sequence[int] = ()  # the tokens of the texts in each message
    tools: str | None = None  # the schemas of the tools; `None` if unknown
    read: PromptDigest = field(default_factory=PromptDigest)

    @cached_property
    def digest(self) -> dict[str, Any]:
        """The digest and size of its messages; empty if nothing was sent."""
        return self.read.to_dict() if self.messages else {}

    @property
    def stored(self) -> tuple[PromptMessage, ...]:
        """Its messages if they are short enough to store, else none."""
        if self.digest.get("characters", 0) > MAX_PROMPT_BYTES:
            return ()
        size = sum(len(text.encode("utf-8", "surrogatepass")) + 1 for text in self.texts) + 1
        return tuple(self.messages) if size <= MAX_PROMPT_BYTES else ()


def sent_request(
    messages: Sequence[PromptMessage],
    before: SentRequest,
    count_tokens: CountTokens,
    tools: str | None = None,
) -> SentRequest:
    """A request; messages that were in the previous one are not read again."""
    same = _same_beginning(before.messages, messages)
    # A text in both requests is usually one object, so it is found without being read.
    known = {id(m.get("content")): place for place, m in enumerate(before.messages[same:], same)}
    texts, tokens = [*before.texts[:same]], [*before.tokens[:same]]
    for message in messages[same:]:
        place = known.get(id(message.get("content")))
        if place is not None and before.messages[place] == message:
            texts.append(before.texts[place])
            tokens.append(before.tokens[place])
        else:
            texts.append(canonical(message))
            tokens.append(tokens_of_texts(message, count_tokens))
    begins_as_before = same == len(before.messages)
    read = (
        before.read.going_on(texts[same:]) if begins_as_before else PromptDigest().going_on(texts)
    )
    return SentRequest(messages, texts, tokens, tools, read)


def stored_request(receipt: Receipt | None, count_tokens: CountTokens) -> SentRequest:
    """The last request of a turn, from its receipt; empty if it was not stored."""
    if receipt is None:
        return SentRequest()
    tools = tools_in(receipt.parameters)
    return sent_request(receipt.prompt, SentRequest(), count_tokens, tools)


def _same_beginning(before: Sequence[PromptMessage], messages: Sequence[PromptMessage]) -> int:
    """The number of equal messages at the beginning; fast where texts are the same object."""
    pairs = enumerate(zip(before, messages, strict=False))
    shorter = min(len(before), len(messages))
    return next((n for n, (old, new) in pairs if old != new), shorter)


def shared_prefix_tokens(
    before: SentRequest,
    after: SentRequest,
    count_tokens: CountTokens,
    *,
    tools_are_behind: bool = False,
) -> int | None:
    """The tokens from the beginning of a request to where it differs from the previous one.

    Tools come first; unknown ones are taken to be the same.

    Args:
        tools_are_behind: True if tools come after the first message, the system prompt.

    Returns:
        `None` if there is nothing to compare.
    """
    if not (before.messages and after.messages):
        return None
    if before.tools is not None and before.tools != after.tools:
        is_same = tools_are_behind and before.texts[:1] == after.texts[:1]
        return sum(after.tokens[:1]) if is_same else 0
    shorter = min(len(before.texts), len(after.texts))
    same = next((n for n in range(shorter) if before.texts[n] != after.texts[n]), shorter)
    found = sum(after.tokens[:same])
    if after.tools and (same > 0 or not tools_are_behind):
        found += count_tokens(after.tools)
    if same == shorter:
        return found
    old, new = before.messages[same], after.messages[same]
    if old.get("role") == new.get("role"):
        first = list(zip(texts_of(old), texts_of(new), strict=False))[:1]
        found += sum(count_tokens(text) for pair in first if (text := shared_beginning(*pair)))
    return found

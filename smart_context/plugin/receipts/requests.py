"""The bodies of a turn's requests, stored in its receipt, and what they share with the last one."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from smart_context.base.values import CountTokens, JsonObject
from smart_context.host.request.sent import LISTS, request_body
from smart_context.host.request.tokens import texts_of
from smart_context.llm.models import PromptMessage
from smart_context.plugin.receipts.receipt import MAX_PROMPT_BYTES, Digest, Receipt, canonical
from smart_context.plugin.selection.last_request import shared_beginning

MAX_PARAMETERS_CHARACTERS = 256 * 1024
"""Larger parameters are not stored; the tools of a coding agent take 30,000 to 120,000."""


def list_name(body: JsonObject) -> str:
    """The field that holds the messages as a list; empty if there is none."""
    return next((name for name in LISTS if isinstance(body.get(name), list)), "")


def parameters_of(body: JsonObject) -> JsonObject:
    """All fields of a body but its list of messages; empty if too large to store."""
    parameters = {name: value for name, value in body.items() if name != list_name(body)}
    return parameters if len(json.dumps(parameters)) <= MAX_PARAMETERS_CHARACTERS else {}


def client_fields(newest: Receipt) -> JsonObject:
    """What another program is expected to send with its next messages: what it sent last.

    Instructions of responses are left out if our role or contexts were put into them.
    """
    if newest.kind != "turn" or not newest.client:
        return {}
    if newest.list_name == "messages":
        return dict(newest.parameters)
    shaped = newest.parts.get("role") or newest.parts.get("contexts")
    names = ("model", "tools", "text", *(() if shaped else ("instructions",)))
    return {name: newest.parameters[name] for name in names if name in newest.parameters}


def stored_rounds(bodies: Sequence[JsonObject]) -> tuple[JsonObject, ...]:
    """The requests of a turn before the last, each by how it differs from the last.

    `same` is the number of messages that both begin with; `messages` are the others. None if that
    is too much to store.
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
    """The last request's whole body; `None` if it is not known any more."""
    if prompt is None or not receipt.parameters:
        return None
    return _body(receipt.parameters, prompt, receipt.list_name)


def shown_rounds(receipt: Receipt) -> list[JsonObject]:
    """The whole bodies of a turn's requests, the last one included; empty if it made one."""
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
    read: Digest = field(default_factory=Digest)

    @cached_property
    def digest(self) -> dict[str, Any]:
        """Its digest, and its size; empty if nothing was sent."""
        return self.read.to_dict() if self.messages else {}

    @property
    def stored(self) -> tuple[PromptMessage, ...]:
        """Its messages if they are short enough to store, else none."""
        if self.digest.get("characters", 0) > MAX_PROMPT_BYTES:
            return ()
        size = sum(len(text.encode("utf-8", "surrogatepass")) + 1 for text in self.texts) + 1
        return tuple(self.messages) if size <= MAX_PROMPT_BYTES else ()


def sent_request(
    messages: Sequence[PromptMessage], before: SentRequest, count_tokens: CountTokens
) -> SentRequest:
    """A request; messages that were in the previous one are not read again."""
    same = _same_beginning(before.messages, messages)
    # A text that is in both requests is mostly one object, so it is found without being read.
    known = {id(m.get("content")): place for place, m in enumerate(before.messages[same:], same)}
    texts, tokens = [*before.texts[:same]], [*before.tokens[:same]]
    for message in messages[same:]:
        place = known.get(id(message.get("content")))
        if place is not None and before.messages[place] == message:
            texts.append(before.texts[place])
            tokens.append(before.tokens[place])
        else:
            texts.append(canonical(message))
            tokens.append(_tokens(message, count_tokens))
    begins_as_before = same == len(before.messages)
    read = before.read.going_on(texts[same:]) if begins_as_before else Digest().going_on(texts)
    return SentRequest(messages, texts, tokens, read)


def _same_beginning(before: Sequence[PromptMessage], messages: Sequence[PromptMessage]) -> int:
    """The number of equal messages at the beginning; texts that are one object cost nothing."""
    pairs = enumerate(zip(before, messages, strict=False))
    shorter = min(len(before), len(messages))
    return next((n for n, (old, new) in pairs if old != new), shorter)


def shared_prefix_tokens(
    before: SentRequest, after: SentRequest, count_tokens: CountTokens
) -> int | None:
    """The tokens from the beginning of a request to where it differs from the previous one.

    Returns:
        `None` if there is nothing to compare.
    """
    if not (before.messages and after.messages):
        return None
    shorter = min(len(before.texts), len(after.texts))
    same = next((n for n in range(shorter) if before.texts[n] != after.texts[n]), shorter)
    found = sum(after.tokens[:same])
    if same == shorter:
        return found
    old, new = before.messages[same], after.messages[same]
    if old.get("role") == new.get("role"):
        first = list(zip(texts_of(old), texts_of(new), strict=False))[:1]
        found += sum(count_tokens(text) for pair in first if (text := shared_beginning(*pair)))
    return found


def _tokens(message: PromptMessage, count_tokens: CountTokens) -> int:
    return sum(count_tokens(text) for text in texts_of(message) if text)

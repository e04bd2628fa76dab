"""The request of a turn as its receipt needs it, and what it shares with the previous one.

A provider that caches prompts charges less for the beginning that two requests share. Nearly all
messages of a long chat were in the previous request too, so their texts and tokens are reused.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from smart_context.base.values import CountTokens
from smart_context.host.request.tokens import texts_of
from smart_context.llm.models import PromptMessage
from smart_context.plugin.receipts.receipt import MAX_PROMPT_BYTES, Digest, canonical
from smart_context.plugin.selection.last_request import shared_beginning


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

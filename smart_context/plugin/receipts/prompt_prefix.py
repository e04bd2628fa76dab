"""The request of a turn as its receipt needs it, and what it shares with the previous one.

A provider that caches prompts charges less for the beginning that two requests share. Nearly all
messages of a long chat were in the previous request too, so their texts and tokens are reused.
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from smart_context.base.values import CountTokens
from smart_context.host.request.tokens import texts_of
from smart_context.llm.models import PromptMessage
from smart_context.plugin.receipts.receipt import MAX_PROMPT_BYTES, canonical, digest_of


@dataclass(frozen=True, eq=False)
class SentRequest:
    """A request that was sent.

    Attributes:
        messages: Its messages, or items of the Responses API.
        texts: Each message in its canonical form.
        tokens: The tokens of the texts in each message.
    """

    messages: Sequence[PromptMessage] = ()
    texts: Sequence[str] = ()
    tokens: Sequence[int] = ()

    @cached_property
    def digest(self) -> dict[str, Any]:
        """Its digest, and its size; empty if nothing was sent."""
        return digest_of(self.texts) if self.messages else {}

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
    """A request; messages that are the same objects as in the previous one are not read again."""
    known = {id(m): place for place, m in enumerate(before.messages)}
    texts: list[str] = []
    tokens: list[int] = []
    for message in messages:
        place = known.get(id(message))
        texts.append(canonical(message) if place is None else before.texts[place])
        tokens.append(_tokens(message, count_tokens) if place is None else before.tokens[place])
    return SentRequest(messages, texts, tokens)


def shared_prefix_tokens(
    before: SentRequest, after: SentRequest, count_tokens: CountTokens
) -> int | None:
    """The tokens from the beginning of a request to where it differs from the previous one.

    Args:
        before: The previous request.
        after: The request.
        count_tokens: Counts for the model that is asked.

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
        found += sum(count_tokens(text) for pair in first if (text := _shared_prefix(*pair)))
    return found


def _tokens(message: PromptMessage, count_tokens: CountTokens) -> int:
    return sum(count_tokens(text) for text in texts_of(message) if text)


def _shared_prefix(before: str, after: str) -> str:
    """The beginning that both texts share, found by bisection, since they can be very long."""
    lengths = range(1, min(len(before), len(after)) + 1)
    return after[: bisect_left(lengths, 1, key=lambda n: not after.startswith(before[:n]))]

"""How much of a request begins as the request before it did.

A provider that caches prompts reads that much for less, up to the first change.
"""

from bisect import bisect_left
from collections.abc import Sequence

from smart_context.host.request.tokens import texts_of
from smart_context.llm.models import PromptMessage
from smart_context.values import CountTokens


def shared_prefix_tokens(
    before: Sequence[PromptMessage], after: Sequence[PromptMessage], count_tokens: CountTokens
) -> int:
    """The tokens from the beginning of a request to where it differs from the one before.

    Args:
        before: The previous request.
        after: The request.
        count_tokens: Counts for the model that is asked.
    """
    shorter = min(len(before), len(after))
    same = next((n for n in range(shorter) if before[n] != after[n]), shorter)
    texts = [text for message in after[:same] for text in texts_of(message)]
    if same < shorter and before[same].get("role") == after[same].get("role"):
        pairs = zip(texts_of(before[same]), texts_of(after[same]), strict=False)
        texts += [_shared_prefix(*pair) for pair in list(pairs)[:1]]
    return sum(count_tokens(text) for text in texts if text)


def _shared_prefix(before: str, after: str) -> str:
    """What both texts begin with, found by bisection, since they can be very long."""
    lengths = range(1, min(len(before), len(after)) + 1)
    return after[: bisect_left(lengths, 1, key=lambda n: not after.startswith(before[:n]))]

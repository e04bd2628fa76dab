"""A chat's last request, and the part that the next one shares with it. Pure.

Providers charge less for the beginning that a request shares with one that they have just read.
"""

import hashlib
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import compress, count
from operator import ne
from typing import Any, NamedTuple

from smart_context.base.config.endpoints import Price
from smart_context.base.results import CostResult

RequestHead = tuple[tuple[str, int], ...]
"""The parts of a request before its messages, in order, each as a digest and its tokens.

The tools come first, then the parts of the system prompt; in reverse if the model reads the tools
after the system prompt.
"""


class SharedTokens(NamedTuple):
    """Tokens that a request has in common with the previous one."""

    unchanged: int = 0  # tokens at the beginning of both
    reread: int = 0  # tokens of the previous request, sent again after that beginning
    place: int = 0  # the index of the first changed message


@dataclass(frozen=True, kw_only=True, eq=False)
class LastRequest:
    """The last request of a chat that a provider read."""

    asked_at: float  # the time in seconds since 1970
    model: str
    head: RequestHead
    sent: tuple[str, ...]  # the ids of its messages in order: history, question and later ones
    tokens: Mapping[str, int]

    @cached_property
    def ids(self) -> frozenset[str]:
        """The ids of its messages."""
        return frozenset(self.sent)

    def is_cached(self, *, now: float, ttl_s: float, model: str) -> bool:
        """True if the provider still has it in its cache for this model."""
        return model == self.model and now - self.asked_at < ttl_s


@dataclass(frozen=True, slots=True, kw_only=True)
class NextRequest:
    """A request that is about to be sent."""

    head: RequestHead
    ids: Sequence[str]  # the ids of its messages in order, without the question
    tokens: Sequence[int]

    def unchanged(self, last: LastRequest) -> tuple[int, int]:
        """The tokens at the beginning that are the same as in the last request.

        Returns:
            The tokens, and the number of messages among them.
        """
        same = _same(last.head, self.head)
        found = sum(tokens for _, tokens in self.head[:same])
        if not same == len(self.head) == len(last.head):
            return found, 0
        place = _same(last.sent, self.ids)
        known = list(map(last.tokens.get, self.ids[:place]))
        place = _same(known, self.tokens[:place])  # an edited message differs
        return found + sum(self.tokens[:place]), place

    def reread_because(self, last: LastRequest) -> str:
        """The reason why the server must read messages again, in words; empty if it need not."""
        if self.head != last.head:
            new = {digest for digest, _ in self.head} - {digest for digest, _ in last.head}
            return f"what stands before them {'has changed' if new else 'is shorter'}"
        place = self.unchanged(last)[1]
        before, now = last.sent[place : place + 1], tuple(self.ids[place : place + 1])
        if not (before and now):
            return ""  # one request is the beginning of the other
        if before == now:
            return "an earlier message has changed"
        if before[0] not in set(self.ids):
            return "an earlier message is no longer sent"
        return "an earlier message is sent that was not"

    def shared(self, last: LastRequest) -> SharedTokens:
        """The tokens that it has in common with the last request."""
        unchanged, place = self.unchanged(last)
        rest = zip(self.tokens[place:], map(last.ids.__contains__, self.ids[place:]), strict=True)
        reread = sum([tokens for tokens, was_sent in rest if was_sent])
        same, known = _same(last.head, self.head), {digest for digest, _ in last.head}
        reread += sum(tokens for digest, tokens in self.head[same:] if digest in known)
        return SharedTokens(unchanged, reread, place)


def head_of(parts: Iterable[tuple[str, int]]) -> RequestHead:
    """The head of a request from its parts before the messages; empty parts are left out.

    Args:
        parts: The text and the tokens of each part.
    """
    return tuple(
        (hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16], tokens)
        for text, tokens in parts
        if text
    )


def head_from(stored: Any) -> RequestHead:
    """The head of a request from its stored form.

    Raises:
        ValueError: If it is damaged.
        TypeError: If it is damaged.
    """
    return tuple((str(digest), int(tokens)) for digest, tokens in stored)


def cost_document(
    *,
    sent: int,
    saved: int,
    shared: SharedTokens,
    unchanged_of_all: int,
    price: Price | None,
    currency: str,
) -> CostResult:
    """The cost of a request, as clients get it.

    Args:
        unchanged_of_all: The tokens that a request with all messages would share with the last
            request.
        price: The price of the model; `None` if unknown.
    """
    unchanged = min(shared.unchanged, sent)
    cost: CostResult = {
        "sent": sent,
        "unchanged": unchanged,
        "reread": shared.reread,
        "saved": saved,
    }
    if price is not None:
        whole = sent + saved
        cost["price"] = {
            "now": price.of(sent=sent, cached=unchanged, answered=0),
            "everything": price.of(sent=whole, cached=unchanged_of_all, answered=0),
            "currency": currency,
        }
    return cost


def shared_beginning(before: str, after: str) -> str:
    """The common beginning of both texts, found by bisection since they can be very long."""
    lengths = range(1, min(len(before), len(after)) + 1)
    return after[: bisect_left(lengths, 1, key=lambda n: not after.startswith(before[:n]))]


def _same(before: Sequence[object], after: Sequence[object]) -> int:
    """The number of equal entries at the beginning of both."""
    return next(compress(count(), map(ne, before, after)), min(len(before), len(after)))

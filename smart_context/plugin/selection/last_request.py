"""A chat's last request, and what the next one shares with it. Pure.

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
from smart_context.base.values import CountTokens, JsonObject

Head = tuple[tuple[str, int], ...]
"""The parts of the system prompt in order, each as a digest and its tokens."""


class Shared(NamedTuple):
    """Tokens that a request has in common with the previous one."""

    unchanged: int = 0  # at the beginning of both
    reread: int = 0  # of the previous request's messages, sent again after that beginning
    place: int = 0  # index of the first message that is not unchanged


class Paid(NamedTuple):
    """What a chat's requests have cost by now, in tokens at the full price."""

    sent: float = 0.0  # as they were sent
    filtering: float = 0.0  # had each selection been applied at once
    everything: float = 0.0  # had all messages been sent each time


@dataclass(frozen=True, kw_only=True, eq=False)
class LastRequest:
    """What a provider read last of a chat."""

    asked_at: float  # when, in seconds since 1970
    model: str
    head: Head
    sent: tuple[str, ...]  # the ids of its messages in order, its question among them
    # the ids that it would have sent if the selection had been applied at once
    filtered: tuple[str, ...]
    everything: tuple[str, ...]  # the ids that it would have sent without a selection
    after: tuple[str, ...]  # the question and what followed it, with which all three end
    tokens: Mapping[str, int]
    # the messages that were pinned, and those that were hidden
    marked: tuple[frozenset[str], frozenset[str]]
    paid: Paid

    @cached_property
    def ids(self) -> frozenset[str]:
        """The ids of its messages."""
        return frozenset(self.sent)

    def is_cached(self, *, now: float, ttl_s: float, model: str) -> bool:
        """True if the provider still has it."""
        return model == self.model and now - self.asked_at < ttl_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Next:
    """A request that is about to be sent."""

    head: Head
    ids: Sequence[str]  # its messages in order, without the question
    tokens: Sequence[int]

    @property
    def total(self) -> int:
        """All its tokens."""
        return sum(self.tokens) + sum(tokens for _, tokens in self.head)

    def unchanged(self, before: Sequence[str], last: LastRequest) -> tuple[int, int]:
        """The tokens at the beginning of this request and of one of these messages.

        Args:
            before: The messages of the other request.
            last: Tells the head of that request and the tokens of messages.

        Returns:
            The tokens, and the number of its messages among them.
        """
        same = _same(last.head, self.head)
        found = sum(tokens for _, tokens in self.head[:same])
        if not same == len(self.head) == len(last.head):
            return found, 0
        place = _same(before, self.ids)
        known = list(map(last.tokens.get, self.ids[:place]))
        place = _same(known, self.tokens[:place])  # an edited message is another one
        return found + sum(self.tokens[:place]), place

    def shared(self, last: LastRequest) -> Shared:
        """What it has in common with the last request."""
        unchanged, place = self.unchanged(last.sent, last)
        rest = zip(self.tokens[place:], map(last.ids.__contains__, self.ids[place:]), strict=True)
        reread = sum([tokens for tokens, was_sent in rest if was_sent])
        same, known = _same(last.head, self.head), {digest for digest, _ in last.head}
        reread += sum(tokens for digest, tokens in self.head[same:] if digest in known)
        return Shared(unchanged, reread, place)

    def price(self, before: Sequence[str] | None, last: LastRequest | None, cached: float) -> float:
        """What it costs, in tokens at the full price.

        Args:
            before: The messages of the previous request; `None` if the provider has none.
            cached: The price of a cached token, as a share of the full one.
        """
        if before is None or last is None:
            return float(self.total)
        return self.total - (1 - cached) * self.unchanged(before, last)[0]


def paid_after(
    paid: Paid, cached: LastRequest | None, requests: tuple[Next, Next, Next], share: float
) -> Paid:
    """What a chat's requests have cost after one more.

    Args:
        cached: The last of them, if the provider still has it.
        requests: As it is sent, with its selection, and with all messages.
    """
    known = (cached.sent, cached.filtered, cached.everything) if cached else (None, None, None)
    return Paid(
        *(
            total + request.price(ids, cached, share)
            for total, request, ids in zip(paid, requests, known, strict=True)
        )
    )


def head_of(texts: Iterable[str], count_tokens: CountTokens) -> Head:
    """The head of a request from the parts of its system prompt, without empty ones."""
    return tuple(
        (hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16], count_tokens(text))
        for text in texts
        if text
    )


def head_from(stored: Any) -> Head:
    """The head of a stored one.

    Raises:
        ValueError: If it is damaged.
        TypeError: Likewise.
    """
    return tuple((str(digest), int(tokens)) for digest, tokens in stored)


def cost_document(
    *,
    sent: int,
    saved: int,
    shared: Shared,
    unchanged_of_all: int,
    price: Price | None,
    currency: str,
) -> JsonObject:
    """What a request costs, as clients get it.

    Args:
        unchanged_of_all: Tokens that the request with all messages would share with that.
        price: That of its model; `None` if unknown.
    """
    unchanged = min(shared.unchanged, sent)
    cost: JsonObject = {
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
    """The beginning that both texts share, found by bisection, since they can be very long."""
    lengths = range(1, min(len(before), len(after)) + 1)
    return after[: bisect_left(lengths, 1, key=lambda n: not after.startswith(before[:n]))]


def _same(before: Sequence[object], after: Sequence[object]) -> int:
    """The number of equal entries at the beginning of both."""
    return next(compress(count(), map(ne, before, after)), min(len(before), len(after)))

"""`[llm.prices]`: what models cost, per million tokens."""

from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

from smart_context.base.config.table import Table, found

CURRENCY = "currency"
CACHE_TTL_S = 300.0
"""How long providers keep the beginning of a request, unless the settings say otherwise."""

_MILLION = 1_000_000
_HIGHEST = 1_000_000
_MOST_CHARS = 20
_LONGEST_TTL_S = 7 * 86_400


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """The price of a million tokens."""

    input: float  # of what is sent
    cached: float  # of what is sent with the same beginning as the request before
    output: float  # of what is answered

    def of(self, *, sent: int, cached: int, answered: int) -> float:
        """The price of a request.

        Args:
            sent: All tokens of the request.
            cached: Those at its beginning that the provider has read before.
            answered: Tokens of the answer.
        """
        fresh = sent - min(cached, sent)
        total = fresh * self.input + (sent - fresh) * self.cached + answered * self.output
        return total / _MILLION


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """The prices of models by the pattern of their names, the first match first."""

    # patterns have `*`, `?` and `[…]`; case does not matter
    by_pattern: tuple[tuple[str, Price], ...] = ()
    currency: str = "USD"  # such as `USD`

    def of(self, model: str) -> Price | None:
        """The price of a model; `None` if it is unknown."""
        name = model.casefold()
        matches = (p for pattern, p in self.by_pattern if fnmatchcase(name, pattern.casefold()))
        return next(matches, None)


NO_PRICES = Prices()


def read_cache_ttl(llm: Table) -> float | None:
    """`[llm] cache_ttl_s`: seconds, 0 for no cache; `None` if it is not set."""
    if "cache_ttl_s" not in llm:
        return None
    return llm.number("cache_ttl_s", CACHE_TTL_S, minimum=0, maximum=_LONGEST_TTL_S)


def read_prices(prices: Table) -> Prices:
    """The prices that a settings file names; wrong ones are noted and left out."""
    patterns = [name for name in prices.values if name != CURRENCY]
    read = [(pattern, _read_price(prices, pattern)) for pattern in patterns]
    return Prices(
        by_pattern=tuple((pattern, price) for pattern, price in read if price is not None),
        currency=prices.text(CURRENCY, NO_PRICES.currency, max_chars=_MOST_CHARS),
    )


def _read_price(prices: Table, pattern: str) -> Price | None:
    value = prices.values[pattern]
    if not isinstance(value, Mapping):
        expected = "expected a table such as { input = 1.25, cached = 0.125, output = 10 }"
        prices.fault(pattern, f"{expected}, found {found(value)}")
        return None
    table = prices.table(pattern)
    table.allow(("input", "cached", "output"))
    for name in ("input", "output"):
        if name not in table:
            table.fault(name, "missing; expected the price of a million tokens")
    fresh = table.number("input", 0, minimum=0, maximum=_HIGHEST)
    return Price(
        input=fresh,
        cached=table.number("cached", fresh, minimum=0, maximum=_HIGHEST),
        output=table.number("output", 0, minimum=0, maximum=_HIGHEST),
    )

"""Scores and counts in words."""

from collections.abc import Mapping
from math import floor, log10
from typing import Any

_SMALL = 0.01


def score_in_words(score: float, beside: float | None = None) -> str:
    """A score with two digits, such as `0.47`.

    It has four where two would say too little: if it would read like the score beside it, and
    below 0.01 if that is small, too.
    """
    is_alike = beside is not None and beside != score and f"{beside:.2f}" == f"{score:.2f}"
    is_small = 0 < score < _SMALL and (beside is None or beside < 5 * _SMALL)
    if is_alike or is_small:
        return f"{score:.4f}"
    return f"{score:.2f}"


def cut_in_words(result: Mapping[str, Any]) -> str:
    """From which score on messages were kept, of a result with `cut`; empty without a filter."""
    return "" if result.get("cut") is None else f"kept from {score_in_words(result['cut'])}"


def amount_in_words(amount: float, currency: str) -> str:
    """An amount of money with two digits that count, such as `0.0021 USD`."""
    digits = 2 if amount >= 1 or amount <= 0 else max(1 - floor(log10(amount)), 2)
    return f"{amount:,.{digits}f} {currency}"


def counted(count: int, noun: str) -> str:
    """`1 file`, `1,200 files`: for nouns with a plural in s."""
    return f"1 {noun}" if count == 1 else f"{count:,} {noun}s"

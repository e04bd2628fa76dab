"""Scores and counts in words."""

import re
from collections.abc import Mapping
from math import floor, log10
from typing import Any

_SMALL = 0.01

_LEAST_AMOUNT = 0.0001
_FEW = 0.1
_CODE = re.compile("[A-Za-z]{3}")
_SIGNS: Mapping[str, str] = {
    "USD": "$",
    "EUR": "€",
    "GBP": "£",
    "JPY": "¥",
    "CNY": "CN¥",
    "INR": "₹",
    "KRW": "₩",
    "ILS": "₪",
    "BRL": "R$",
    "CAD": "CA$",
    "AUD": "A$",
    "MXN": "MX$",
    "NZD": "NZ$",
    "HKD": "HK$",
    "TWD": "NT$",
    "PHP": "₱",
    "VND": "₫",
}


def score_in_words(score: float, beside: float | None = None) -> str:
    """A score with two digits, such as `0.47`.

    It has four digits if with two it would read like the score next to it (`beside`), or if it is
    below 0.01 and that score is missing or small, too.
    """
    is_alike = beside is not None and beside != score and f"{beside:.2f}" == f"{score:.2f}"
    is_small = 0 < score < _SMALL and (beside is None or beside < 5 * _SMALL)
    if is_alike or is_small:
        return f"{score:.4f}"
    return f"{score:.2f}"


def cut_in_words(result: Mapping[str, Any]) -> str:
    """The lowest score of kept messages, in words; empty without a filter."""
    return "" if result.get("cut") is None else f"kept from {score_in_words(result['cut'])}"


def amount_in_words(amount: float, currency: str) -> str:
    """An amount of money, such as `$0.0021`, as `static/lib/text.js` writes it."""
    if 0 < amount < _LEAST_AMOUNT:
        return f"under {amount_in_words(_LEAST_AMOUNT, currency)}"
    number = f"{amount:,.2f}"
    if 0 < amount < _FEW:
        number = f"{amount:.{1 - floor(log10(amount))}f}".rstrip("0")
    if sign := _SIGNS.get(currency):
        return f"{sign}{number}"
    if _CODE.fullmatch(currency):
        return f"{currency}\N{NO-BREAK SPACE}{number}"
    return f"{number} {currency}"


def counted(count: int, noun: str) -> str:
    """`1 file`, `1,200 files`: for nouns with a plural in s."""
    return f"1 {noun}" if count == 1 else f"{count:,} {noun}s"

"""Counts and money in words: the script writes the same, see `words.test.mjs`."""

import pytest

from smart_context.base.text.scores import amount_in_words


@pytest.mark.parametrize(
    ("amount", "words"),
    [
        *((0, "$0.00"), (0.00001, "under $0.0001"), (0.0021, "$0.0021")),
        *((0.05, "$0.05"), (0.5, "$0.50"), (1234.5, "$1,234.50")),
    ],
)
def test_a_small_amount_has_two_digits_that_count_and_others_two_decimals(amount, words):
    assert amount_in_words(amount, "USD") == words


@pytest.mark.parametrize(
    ("currency", "words"),
    [("EUR", "€1.50"), ("CHF", "CHF\N{NO-BREAK SPACE}1.50"), ("points", "1.50 points")],
)
def test_a_currency_is_told_by_its_sign_or_its_code(currency, words):
    assert amount_in_words(1.5, currency) == words

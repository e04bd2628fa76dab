"""Tokens by what a text is made of, beside the counts of a real tokenizer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smart_context.llm.estimating import beginning, estimate, kind_of
from smart_context.llm.tokens import utf8_bytes
from tests.kinds_of_text import texts_by_kind

ANY_TEXT = st.text(st.characters(codec=None, categories=None))
TEXTS = dict(texts_by_kind())
COUNTED = {
    "prose": 344,
    "code": 556,
    "csv": 2097,
    "json": 2945,
    "hex": 2303,
    "log": 2780,
    "chinese": 288,
    "mixed": 2261,
}
"""What the tokenizer of Qwen 2.5, which takes each digit for a token, counts of them."""
KINDS = {
    "prose": "prose",
    "code": "code",
    "csv": "numbers",
    "json": "numbers",
    "hex": "numbers",
    "log": "numbers",
    "chinese": "other script",
}


@pytest.mark.parametrize("name", COUNTED)
def test_each_kind_of_text_is_estimated_near_a_real_tokenizer_and_hardly_below(name):
    assert 0.95 <= estimate(TEXTS[name]) / COUNTED[name] <= 1.25


@pytest.mark.parametrize("name", KINDS)
def test_the_kind_of_a_text_is_known(name):
    assert kind_of(TEXTS[name]) == KINDS[name]


def test_letters_that_form_no_words_are_no_words():
    assert estimate("aGVsbG8gd29ybGQgaG93IGFyZSB5b3U" * 10) > 2 * estimate("something " * 31)


@given(ANY_TEXT)
def test_no_text_has_more_tokens_than_bytes(text):
    assert (estimate(text) > 0) == bool(text)
    assert estimate(text) <= max(utf8_bytes(text), 1)


@given(ANY_TEXT, ANY_TEXT)
def test_more_text_has_no_fewer_tokens(one, other):
    assert estimate(one + other) >= estimate(one)


@given(ANY_TEXT, st.integers(0, 50))
def test_a_beginning_is_within_its_tokens_and_cannot_be_longer(text, most):
    head = beginning(text, most)
    assert text.startswith(head)
    assert estimate(head) <= most
    longer = text[: len(head) + 1]
    assert longer == head or estimate(longer) > most

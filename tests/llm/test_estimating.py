"""Tokens by what a text is made of, beside the counts of real tokenizers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smart_context.llm.estimating import (
    AS_ESTIMATED,
    SAMPLES,
    TokenParts,
    beginning,
    estimate,
    factors_after,
    factors_by,
    parts_of,
    tokens_in,
    utf8_bytes,
)
from smart_context.llm.tokens import count_tokens
from tests.kinds_of_text import COUNTED, IN_OTHER_WORDS, texts_by_kind

ANY_TEXT = st.text(st.characters(codec=None, categories=None))
TEXTS = dict(texts_by_kind())
OTHERS = dict(texts_by_kind(99))
by_tokenizer = pytest.mark.parametrize("tokenizer", COUNTED)
by_kind = pytest.mark.parametrize("kind", TEXTS)


def counted(tokenizer, kind):
    return dict(zip(TEXTS, COUNTED[tokenizer]["kinds"], strict=True))[kind]


@by_tokenizer
def test_an_estimate_is_not_below_what_a_real_tokenizer_counts(tokenizer):
    known = COUNTED[tokenizer]
    texts = [*TEXTS.values(), *IN_OTHER_WORDS.values()]
    for text, count in zip(texts, (*known["kinds"], *known["words"]), strict=True):
        assert count_tokens(text, known["model"]) >= 0.95 * count, text[:40]


@pytest.mark.parametrize("name", IN_OTHER_WORDS)
def test_other_languages_are_counted_nearly_as_the_most_widespread_tokenizer_does(name):
    counted = count_tokens(IN_OTHER_WORDS[name], "gpt-4")
    assert 0.95 <= estimate(IN_OTHER_WORDS[name]) / counted <= 1.31


@by_kind
@pytest.mark.parametrize("tokenizer", ["Qwen 2.5", "Llama 3", "Llama 4"])
def test_a_model_whose_family_is_known_by_its_name_is_counted_nearly_as_it_counts(tokenizer, kind):
    shown = count_tokens(TEXTS[kind], COUNTED[tokenizer]["model"])
    assert 0.95 <= shown / counted(tokenizer, kind) <= 1.25


@by_kind
@by_tokenizer
def test_with_a_servers_tokenizer_each_kind_of_text_is_counted_nearly_as_it_counts(tokenizer, kind):
    factors = factors_by(COUNTED[tokenizer]["samples"])
    assert 0.95 <= tokens_in(parts_of(TEXTS[kind]), factors) / counted(tokenizer, kind) <= 1.25


@by_kind
@by_tokenizer
def test_after_one_answer_more_text_of_its_kind_is_counted_nearly_as_the_endpoint_counts(
    tokenizer, kind
):
    factors = factors_after(AS_ESTIMATED, parts_of(TEXTS[kind]), counted(tokenizer, kind))
    before = estimate(TEXTS[kind]) / estimate(OTHERS[kind])
    after = tokens_in(parts_of(OTHERS[kind]), factors)
    assert 0.95 <= after * before / counted(tokenizer, kind) <= 1.25


def test_a_count_that_is_near_enough_or_far_off_teaches_nothing():
    parts = parts_of(TEXTS["prose"])
    shown = tokens_in(parts)
    for told in (shown, shown / 1.1, 10 * shown, shown / 10):
        assert factors_after(AS_ESTIMATED, parts, int(told)) == AS_ESTIMATED
    assert factors_after(AS_ESTIMATED, TokenParts(), 100) == AS_ESTIMATED


def test_plain_words_are_estimated_at_little_more_than_a_token_each():
    assert estimate("word " * 1_200) == pytest.approx(1_200, rel=0.03)
    assert estimate(TEXTS["prose"]) <= len(TEXTS["prose"]) / 4


def test_letters_that_form_no_words_are_no_words():
    assert estimate("aGVsbG8gd29ybGQgaG93IGFyZSB5b3U" * 10) > 2 * estimate("something " * 31)


def test_each_sample_is_mostly_of_its_part_or_of_earlier_ones():
    known = set()
    for name, text in SAMPLES.items():
        known.add(name)
        parts = parts_of(text)._asdict()
        assert sum(parts[part] for part in known) > 0.8 * sum(parts.values())
        assert parts[name] > 0.1 * sum(parts.values())


@given(ANY_TEXT)
def test_no_text_has_more_tokens_than_bytes(text):
    assert (estimate(text) > 0) == bool(text)
    assert estimate(text) <= utf8_bytes(text)


@given(ANY_TEXT, ANY_TEXT)
def test_more_words_have_no_fewer_tokens(one, other):
    assert estimate(f"{one} {other}") >= estimate(one)


@given(ANY_TEXT, st.integers(0, 50))
def test_a_beginning_is_within_its_tokens_and_cannot_be_longer(text, most):
    head = beginning(text, most)
    assert text.startswith(head)
    assert estimate(head) <= most
    longer = text[: len(head) + 1]
    assert longer == head or estimate(longer) > most

"""Counting tokens: exact, estimated, corrected, and never slow."""

import os
import random
import subprocess
import sys
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smart_context.llm.estimating import utf8_bytes
from smart_context.llm.tokens import (
    COUNTED_ONE_BY_ONE,
    MARGIN,
    TokenCounter,
    count_tokens,
    counting,
    encoding_name,
)

ANY_TEXT = st.text(st.characters(codec=None, categories=None))


@pytest.mark.parametrize(
    ("model", "name"),
    [
        pytest.param("gpt-4o-mini", "o200k_base", id="gpt-4o"),
        pytest.param("gpt-4.1", "o200k_base", id="gpt-4.1 is not gpt-4"),
        pytest.param("o3-mini", "o200k_base", id="o3"),
        pytest.param("openai/GPT-4o", "o200k_base", id="with a maker in front"),
        pytest.param("gpt-4-turbo", "cl100k_base", id="gpt-4"),
        pytest.param("text-embedding-3-small", "cl100k_base", id="embeddings"),
        pytest.param("llama3.2", None, id="somebody else's"),
        pytest.param("", None, id="no name"),
        pytest.param(None, None, id="no model"),
    ],
)
def test_the_encoding_goes_by_the_family_of_the_model(model, name):
    assert encoding_name(model) == name


@pytest.mark.parametrize(
    ("text", "o200k", "cl100k"),
    [
        pytest.param("", 0, 0, id="empty"),
        pytest.param("hello world", 2, 2, id="english"),
        pytest.param("今天天气很好，我们去公园散步吧。", 12, 20, id="chinese"),
        pytest.param("<|endoftext|>", 7, 7, id="a control token is ordinary text"),
        pytest.param("a\ud83db", 3, 3, id="half a character"),
    ],
)
def test_openai_models_are_counted_exactly(text, o200k, cl100k):
    assert count_tokens(text, "gpt-4o") == o200k
    assert count_tokens(text, "gpt-4") == cl100k


@pytest.mark.parametrize("character", ["a", "语", "=", " ", "\u0e01"])
def test_a_long_run_without_a_break_is_counted_quickly_and_closely(character):
    assert 0 < count_tokens(character * 50_000, "gpt-4o") <= 50_000


def test_a_huge_text_is_counted_by_samples_within_a_hundredth():
    text = "The quick brown fox jumps over the lazy dog. " * 5_000
    assert abs(count_tokens(text, "gpt-4o") - 50_001) < 500


@given(ANY_TEXT)
def test_any_text_can_be_counted(text):
    assert count_tokens(text, "gpt-4o") >= 0
    assert count_tokens(text, None) >= 0


def test_a_counter_learns_from_what_the_endpoint_counts():
    counter = TokenCounter("llama3")
    text = "id,17.25,2024\n" * 100
    before = counter(text)
    learned = counter.after([text], before // 2)
    assert before / 2 <= learned(text) < 0.6 * before
    assert counter(text) == before


def test_a_request_without_text_teaches_nothing():
    counter = TokenCounter("llama3")
    assert counter.after([""], 500) == counter.after([], 500) == counter


def test_an_exact_count_is_not_corrected():
    counter = TokenCounter("gpt-4o")
    assert counter.is_exact
    assert counter.after(["hello world"], 900)("hello world") == 2


def test_a_huge_text_is_estimated_by_samples_in_all_its_parts():
    counter = TokenCounter("llama3").after(["4 711 " * 100], 300)
    text = "4 711 and some words; " * 20_000
    assert counter(text) == pytest.approx(2_000 * counter(text[:220]), rel=0.05)


def test_long_texts_that_were_counted_do_not_fill_the_memory():
    tracemalloc.start()
    try:
        for number in range(100):
            count_tokens(f"{number}" + "x" * 1_000_000)
        kept = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert kept < 20_000_000


WORDS = ["garden", "budget", "the", "of", "LangGraph", "and", "(x == 1)", "Übung", "今天天气很好"]


def texts(count, size):
    rolled = random.Random(7)
    return [" ".join(rolled.choices(WORDS, k=size)) for _ in range(count)]


@pytest.mark.parametrize("text", ["", "abc", "Übung", "你好", "🙂", "\ud800"])
def test_no_text_has_more_tokens_than_it_weighs(text):
    assert count_tokens(text, "gpt-4o") <= utf8_bytes(text)
    assert count_tokens(text, "local") <= max(utf8_bytes(text), 1)


def test_short_texts_are_counted_one_by_one():
    assert counting(texts(20, 20), len) is len


@pytest.mark.parametrize("model", ["gpt-4o", "local"])
def test_long_ones_are_counted_by_samples_and_a_little_high(model):
    long = texts(1_500, 60)
    counted = []

    def count(text):
        counted.append(len(text))
        return count_tokens(text, model)

    cost = counting(long, count)
    found = sum(map(cost, long))
    assert sum(counted) < COUNTED_ONE_BY_ONE * 2
    exact = sum(count_tokens(text, model) for text in long[:200]) * len(long) / 200
    assert 1.0 < found / exact < MARGIN * 1.1


def test_a_long_text_of_another_kind_is_counted_by_itself():
    strange = "0f3a9c" * 5_000
    cost = counting([*texts(1_500, 60), strange], lambda text: count_tokens(text, "gpt-4o"))
    assert cost(strange) >= count_tokens(strange, "gpt-4o")


def test_another_process_comes_to_the_same_count():
    count = "counting(texts(1_500, 60), lambda text: text.count(' '))('a b c ' * 100)"
    other_seed = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    said = subprocess.run(
        [sys.executable, "-c", f"from tests.llm.test_tokens import *; print({count})"],
        env={**os.environ, "PYTHONHASHSEED": other_seed, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    own = counting(texts(1_500, 60), lambda text: text.count(" "))("a b c " * 100)
    assert int(said) == own

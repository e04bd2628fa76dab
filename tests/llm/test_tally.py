"""Many texts are counted in a time that does not grow with them, and about right."""

import os
import random
import subprocess
import sys

import pytest

from smart_context.llm.tally import COUNTED_ONE_BY_ONE, MARGIN, counting, utf8_bytes
from smart_context.llm.tokens import count_tokens

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
        [sys.executable, "-c", f"from tests.llm.test_tally import *; print({count})"],
        env={**os.environ, "PYTHONHASHSEED": other_seed, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    own = counting(texts(1_500, 60), lambda text: text.count(" "))("a b c " * 100)
    assert int(said) == own

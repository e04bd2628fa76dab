"""Words with a meaning that name no topic, or hardly: of request, time, amount; aspects."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from smart_context.base.text.word_lists import word_lists


@cache
def weak_words_of() -> Mapping[str, frozenset[str]]:
    """The weak words of each language by its ISO 639-1 code."""
    return word_lists(Path(__file__).with_name("weak_words.txt"))


@cache
def aspect_words_of() -> Mapping[str, frozenset[str]]:
    """The words of each language for what is asked of many things: `price`, `phone number`."""
    return word_lists(Path(__file__).with_name("aspect_words.txt"))

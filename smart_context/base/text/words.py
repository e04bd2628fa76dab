"""Splits texts into normalised words for matching."""

import re
from collections.abc import Iterable
from functools import lru_cache

from smart_context.base.text.unicode_tables import normalized
from smart_context.base.text.word_lists import FUNCTION_CHARACTERS, PARTICLES, STOP_WORDS

_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Burmese, Khmer
    "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"  # kana, Han, Hangul
    "\U00020000-\U0003ffff"  # rare Han
)
UNSPACED_RUN = re.compile(f"[{_UNSPACED}]+")
"""Characters of scripts that put no spaces between words."""

MARKS = (
    "\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f"
    "\u0670\u0900-\u0903\u093a-\u093c\u093e-\u094f\u0951-\u0957\u0962\u0963\u0981-\u0983"
    "\u09bc\u09be-\u09cd\u0a01-\u0a03\u0a3c-\u0a51\u0a81-\u0a83\u0abc-\u0acd\u0b82"
    "\u0bbe-\u0bcd\u0c00-\u0c04\u0c3e-\u0c56\u0cbc-\u0cd6\u0d3b-\u0d4d\u200c\u200d"
)
"""Marks inside words: vowel signs, accents, joiners."""

_LETTERS = f"(?:[^\\W_]|[{MARKS}])+"
_TOKEN = re.compile(
    rf"[^\W_]{_LETTERS[:-1]}*(?:['\u2019]{_LETTERS})*(?:\+\+|#(?!\w))?(?:_+{_LETTERS})*"
)
_CAMEL = re.compile(r"[a-z0-9](?=[A-Z])|[A-Z](?=[A-Z][a-z])")
_VOWEL = re.compile("[aeiouyäöüáéíóúàèìòùâêîôûåæø]")
_CLITIC = re.compile("^(?:[ldjmnstc]|qu|un|all|dell|nell|sull)['\u2019](?=..)")
QUESTION_MARKS = ("?", "\uff1f", "\u061f")
_MIN_STEM = 3
_AT_ONCE = 100_000
"""The most characters that are split in one go; no other thread runs meanwhile."""


def words(text: str) -> list[str]:
    """The words of `text` in order, ready to be compared with those of another text.

    Lower-cased and NFKC-normalised, with light stems. Scripts written without spaces give pairs of
    neighbouring characters. An identifier (`snake_case`, `camelCase`) gives itself and its parts.
    """
    return [stem(word) for word in spelled_words(text)]


def content_words(text: str) -> list[str]:
    """The words of a text without stop words."""
    return [stem(word) for word in spelled_words(text) if not is_stop_word(word)]


def asks(text: str) -> bool:
    """True if the text has a question mark, in any script."""
    mark, *others = QUESTION_MARKS
    return mark in text or (not text.isascii() and any(other in text for other in others))


def is_stop_word(word: str) -> bool:
    """True if a lower-cased word (not a stem) is a stop word."""
    if word in STOP_WORDS:
        return True
    if word.isascii():
        return False
    return not PARTICLES.isdisjoint(word) or FUNCTION_CHARACTERS.issuperset(word)


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """A lower-cased word without common endings; the same for singular and plural.

    Light on purpose: `migrations`, `migrated` and `migrating` meet, `universe` and `university`
    do not. Words of other languages lose an ending now and then, on both sides of a comparison.
    """
    plain = _CLITIC.sub("", word).split("'", 1)[0].split("\u2019", 1)[0]
    if len(plain) <= _MIN_STEM or not plain.isalpha() or UNSPACED_RUN.match(plain):
        return plain
    return _without_e(_without_verb_ending(_without_plural(plain)))


def spelled_words(text: str) -> list[str]:
    """As `words`, lower-cased and NFKC-normalised, but not stemmed."""
    if text.isascii():
        return [word for token in _tokens(text) for word in _parts(token)]
    spelled: list[str] = []
    text = normalized("NFKC", text)
    position = 0
    for run in UNSPACED_RUN.finditer(text):
        _add_spaced(spelled, text[position : run.start()])
        spelled.extend(_pairs(run.group()))
        position = run.end()
    _add_spaced(spelled, text[position:])
    return spelled


def _add_spaced(spelled: list[str], text: str) -> None:
    for token in _tokens(text):
        spelled.extend(_parts(token))


def _tokens(text: str) -> Iterable[str]:
    if len(text) <= _AT_ONCE:
        return _TOKEN.findall(text)
    return (found.group() for found in _TOKEN.finditer(text))


def _pairs(run: str) -> list[str]:
    return [run[i : i + 2] for i in range(len(run) - 1)] or [run]


def _parts(token: str) -> list[str]:
    lowered = token.lower()
    if token in (lowered, lowered.capitalize(), lowered.upper()) and "_" not in token:
        return [lowered]
    pieces = _CAMEL.sub(lambda end: end.group() + "_", token).lower().split("_")
    parts = [piece for piece in pieces if piece]
    return parts if parts == [lowered] else [lowered, *parts]


def _without_plural(word: str) -> str:
    if word.endswith(("ies", "ied", "sses", "shes", "ches", "xes", "zes")):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    if word.endswith("y") and word[-2] not in "aeiou":
        return word[:-1] + "i"
    return word


def _without_verb_ending(word: str) -> str:
    for ending in ("ing", "ed"):
        rest = word.removesuffix(ending)
        if rest != word and len(rest) >= _MIN_STEM and _VOWEL.search(rest):
            return rest[:-1] if rest[-1] == rest[-2] and rest[-1] not in "lsz" else rest
    rest = word.removesuffix("ion")
    return rest if len(rest) > _MIN_STEM else word


def _without_e(word: str) -> str:
    return word[:-1] if word.endswith("e") and len(word) > _MIN_STEM + 1 else word

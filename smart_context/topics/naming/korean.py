"""Nouns of Korean texts: words without the particles that are written on to them."""

import re

from smart_context.base.text.word_lists import STOP_WORDS_OF
from smart_context.topics.naming.words.grammar import weak_words_of

_HANGUL = re.compile("[\uac00-\ud7a3]+")
_SHORTEST = 2
_FIRST, _FINALS = 0xAC00, 28
_RIEUL = 8

_PARTICLES = (
    *("에서는", "에서도", "으로는", "까지는", "이라는", "에서", "에게", "한테", "까지", "부터"),
    *("처럼", "보다"),
    *("마다", "에는", "에도", "이나", "라도", "라는", "에", "도", "만", "의"),
)
"""Particles that follow any noun, the longest first."""

_AFTER_CONSONANT = ("으로", "이랑", "은", "을", "과", "이")
_AFTER_VOWEL = ("랑", "는", "를", "와", "가")
_ALL_PARTICLES = (*_PARTICLES, *_AFTER_CONSONANT, *_AFTER_VOWEL, "로")
_WHOLE = frozenset(
    (
        *("고양이", "어린이", "목걸이", "떡볶이", "손잡이", "옷걸이", "지팡이", "호랑이"),
        *("원숭이", "곰팡이"),
    )
)
_NEVER_SECOND = frozenset(("에", "를", "는", "이나", "부터", "까지"))
"""What follows a noun of one syllable, but ends no noun: `월에`, `밤에`."""

_ENDINGS = (
    *("요", "니다", "까", "죠", "려고", "는데", "하면", "으면", "이면", "되면", "하고", "하게"),
    *("해서", "해야", "해도"),
    *("는지", "하는", "되는", "있는", "없는", "같은", "않은", "싶은", "어서", "아서", "으니"),
    *("하지", "거나", "으며", "하며"),
    *("었다", "았다", "한다", "된다", "세", "려면", "다면", "도록", "에요", "어야", "아야", "주실"),
)
"""Endings of verbs and adjectives."""

_SHORT_VERB = re.compile("(?!마을|가을|노을)[\uac00-\ud7a3][을를은는할될실]")
"""`잊을`, `했는`: a verb in two syllables; a noun of one syllable names no topic either."""

_LONG_ENDINGS = ("고", "면", "은", "할", "될", "야", "해", "한", "니", "셔서")
"""Endings of verbs of three syllables and more; shorter words with them are often nouns."""


def is_korean(text: str) -> bool:
    """True if a text is written in Hangul alone."""
    return bool(_HANGUL.fullmatch(text))


def korean_noun(word: str) -> str:
    """The noun of a word; empty for verbs, stop words, and nouns of one syllable.

    A word can't be told from one with a particle in all cases: a few common nouns that end like one
    are listed, and of any other, its last syllable may be lost.
    """
    if (
        _is_weak(word)
        or word.endswith(_ENDINGS)
        or _SHORT_VERB.fullmatch(word)
        or any(_is_weak(word.removesuffix(particle)) for particle in _ALL_PARTICLES)
    ):
        return ""
    noun = _without_particle(word)
    if len(noun) < _SHORTEST or _is_weak(noun) or word[1:] in _NEVER_SECOND:
        return ""
    return "" if noun == word and len(word) > _SHORTEST and word.endswith(_LONG_ENDINGS) else noun


def _without_particle(word: str) -> str:
    if word in _WHOLE:
        return word
    for particle in _PARTICLES:
        if word.endswith(particle) and len(word) >= len(particle) + _SHORTEST:
            return word[: -len(particle)]
    ends_in_vowel = (_AFTER_VOWEL, _AFTER_CONSONANT)
    for particles, is_after_consonant in zip(ends_in_vowel, (False, True), strict=True):
        for particle in particles:
            noun = word.removesuffix(particle)
            if noun != word and len(noun) >= _SHORTEST and _ends_closed(noun) == is_after_consonant:
                return noun
    noun = word.removesuffix("로")
    is_instrument = noun != word and len(noun) >= _SHORTEST and _final(noun) in {0, _RIEUL}
    return noun if is_instrument else word


def _ends_closed(noun: str) -> bool:
    return _final(noun) != 0


def _final(noun: str) -> int:
    """The number of the last syllable's final consonant; 0 for none (Unicode, 3.12)."""
    return (ord(noun[-1]) - _FIRST) % _FINALS


def _is_weak(word: str) -> bool:
    return word in STOP_WORDS_OF["ko"] or word in weak_words_of()["ko"]

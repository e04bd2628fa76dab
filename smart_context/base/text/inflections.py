"""Finds the forms of a word in languages that inflect more than English does."""

import re
from functools import lru_cache

from smart_context.base.text.words import UNSPACED_RUN

_SHORTEST, _SHORT, _KEPT = 3, 4, 0.75
_LONG_TAIL, _SHORT_TAIL = 4, 2
_COMPOUNDING = frozenset({"de", "nl"})
_COMPOUNDED = 5
_ENDING = re.compile(
    "[aeiouyäöüàâáãéèêëíìïóòõôúùûąę\u0131"
    "\u0430\u0435\u0451\u0438\u043e\u0443\u044b\u044d\u044e\u044f\u044c\u0439"  # Russian
    "\u0629\u0647\u05d4]$"  # Arabic and Hebrew
)
"""What is exchanged for another ending, or left out."""
_ARTICLES = {"ar": re.compile("^\u0627\u0644"), "he": re.compile("^\u05d4")}
_BEFORE = {
    # and, so; in, like, to; the
    "ar": "[\u0648\u0641]?[\u0628\u0643\u0644]?(?:\u0627\u0644|\u0644)?",
    "he": "[\u05d5\u05d4\u05d1\u05dc\u05db\u05de\u05e9]{0,2}",  # and, the, in, to, like, from, that
}

Forms = tuple[str, re.Pattern[str]]
"""A text that all forms of a word contain, and a pattern that each of them matches."""


@lru_cache(maxsize=4_096)
def forms_of(word: str, language: str) -> Forms | None:
    """The forms of a word; `None` if it has none besides itself, or the language is English.

    A form begins like the word, after an article or preposition that is written with it, and ends
    in a few other letters: `Lizbona`, `w Lizbonie`. In German and Dutch it may begin a compound.

    Args:
        word: A lower-cased word or stem.
        language: The ISO 639-1 code of the text to search; empty if unknown.
    """
    if language in {"", "en"} or not word.isalpha() or UNSPACED_RUN.match(word):
        return None
    plain = _without_article(word, language)
    if len(plain) < _SHORTEST:
        return None
    if len(plain) <= _SHORT:
        shared = _ENDING.sub("", plain) if len(plain) == _SHORT else plain
        tail = f"{{0,{_SHORT_TAIL}}}"
    else:
        kept = max(_SHORT, -int(-_KEPT * len(plain) // 1))
        shared = plain[:kept]
        is_open = language in _COMPOUNDING and kept >= _COMPOUNDED
        tail = "*" if is_open else f"{{0,{len(plain) - kept + _LONG_TAIL}}}"
    before = _BEFORE.get(language, "")
    return shared, re.compile(rf"(?<![^\W_]){before}{re.escape(shared)}[^\W\d_]{tail}(?![^\W_])")


def _without_article(word: str, language: str) -> str:
    article = _ARTICLES.get(language)
    rest = article.sub("", word) if article else word
    return rest if len(rest) >= _SHORTEST else word

"""Cleans labels for display: short, in Title Case, without control characters."""

import re
import unicodedata

LONGEST_LABEL = 40
_SMALL_WORDS = frozenset(
    (
        *("a", "an", "and", "as", "at", "but", "by", "for", "from", "in", "into", "nor", "of"),
        *("on", "or", "the", "to", "via", "vs", "with"),
        *("de", "del", "der", "des", "di", "du", "e", "en", "et", "la", "le", "les", "und", "y"),
        *("al", "au", "aux", "con", "da", "das", "della", "do", "dos", "im", "mit", "par"),
        *("por", "van", "à", "auf", "aus", "für", "gegen", "nach", "ohne", "met", "op", "voor"),
    )
)
_EDGES = " \t\"'`*_#.,;:-()[]{}\u2013\u2014\u2018\u2019\u201c\u201d\u201e\u2039\u203a«»「」『』"
_MARKS = re.compile(r"[*`]+|__+")
_TURKISH = re.compile("[ığş]")
_TURKISH_UPPER = {"i": "İ"}
_BREAKS = re.compile(r"\s+")


def clean_label(text: str) -> str:
    """A label without control, invisible and direction characters, quotes and list marks.

    At most 40 characters, cut between words if possible, in Title Case. Empty if nothing is left.
    """
    visible = "".join(
        " " if character.isspace() else character
        for character in unicodedata.normalize("NFC", text[: LONGEST_LABEL * 20])
        if character.isspace()
        or unicodedata.category(character) not in {"Cc", "Cf", "Cs", "Co", "Cn"}
    )
    return title_case(_shortened(_BREAKS.sub(" ", _MARKS.sub("", visible)).strip(_EDGES)))


def title_case(text: str) -> str:
    """Each word with a capital, except small words inside; words with capitals keep theirs."""
    words = text.split(" ")
    upper = _TURKISH_UPPER if _TURKISH.search(text) else {}
    return " ".join(
        word
        if word != word.lower() or (place and word in _SMALL_WORDS)
        else upper.get(word[:1], word[:1].upper()) + word[1:]
        for place, word in enumerate(words)
    )


def is_small_word(word: str) -> bool:
    """True for an article, a preposition or the like, in lower case."""
    return word in _SMALL_WORDS


def label_key(label: str) -> str:
    """A key that is equal for labels that differ only in case, Unicode form and spaces."""
    return _BREAKS.sub(" ", unicodedata.normalize("NFKC", label)).strip().casefold()


def _shortened(text: str) -> str:
    if len(text) <= LONGEST_LABEL:
        return text
    cut = text[: LONGEST_LABEL + 1]
    return (cut.rsplit(" ", 1)[0] if " " in cut else cut[:LONGEST_LABEL]).strip(_EDGES)

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
_QUOTES = '["\u201c\u201d\u201e\u2039\u203a«»]'
_PAIRS = (
    *(re.compile(marks) for marks in (r"(\()|\)", r"(\[)|\]", r"(\{)|\}", "(「)|」", "(『)|』")),
    re.compile(rf"((?<!\S){_QUOTES})|{_QUOTES}(?!\w)"),
)
"""Patterns of brackets and quotes; the group matches opening ones."""

_OPENING, _CLOSING = (
    re.compile(r"(?<!\S)['\u2018](?=[^\W\d])"),
    re.compile(r"(?<=\w)['\u2019](?!\w)"),
)
"""Single quotes, whose closing one may be an apostrophe."""

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
    return title_case(_paired(_shortened(_trimmed(_MARKS.sub("", visible)))))


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


def _trimmed(text: str) -> str:
    """The text without marks at its ends, except one that closes a pair inside."""
    text = _BREAKS.sub(" ", text).strip()
    inner = text.strip(_EDGES)
    closed = inner + text[text.find(inner) + len(inner) :][:1]
    return closed if _is_whole(closed) and not _is_whole(inner) else inner


def _paired(text: str) -> str:
    """The text without brackets and quotes that lack their partner."""
    if _is_whole(text):
        return text
    for marks in _PAIRS:
        if not _is_paired(text, marks):
            text = marks.sub("", text)
    if not _is_whole(text):
        text = _OPENING.sub("", text)
    return _paired(_trimmed(text))


def _is_whole(text: str) -> bool:
    is_quoted_whole = len(_OPENING.findall(text)) <= len(_CLOSING.findall(text))
    return is_quoted_whole and all(_is_paired(text, marks) for marks in _PAIRS)


def _is_paired(text: str, marks: re.Pattern[str]) -> bool:
    open_now = 0
    for mark in marks.finditer(text):
        open_now += 1 if mark[1] else -1
        if open_now < 0:
            return False
    return open_now == 0


def _shortened(text: str) -> str:
    if len(text) <= LONGEST_LABEL:
        return text
    cut = text[: LONGEST_LABEL + 1]
    return (cut.rsplit(" ", 1)[0] if " " in cut else cut[:LONGEST_LABEL]).strip(_EDGES)

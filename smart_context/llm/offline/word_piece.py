"""Splits texts into the pieces of words that the embedding model knows."""

import unicodedata
from collections.abc import Sequence
from functools import lru_cache

_LONGEST_WORD = 100
_REMEMBERED_WORDS = 50_000
_IDEOGRAPHS = (
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2CEAF),
    (0x2F800, 0x2FA1F),
)
_REMOVED = frozenset({"Cc", "Cf", "Cs", "Co"})
_ASCII_PUNCTUATION = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")


class _Cleaning(dict[int, str | None]):
    """The replacement of each character before the text is split; filled on demand."""

    def __missing__(self, code: int) -> str | None:
        rewritten = self[code] = _rewritten(chr(code))
        return rewritten


def _rewritten(character: str) -> str | None:
    category = unicodedata.category(character)
    if character in "\t\n\r" or category in {"Zs", "Zl", "Zp"}:
        return " "
    if category in _REMOVED or character == "\ufffd":
        return None
    if any(first <= ord(character) <= last for first, last in _IDEOGRAPHS):
        return f" {unicodedata.normalize('NFD', character)} "
    bare = [part for part in unicodedata.normalize("NFD", character) if not _is_accent(part)]
    return "".join(_apart(part) for part in bare).lower()


def _is_accent(character: str) -> bool:
    return unicodedata.category(character) == "Mn"


def _apart(character: str) -> str:
    is_punctuation = character in _ASCII_PUNCTUATION or unicodedata.category(character)[0] == "P"
    return f" {character} " if is_punctuation else character


class WordPiece:
    """Turns text into ids of word pieces; thread-safe.

    Args:
        pieces: The vocabulary; a piece's id is its index. Pieces within a word begin with `##`.
    """

    def __init__(self, pieces: Sequence[str]) -> None:
        self._ids = {piece: index for index, piece in enumerate(pieces)}
        self.unknown = self._ids["[UNK]"]
        self.opening = self._ids["[CLS]"]
        self.closing = self._ids["[SEP]"]
        self._cleaning = _Cleaning()
        self._word = lru_cache(_REMEMBERED_WORDS)(self._split)

    def framed(self, ids: Sequence[int]) -> tuple[int, ...]:
        """The ids between the opening and the closing token."""
        return (self.opening, *ids, self.closing)

    def ids(self, text: str) -> list[int]:
        """The text's ids, without the opening and closing tokens.

        A word of more than 100 characters, or with an unknown character, is one unknown piece.
        """
        return [
            piece for word in text.translate(self._cleaning).split() for piece in self._word(word)
        ]

    def _split(self, word: str) -> tuple[int, ...]:
        if len(word) > _LONGEST_WORD:
            return (self.unknown,)
        ids: list[int] = []
        start = 0
        while start < len(word):
            found = self._longest(word, start)
            if found is None:
                return (self.unknown,)
            piece, start = found
            ids.append(piece)
        return tuple(ids)

    def _longest(self, word: str, start: int) -> tuple[int, int] | None:
        prefix = "##" if start else ""
        for end in range(len(word), start, -1):
            piece = self._ids.get(prefix + word[start:end])
            if piece is not None:
                return piece, end
        return None

"""Normal forms of Unicode, for texts of any length and content."""

import re
import unicodedata
from collections.abc import Iterator
from typing import Literal

Form = Literal["NFC", "NFKC"]

_PIECE = 1_000
_BORDER = r"[\s\u3001-\u3020\u3400-\u9fff]"
"""Characters that never compose with the previous one: white space, Chinese and its marks."""

_PIECES = re.compile(rf"(?s:.{{1,{_PIECE}}}(?={_BORDER}|\Z)|.{{{_PIECE}}})")


def normalized(form: Form, text: str) -> str:
    """The text in a normal form; a stretch of 1,000 characters without a border may differ."""
    return "".join(normal_pieces(form, text))


def normal_pieces(form: Form, text: str) -> Iterator[str]:
    """As `normalized`, piece by piece, so that long texts can be changed in little memory.

    `unicodedata` sorts accents in quadratic time, and no other thread runs meanwhile: a million of
    them in a row would stop the server for an hour.
    """
    if len(text) <= _PIECE or text.isascii():
        yield unicodedata.normalize(form, text)
        return
    for piece in _PIECES.finditer(text):
        yield unicodedata.normalize(form, piece.group())

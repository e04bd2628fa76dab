r"""Marks around quoted texts, and the escaping of texts that would close them.

A model reads `</ SAID >`, `&lt;/said&gt;`, full-width brackets, letters with invisible characters
between them and `<\/said x="1">` as the same end of a quotation, so they count as that here.
"""

import html
import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from itertools import count

from smart_context.base.text.unicode_tables import UNSEEN

_OPENINGS = "<\uff1c\ufe64\u2039\u3008\u27e8\u2329\u276c\u276e\u2770\u02c2\u1438"
_SLASHES = "/\uff0f\u2215\u2044\u29f8\u2571"
_ESCAPED = r"&(?:amp;)*+(?:lt|#0*+60|#x0*+3c)(?![0-9a-z]);?+|\\u003c|\\x3c|%3c"
_OPENING = re.compile(
    rf"(?:[{_OPENINGS}]|{_ESCAPED})(?=[\s\\{UNSEEN}]*+[{_SLASHES}&%])", re.IGNORECASE
)
_ESCAPES = re.compile(r"[&\\%]")
_CODES = re.compile(r"\\u00(2f|3c|3e)|\\x(2f|3c|3e)|%(2f|3c|3e)", re.IGNORECASE)
_UNSEEN = re.compile(rf"[\\{UNSEEN}]+")
_PLAIN = str.maketrans({**dict.fromkeys(_OPENINGS, "<"), **dict.fromkeys(_SLASHES, "/")})
_DASHES = str.maketrans(
    {
        **dict.fromkeys("\u2010\u2011\u2043\u2212", "-"),
        **dict.fromkeys("\u2012\u2013\u2014\u2015", "--"),
    }
)
_LEVELS = 3
"""The levels of entities within entities that are resolved."""

_LOOKED_AT = 64
"""The characters after a bracket that are read at first."""


def unclosed(text: str, names: tuple[str, ...]) -> str:
    """The text, in which all that a model may read as a closing tag of these names is escaped.

    Its bracket becomes `&lt;`; if that is an entity, its `&` becomes `&amp;`.
    """
    if _is_plain(text):
        return _closing(names, "<").sub("&lt;", text)

    def neutral(found: re.Match[str]) -> str:
        if not _is_closed_by(text, found.end(), names):
            return found[0]
        return f"&amp;{found[0][1:]}" if found[0].startswith("&") else "&lt;"

    return _OPENING.sub(neutral, text)


def unused_mark(name: str, texts: Iterable[str]) -> str:
    """The name, or the first of `name-1`, … that no tag in the texts begins with."""
    read = as_read("\n".join(texts))
    names = (name if number == 0 else f"{name}-{number}" for number in count())
    return next(each for each in names if f"<{each}" not in read and f"/{each}" not in read)


def as_read(text: str) -> str:
    """The text as a model may read marks in it: without blanks, case and other differences."""
    return "".join(_as_read(text).translate(_DASHES).split()).casefold()


def _is_closed_by(text: str, start: int, names: tuple[str, ...]) -> bool:
    """True if a model may read a slash and one of the names after a bracket."""
    size, longest = _LOOKED_AT, max(map(len, names)) + 2
    read = _as_read(text[start : start + size])
    while len("".join(read.split())) < longest and start + size < len(text):
        size *= 4
        read = _as_read(text[start : start + size])
    return _closing(names).match(read) is not None


def _as_read(text: str) -> str:
    """The text without invisible characters, escapes and other forms of letters and brackets."""
    if _is_plain(text):
        return text
    text = _CODES.sub(lambda found: chr(int(found[found.lastindex or 0], 16)), text)
    for _ in range(_LEVELS):
        before, text = text, html.unescape(text)
        if text == before:
            break
    text = unicodedata.normalize("NFKC", text.translate(_PLAIN)).translate(_PLAIN)
    return _UNSEEN.sub("", text)


def _is_plain(text: str) -> bool:
    return text.isascii() and _ESCAPES.search(text) is None


@lru_cache
def _closing(names: tuple[str, ...], opening: str = "") -> re.Pattern[str]:
    listed = "|".join(map(re.escape, names))
    return re.compile(rf"{opening}(?=\s*+/\s*+(?:{listed})\b)", re.IGNORECASE)

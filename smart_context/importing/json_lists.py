"""Reads a JSON file that is one list value by value, without loading it whole."""

import codecs
import json
from collections.abc import Iterator
from typing import IO, Any

from smart_context.importing.found import NotReadable

NOT_UTF8 = "expected UTF-8, found another encoding; save the file as UTF-8"

_READ_AT_ONCE = 1 << 20
_LONGEST_WORD = 16
"""More than an escape, a literal or a number's end, which the end of a piece may cut in two."""

_BLANK = json.decoder.WHITESPACE  # type: ignore[attr-defined] # its stub leaves it out
_DECODER = json.JSONDecoder()


def values_in(stream: IO[bytes]) -> Iterator[Any]:
    """The values of a list as `json.loads` reads them, including lone surrogates and NaN.

    Raises:
        NotReadable: If the file is damaged; raised after the values before the damage.
    """
    text = _Text(stream)
    text.take("[")
    if text.follows() == "]":
        return
    yield text.value()
    while text.take(",]") == ",":
        yield text.value()
    if further := text.follows():
        raise _damaged(f"its list is over, but {further!r} follows")


class _Text:
    """The text of a file that was read and not yet taken.

    Args:
        stream: The file.
    """

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._decode = codecs.getincrementaldecoder("utf-8-sig")("surrogatepass").decode
        self._text, self._at, self._is_whole = "", 0, False

    def follows(self) -> str:
        """The next non-blank character; empty at the end."""
        while True:
            self._at = _BLANK.match(self._text, self._at).end()
            if self._at < len(self._text) or self._is_whole:
                return self._text[self._at : self._at + 1]
            self._read_on()

    def take(self, expected: str) -> str:
        """Take the next character, which must be one of `expected`."""
        found = self.follows()
        if not found or found not in expected:
            raise _damaged(f"expected {' or '.join(expected)}, found {found or 'its end'}")
        self._at += 1
        return found

    def value(self) -> Any:
        """Take the next value; an incomplete one is read again with twice as much text."""
        self.follows()
        while True:
            try:
                found, end = _DECODER.raw_decode(self._text, self._at)
            except json.JSONDecodeError as error:
                if self._is_whole or not self._is_cut(error):
                    raise _damaged(error.msg) from error
            except RecursionError as error:
                raise NotReadable("nests more levels deep than any export does") from error
            except ValueError as error:
                raise _damaged(str(error)) from error
            else:
                if end < len(self._text) - _LONGEST_WORD or self._is_whole:
                    self._at = end
                    return found
            self._read_on()

    def _is_cut(self, error: json.JSONDecodeError) -> bool:
        """True if the error may be due to the end of the text read so far."""
        is_text = error.msg.startswith("Unterminated string")
        return is_text or error.pos > len(self._text) - _LONGEST_WORD

    def _read_on(self) -> None:
        left = self._text[self._at :]
        piece = self._stream.read(max(_READ_AT_ONCE, len(left)))
        self._is_whole = not piece
        try:
            self._text, self._at = left + self._decode(piece, final=not piece), 0
        except UnicodeDecodeError as error:
            raise NotReadable(NOT_UTF8) from error


def _damaged(why: str) -> NotReadable:
    return NotReadable(f"the file is damaged: {why}")

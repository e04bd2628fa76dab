"""What messages say, as the claims of a summary are looked up in it. Pure."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cached_property

from smart_context.base.text.dates import Period, dates_in
from smart_context.base.text.languages import main_language
from smart_context.chat.compaction import sent_text
from smart_context.chat.messages import Message
from smart_context.topics.summaries.numbers import numbers_in

MOST_READ = 2_000_000
"""The characters of the messages that are read."""

TIME = re.compile(r"(?<![\d:])(\d{1,2})[:.h](\d{2})(?!\d)\s?([ap])?", re.IGNORECASE)
"""A time of day: hour, minute, and the first letter of am or pm."""

_SEPARATORS = re.compile(r"[\W_]+")
_SHORT = 3
_LANGUAGE_FROM = 20_000


class Said:
    """What messages say, as it is looked up."""

    def __init__(self, messages: Sequence[Message]) -> None:
        texts = [text for message in messages for text in _texts_of(message)]
        self.text = unicodedata.normalize("NFC", "\n".join(texts))[:MOST_READ]
        self._days = {message.created_at[:10] for message in messages}

    @cached_property
    def folded(self) -> str:
        """The text for comparison: one form of each letter, no punctuation."""
        return f" {folded(self.text)} "

    @cached_property
    def run_on(self) -> str:
        """The same without spaces."""
        return self.folded.replace(" ", "")

    @cached_property
    def words(self) -> frozenset[str]:
        """Its words, folded."""
        return frozenset(self.folded.split())

    @cached_property
    def beginnings(self) -> frozenset[str]:
        """The beginnings of its words, of at least three characters."""
        return frozenset(word[:end] for word in self.words for end in range(3, len(word) + 1))

    @cached_property
    def numbers(self) -> frozenset[float]:
        """The values that it names."""
        return frozenset(v for number in numbers_in(self.text) for v in number.readings)

    @cached_property
    def times(self) -> frozenset[tuple[int, int]]:
        """The times of day, on a dial of twelve hours."""
        return frozenset((int(m[1]) % 12, int(m[2])) for m in TIME.finditer(self.text))

    @cached_property
    def dates(self) -> frozenset[Period]:
        """The dates that it names, and those on which it was said."""
        named = (reading for each in dates_in(self.text) for reading in each.readings)
        days = (
            reading for day in self._days for each in dates_in(day) for reading in each.readings
        )
        return frozenset((*named, *days))

    @cached_property
    def language(self) -> str:
        """Its main language; empty if unknown."""
        return main_language([self.text[:_LANGUAGE_FROM]])

    def has(self, literal: str) -> bool:
        """True if a text occurs, whatever its case, spaces and punctuation."""
        wanted = folded(literal)
        if not wanted or f" {wanted} " in self.folded:
            return True
        if len(wanted) <= _SHORT and wanted.isascii():  # scripts without spaces have no borders
            return _stands_alone(wanted, self.folded)
        return wanted.replace(" ", "") in self.run_on


def _stands_alone(wanted: str, text: str) -> bool:
    """True if no Latin letter and no digit is beside it; the text begins and ends with a space."""
    at = text.find(wanted)
    while at >= 0:
        around = text[at - 1], text[at + len(wanted)]
        if not any("a" <= each <= "z" or each.isdecimal() for each in around):
            return True
        at = text.find(wanted, at + 1)
    return False


def folded(text: str) -> str:
    """A text in one form of each letter, with single spaces in place of punctuation."""
    plain = unicodedata.normalize("NFKD", text.casefold())
    bare = "".join(c for c in plain if not ("\u0300" <= c <= "\u036f"))
    return _SEPARATORS.sub(" ", unicodedata.normalize("NFC", bare).replace("\u0640", "")).strip()


def _texts_of(message: Message) -> Iterator[str]:
    yield sent_text(message)
    yield from (str(each.get("name", "")) for each in message.files)
    yield from (f"{each.get('title', '')} {each.get('url', '')}" for each in message.links)

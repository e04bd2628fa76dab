"""Sections of a prompt, and which of them fit a budget.

A section's text is kept in pieces, so that the texts of files are not copied before the whole
prompt is joined. Budgets are in tokens; without a tokenizer a token is four characters.
"""

from collections.abc import Callable, Iterable, Sequence, Sized
from dataclasses import dataclass
from typing import Any, Protocol

CHARACTERS_PER_TOKEN = 4
CUT_NOTICE = "[Context truncated due to token limit]"
BETWEEN_SECTIONS = "\n\n"


class Encoding(Protocol):
    """A tokenizer as libraries have them."""

    def encode(self, text: str, /) -> Sized:
        """The tokens of a text."""


Tokenizer = Callable[[str], int | Sized] | Encoding
"""Counts the tokens of a text, or gives the tokens themselves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One part of a prompt that is kept or dropped as a whole.

    Attributes:
        key: Names the section; a key of the extra context, or one of `SECTION_KEYS`.
        pieces: Its text with its heading; joined without anything between.
        is_protected: Never dropped.
    """

    key: str
    pieces: tuple[str, ...]
    is_protected: bool = False


@dataclass(frozen=True, slots=True)
class Meter:
    """Measures text in what the budget is kept in: tokens if there is a tokenizer, or characters.

    Attributes:
        tokenizer: `None`, four characters are a token.
    """

    tokenizer: Tokenizer | None = None

    def limit(self, tokens: int) -> int:
        """The largest size of a text of so many tokens."""
        return max(0, tokens if self.tokenizer else tokens * CHARACTERS_PER_TOKEN)

    def size(self, pieces: Iterable[str]) -> int:
        """The size of the joined pieces."""
        if self.tokenizer is None:
            return sum(map(len, pieces))
        count: Any = getattr(self.tokenizer, "encode", self.tokenizer)
        counted = count("".join(pieces))
        return counted if isinstance(counted, int) else len(counted)

    def tokens(self, pieces: Iterable[str]) -> int:
        """The tokens of the joined pieces, rounded up."""
        size = self.size(pieces)
        return size if self.tokenizer else -(-size // CHARACTERS_PER_TOKEN)


def joined(sections: Iterable[Section]) -> list[str]:
    """The pieces of the sections with a blank line between two of them."""
    pieces: list[str] = []
    for section in sections:
        if pieces:
            pieces.append(BETWEEN_SECTIONS)
        pieces.extend(section.pieces)
    return pieces


def keep_within(
    sections: Sequence[Section], tokens: int, meter: Meter, *, around: int = 0
) -> tuple[Section, ...]:
    """The sections that stay: the last one that is not protected is dropped until the rest fits.

    Args:
        sections: In the order of the prompt, most important first.
        tokens: The budget.
        meter: Measures the sections joined, as they stand in the prompt.
        around: The size of what else is in the prompt, in the meter's measure.

    Returns:
        At least the protected sections, also when they alone are over the budget.
    """
    limit = meter.limit(tokens) - around
    kept = list(sections)
    for section in reversed(sections):
        if meter.size(joined(kept)) <= limit:
            break
        if not section.is_protected:
            kept.remove(section)
    return tuple(kept)


def cut(text: str, tokens: int, meter: Meter) -> str:
    """The text, or as much of its beginning as fits the budget together with a closing notice.

    A budget too small for the notice gets the beginning of the text alone.
    """
    limit = meter.limit(tokens)
    if meter.size([text]) <= limit:
        return text
    ending = BETWEEN_SECTIONS + CUT_NOTICE
    if meter.size([CUT_NOTICE]) > limit:
        return text[: _longest(text, "", limit, meter)]
    if meter.size([ending]) > limit:
        return CUT_NOTICE
    return text[: _longest(text, ending, limit, meter)] + ending


def _longest(text: str, ending: str, limit: int, meter: Meter) -> int:
    """How many characters of the text fit; tokenizers are nearly, not quite, monotonous."""
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        if meter.size([text[:middle], ending]) <= limit:
            low = middle
        else:
            high = middle - 1
    return low

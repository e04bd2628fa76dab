"""Sections of a prompt, and which of them fit a budget.

A section keeps its text in pieces, so that texts of files are copied only once, when the prompt
is joined. Budgets are in tokens; without a tokenizer a token is four characters.
"""

from collections.abc import Callable, Iterable, Sequence, Sized
from dataclasses import dataclass
from typing import Any, Protocol

CHARACTERS_PER_TOKEN = 4
CUT_NOTICE = "[Context truncated due to token limit]"
BETWEEN_SECTIONS = "\n\n"


class Encoding(Protocol):
    """A tokenizer as in the usual libraries."""

    def encode(self, text: str, /) -> Sized:
        """The tokens of a text."""


Tokenizer = Callable[[str], int | Sized] | Encoding
"""Counts the tokens of a text, or returns them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptSection:
    """A part of a prompt that is kept or dropped as a whole."""

    key: str  # names the section; a key of the extra context, or one of `SECTION_KEYS`
    pieces: tuple[str, ...]  # its text with its heading, to be joined
    is_protected: bool = False  # True if it is never dropped


@dataclass(frozen=True, slots=True)
class Meter:
    """Measures text in tokens if there is a tokenizer, else in characters."""

    tokenizer: Tokenizer | None = None  # `None` counts four characters as one token

    def limit(self, tokens: int) -> int:
        """The largest size of a text within a number of tokens."""
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


def joined(sections: Iterable[PromptSection]) -> list[str]:
    """The pieces of the sections, with a blank line in between."""
    pieces: list[str] = []
    for section in sections:
        if pieces:
            pieces.append(BETWEEN_SECTIONS)
        pieces.extend(section.pieces)
    return pieces


def keep_within(
    sections: Sequence[PromptSection], tokens: int, meter: Meter
) -> tuple[PromptSection, ...]:
    """Drop unprotected sections, the last first, until the rest fits.

    Args:
        sections: In the order of the prompt, most important first.

    Returns:
        At least the protected sections, even if they alone exceed the budget.
    """
    limit = meter.limit(tokens)
    kept = list(sections)
    for section in reversed(sections):
        if meter.size(joined(kept)) <= limit:
            break
        if not section.is_protected:
            kept.remove(section)
    return tuple(kept)


def cut(text: str, tokens: int, meter: Meter) -> str:
    """The text, or as much of it as fits the budget together with a closing notice.

    If the budget is too small for the notice, the notice is left out.
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
    """The number of characters that fit; assumes that longer texts have more tokens."""
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        if meter.size([text[:middle], ending]) <= limit:
            low = middle
        else:
            high = middle - 1
    return low

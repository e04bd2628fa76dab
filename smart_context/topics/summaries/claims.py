"""The claims of a summary that no message supports: numbers, dates, names, paths, quotations.

Only what can be looked up is checked: that a summary names something that is nowhere in what it
sums up. What it says about it may still be wrong. Pure; figures are in docs/history.md.
"""

import re
import string
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from smart_context.base.text.dates import Period, dates_in
from smart_context.chat.messages import Message
from smart_context.topics.summaries.names import names_in
from smart_context.topics.summaries.numbers import NamedNumber, numbers_in
from smart_context.topics.summaries.said import TIME, Said, folded

MOST_CLAIMS = 100
_QUOTES = re.compile(
    r"\u201c([^\u201c\u201d]{2,}?)\u201d|\u201e([^\u201e\u201c\u201d]{2,}?)[\u201c\u201d]|"
    r"\u00ab\s?([^\u00ab\u00bb]{2,}?)\s?\u00bb|\u300c([^\u300c\u300d]{1,}?)\u300d|"
    r"\u300e([^\u300e\u300f]{1,}?)\u300f|\u300a([^\u300a\u300b]{1,}?)\u300b|"
    r'(?<![\w"])"([^"\n]{2,}?)"(?![\w"])|(?<!\w)\u2018([^\u2018\u2019\n]{2,}?)\u2019(?!\w)|'
    r"(?<![\w'])'([^'\n]{2,}?)'(?!\w)"
)
_CODE = re.compile(r"(?<!`)(`{1,3})(?!`)([^`]+)\1(?!`)")
_PATH = re.compile(
    r"(?:https?://|www\.)[^\s<>()\u3000-\u303f\uff00-\uffef]+|"
    r"(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+|"
    r"(?<![\w/])(?:~|\.{1,2}|[A-Za-z]:)?(?:[/\\][\w.@+-]+)+[/\\]?|"
    r"(?<![\w./@+-])[\w.@+-]+(?:[/\\][\w.@+-]+)+[/\\]?|"
    r"(?<![\w.-])(?:(?![A-Za-z_])[\w-])*[A-Za-z_][\w-]*(?:\.[\w-]+)*"
    r"\.[A-Za-z][A-Za-z0-9]{0,4}(?![\w.])"
)
_IS_WORDS = re.compile(r"[^\W\d_]+/[^\W\d_]+")
_ELLIPSIS = re.compile(r"\u2026|\.{3}|\[\u2026\]")
_LISTED = re.compile(r"^[^\S\n]*(?:#+\s|[-*+]\s+|\d{1,3}[.)]\s+)", re.MULTILINE)
_SMALL = 1
"""One is in every text, as an article or a pronoun."""

_LONGEST_UNIT = 3
_LONGEST_TOKEN = 64
_IN_TOKENS = f"{string.ascii_letters}{string.digits}_"
_TOKEN_AFTER = re.compile(r"[A-Za-z0-9_]+")


class Claim(NamedTuple):
    """Something that a summary names."""

    start: int  # where it begins in the summary
    end: int  # where it ends


def unsupported(summary: str, messages: Sequence[Message]) -> list[str]:
    """The numbers, dates, names, paths and quotations that none of the messages has.

    As the summary spells them, in its order, each once. Another spelling of the same counts as the
    same: `1,000` and "a thousand", `2026-03-05` and "March 5".

    Args:
        summary: Its text, in Markdown.
        messages: What it sums up.
    """
    said = Said(messages)
    text = unicodedata.normalize("NFC", summary)
    text = _LISTED.sub("\n", text)
    texts: dict[str, None] = {}
    end = 0
    for claim in sorted(_first(_unsupported(text, said), text)):
        if claim.start >= end and (words := " ".join(text[claim.start : claim.end].split())):
            texts[words] = None
        end = max(end, claim.end)
    return list(texts)[:MOST_CLAIMS]


def _first(claims: Iterable[Claim], text: str) -> Iterator[Claim]:
    """As many claims as have `MOST_CLAIMS` texts: each one more is looked up in all messages."""
    seen: set[str] = set()
    for claim in claims:
        yield claim
        seen.add(text[claim.start : claim.end])
        if len(seen) >= MOST_CLAIMS:
            return


def _unsupported(text: str, said: Said) -> Iterator[Claim]:
    taken = bytearray(len(text))
    for kind in (_quotations, _paths, _dates, _times, _numbers):
        for claim, is_said in kind(text, said):
            if any(taken[claim.start : claim.end]):
                continue
            taken[claim.start : claim.end] = b"\1" * (claim.end - claim.start)
            if not is_said:
                yield claim
    for start, end in names_in(text, said):
        if not any(taken[start:end]):
            yield Claim(start, end)


Found = Iterable[tuple[Claim, bool]]
"""Claims, each with whether a message has it."""


def _quotations(text: str, said: Said) -> Found:
    for found in _QUOTES.finditer(text):
        quoted = next(group for group in found.groups() if group is not None)
        pieces = [piece for piece in _ELLIPSIS.split(quoted) if piece.strip()]
        yield Claim(*found.span()), all(said.has(piece) for piece in pieces)
    for found in _CODE.finditer(text):
        yield Claim(*found.span()), said.has(found[2])


def _paths(text: str, said: Said) -> Found:
    for found in _PATH.finditer(text):
        path = found[0].rstrip(".,;:!?")
        if _IS_WORDS.fullmatch(path) or folded(path).isdigit():
            continue
        is_said = said.has(path) or said.has(path.rstrip("/\\").removeprefix("./"))
        yield Claim(found.start(), found.start() + len(path)), is_said


def _dates(text: str, said: Said) -> Found:
    for named in dates_in(text):
        readings = [each for each in named.readings if each.month or each.day]
        if readings:
            yield Claim(named.start, named.end), any(_has_date(said, r) for r in readings)


def _has_date(said: Said, claimed: Period) -> bool:
    for known in said.dates:
        is_same = known.month == claimed.month and claimed.day in {None, known.day}
        is_year = claimed.year is None or known.year == claimed.year
        if is_same and (
            is_year or (known.year is None and float(claimed.year or 0) in said.numbers)
        ):
            return True
    return False


def _times(text: str, said: Said) -> Found:
    for found in TIME.finditer(text):
        hour, minute = int(found[1]), int(found[2])
        if hour <= 24 and minute < 60 and (":" in found[0] or found[3]):  # noqa: PLR2004 - a time of day
            is_said = (hour % 12, minute) in said.times or said.has(found[0])
            yield Claim(*found.span()), is_said


def _numbers(text: str, said: Said) -> Found:
    for number in numbers_in(text):
        if number.is_word and max(number.readings) <= _SMALL:
            continue
        start, end = _whole_token(text, number)
        unit = text[number.end : end]
        is_code = start < number.start or len(unit) > _LONGEST_UNIT or any(map(str.isdigit, unit))
        if is_code:
            yield Claim(start, end), said.has(text[start:end])
        else:
            yield Claim(start, end), not said.numbers.isdisjoint(number.readings)


def _whole_token(text: str, number: NamedNumber) -> tuple[int, int]:
    """The letters and digits around a number, as of `970JE5ZN`; a number in words as it is."""
    if number.is_word:
        return number.start, number.end
    before = text[max(0, number.start - _LONGEST_TOKEN) : number.start]
    start = number.start - len(before) + len(before.rstrip(_IN_TOKENS))
    after = _TOKEN_AFTER.match(text, number.end)
    return start, after.end() if after else number.end

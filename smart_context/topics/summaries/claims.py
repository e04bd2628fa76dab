"""The claims of a summary that no message supports: numbers, dates, names, paths, quotations.

Only names and values that can be looked up are checked: if the messages have them at all. The
statements about them may still be wrong. Pure; figures are in docs/history.md.
"""

import re
import string
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from smart_context.base.text.dates import Period, dates_in
from smart_context.base.text.word_lists import FUNCTION_CHARACTERS, PARTICLES, word_lists
from smart_context.base.text.words import is_stop_word
from smart_context.chat.messages import Message
from smart_context.topics.summaries.said import TIME, NamedNumber, SaidTexts, folded, numbers_in

Span = tuple[int, int]
"""The beginning and the end of a passage, in characters."""

_WORDS = word_lists(Path(__file__).with_name("name_words.txt"))
_HAN = "\u3400-\u9fff"
_PUNCTUATION = r"\s.,:;!?()\u3001\u3002\uff01\uff08\uff09\uff0c\uff1a\uff1b\uff1f"
_UNSPACED = "\u3040-\u30ff\u3400-\u9fff"
_LETTER = rf"[^\W\d_{_UNSPACED}]"
_WORD = re.compile(
    rf"{_LETTER}(?:(?![{_UNSPACED}])[\w'\u2019])*"
    rf"(?:[-\u2010]{_LETTER}(?:(?![{_UNSPACED}])[\w'\u2019])*)*"
)
_BEGINNING = re.compile(
    r"(?:^|[.!?:;\u2026\n\u3002\uff01\uff1f])[\s\"'\u201c\u201e\u00ab(\[*_>#-]*$"
)
_POSSESSIVE = re.compile(r"['\u2019]s?$")
_INFLECTED = 2
_SHORTEST = 2
_LONG = 4
_NEAR = 2
_BEFORE = 24


def _one_of(name: str) -> str:
    return "|".join(sorted(_WORDS[name], key=len, reverse=True))


_ORDINARY = re.compile(f".*(?:{_one_of('endings')})")
_BETWEEN_WORDS = re.compile(r"\W+")
_DETERMINING = {"e": 4, "en": 5, "er": 5, "es": 5, "em": 5}
"""Endings of adjectives, with the least length of a word that has one."""

_SURNAME = f"[{''.join(sorted(_WORDS['surnames']))}]"
_KATAKANA = re.compile("[\u30a1-\u30fa\u30fc\u30fb]{2,}")
_DOTTED = re.compile(f"[{_HAN}]{{1,6}}(?:\u00b7[{_HAN}]{{1,6}})+")
_PERSON = re.compile(
    f"(?:^|(?<=[{_PUNCTUATION}])|(?<={_one_of('before_surname')}))({_SURNAME}[{_HAN}]{{1,2}})"
    f"(?={_one_of('after_surname')}|[{_PUNCTUATION}]|$)",
    re.MULTILINE,
)
_ADDRESSED = re.compile(
    f"([{_HAN}\u30a0-\u30ff]{{1,5}})(?:{_one_of('address_ja')})|"
    f"({_SURNAME}[{_HAN}]{{0,2}})(?:{_one_of('address')})"
)
_PLACE = re.compile(f"([{_HAN}]{{2,8}}?)(?:{_one_of('places')})(?![{_HAN}])")
_TOLD = re.compile(
    f"(?:{_one_of('tells')})([{_HAN}]{{2,8}})(?=[{_PUNCTUATION}\\d]|{_one_of('after_surname')}|$)",
    re.MULTILINE,
)
_KOREAN = re.compile(rf"([\uac00-\ud7a3]{{2,4}})\s?(?:{_one_of('address_ko')})")


def names_in(text: str, said: SaidTexts) -> Iterator[Span]:
    """The spans of names in a summary that are in no message."""
    yield from _with_capitals(text, said)
    for pattern in (_KATAKANA, _DOTTED, _PERSON, _ADDRESSED, _KOREAN):
        for found in pattern.finditer(text):
            group = next((n for n in (1, 2) if n <= pattern.groups and found[n]), 0)
            if not said.has(found[group]):
                yield found.span(group)
    for found in _TOLD.finditer(text):
        pairs = [found[1][at : at + 2] for at in range(len(found[1]) - 1)]
        is_plain = not FUNCTION_CHARACTERS.union(PARTICLES).isdisjoint(found[1])
        if not is_plain and not any(map(said.has, pairs)):
            yield found.span(1)
    for found in _PLACE.finditer(text):
        near = found[1][-_NEAR:]
        if found[1][-1] not in _WORDS["no_place"] and not said.has(near):
            yield found.span()


def _with_capitals(text: str, said: SaidTexts) -> Iterator[Span]:
    run: list[tuple[re.Match[str], bool]] = []
    found = [*_WORD.finditer(text)]
    for place, match in enumerate(found):
        joins = bool(run) and text[run[-1][0].end() : match.start()] == " "
        is_name = _looks_like_name(text, found, place, said.language)
        if run and not (joins and is_name):
            yield from _span_of(run)
            run = []
        if is_name:
            run.append((match, _is_known(match[0], said)))
    yield from _span_of(run)


def _span_of(run: list[tuple[re.Match[str], bool]]) -> Iterator[Span]:
    """The span from the first to the last unknown word of a name."""
    unknown = [match for match, is_known in run if not is_known]
    if unknown:
        yield unknown[0].start(), unknown[-1].end()


def _looks_like_name(text: str, found: Sequence[re.Match[str]], place: int, language: str) -> bool:
    bare = found[place][0].rstrip("'\u2019")
    word = bare.casefold()
    if place and found[place - 1][0].casefold() in _WORDS["titles"]:
        return True
    if not bare[0].isupper() or len(bare) < _SHORTEST or word in _WORDS["left_out"]:
        return False
    if any(c.isupper() for c in bare[1:]):
        return True
    return not is_stop_word(word) and _has_name_capital(text, found, place, language)


def _has_name_capital(text: str, found: Sequence[re.Match[str]], place: int, language: str) -> bool:
    """True if a word has a capital because it is a name."""
    start, word = found[place].start(), found[place][0].casefold()
    if _BEGINNING.search(text, max(0, start - _BEFORE), start):
        return _is_name_at_beginning(text, found, place)
    is_noun = language == "de" and (
        _ORDINARY.fullmatch(word) or _is_determining(text[max(0, start - _BEFORE) : start])
    )
    return not is_noun


def _is_determining(before: str) -> bool:
    """True if a German text ends with a word that a noun follows, and a space."""
    if before == before.rstrip():
        return False
    word = _BETWEEN_WORDS.split(before.rstrip().lower())[-1]
    return (
        word in _WORDS["determiners"]
        or word.isdecimal()
        or any(word.endswith(end) and len(word) >= n for end, n in _DETERMINING.items())
    )


def _is_name_at_beginning(text: str, found: Sequence[re.Match[str]], place: int) -> bool:
    """True if the first word of a sentence, always capitalised, is a name by what follows."""
    word = found[place][0]
    if _ORDINARY.fullmatch(word.casefold()):
        return False
    if word.endswith(("'s", "\u2019s")):
        return True
    following = found[place + 1] if place + 1 < len(found) else None
    if following is None or text[found[place].end() : following.start()] != " ":
        return False
    after = following[0]
    return after.casefold() in _WORDS["after"] or (after[0].isupper() and not after.isupper())


def _is_known(word: str, said: SaidTexts) -> bool:
    bare = _POSSESSIVE.sub("", word)
    plain = folded(bare)
    if said.has(bare) or plain.rstrip("s") in said.words or f"{plain}s" in said.words:
        return True
    if said.language in {"en", ""} or len(plain) < _LONG:
        return False
    return plain[: max(_LONG - 1, len(plain) - _INFLECTED)] in said.beginnings


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
"""Numbers in words up to this are not checked: *one* is often an article or a pronoun."""

_LONGEST_UNIT = 3
_LONGEST_TOKEN = 64
_IN_TOKENS = f"{string.ascii_letters}{string.digits}_"
_TOKEN_AFTER = re.compile(r"[A-Za-z0-9_]+")


class SummaryClaim(NamedTuple):
    """A name or value in a summary."""

    start: int  # its first position in the summary
    end: int  # the position after it


def unsupported(summary: str, messages: Sequence[Message]) -> list[str]:
    """The numbers, dates, names, paths and quotations of a summary that are in no message.

    They are spelled as in the summary, in its order, each once. Other spellings of the same value
    are equal: `1,000` and "a thousand", `2026-03-05` and "March 5".

    Args:
        summary: Its text, in Markdown.
    """
    said = SaidTexts(messages)
    text = unicodedata.normalize("NFC", summary)
    text = _LISTED.sub("\n", text)
    texts: dict[str, None] = {}
    end = 0
    for claim in sorted(_first(_unsupported(text, said), text)):
        if claim.start >= end and (words := " ".join(text[claim.start : claim.end].split())):
            texts[words] = None
        end = max(end, claim.end)
    return list(texts)[:MOST_CLAIMS]


def _first(claims: Iterable[SummaryClaim], text: str) -> Iterator[SummaryClaim]:
    """The first claims, up to `MOST_CLAIMS` different texts: each is searched in all messages."""
    seen: set[str] = set()
    for claim in claims:
        yield claim
        seen.add(text[claim.start : claim.end])
        if len(seen) >= MOST_CLAIMS:
            return


def _unsupported(text: str, said: SaidTexts) -> Iterator[SummaryClaim]:
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
            yield SummaryClaim(start, end)


Found = Iterable[tuple[SummaryClaim, bool]]
"""Claims, each with True if a message has it."""


def _quotations(text: str, said: SaidTexts) -> Found:
    for found in _QUOTES.finditer(text):
        quoted = next(group for group in found.groups() if group is not None)
        pieces = [piece for piece in _ELLIPSIS.split(quoted) if piece.strip()]
        yield SummaryClaim(*found.span()), all(said.has(piece) for piece in pieces)
    for found in _CODE.finditer(text):
        yield SummaryClaim(*found.span()), said.has(found[2])


def _paths(text: str, said: SaidTexts) -> Found:
    for found in _PATH.finditer(text):
        path = found[0].rstrip(".,;:!?")
        if _IS_WORDS.fullmatch(path) or folded(path).isdigit():
            continue
        is_said = said.has(path) or said.has(path.rstrip("/\\").removeprefix("./"))
        yield SummaryClaim(found.start(), found.start() + len(path)), is_said


def _dates(text: str, said: SaidTexts) -> Found:
    for named in dates_in(text):
        readings = [each for each in named.readings if each.month or each.day]
        if readings:
            yield SummaryClaim(named.start, named.end), any(_has_date(said, r) for r in readings)


def _has_date(said: SaidTexts, claimed: Period) -> bool:
    for known in said.dates:
        is_same = known.month == claimed.month and claimed.day in {None, known.day}
        is_year = claimed.year is None or known.year == claimed.year
        if is_same and (
            is_year or (known.year is None and float(claimed.year or 0) in said.numbers)
        ):
            return True
    return False


def _times(text: str, said: SaidTexts) -> Found:
    for found in TIME.finditer(text):
        hour, minute = int(found[1]), int(found[2])
        if hour <= 24 and minute < 60 and (":" in found[0] or found[3]):  # noqa: PLR2004 - a time of day
            is_said = (hour % 12, minute) in said.times or said.has(found[0])
            yield SummaryClaim(*found.span()), is_said


def _numbers(text: str, said: SaidTexts) -> Found:
    for number in numbers_in(text):
        if number.is_word and max(number.readings) <= _SMALL:
            continue
        start, end = _whole_token(text, number)
        unit = text[number.end : end]
        is_code = start < number.start or len(unit) > _LONGEST_UNIT or any(map(str.isdigit, unit))
        if is_code:
            yield SummaryClaim(start, end), said.has(text[start:end])
        else:
            yield SummaryClaim(start, end), not said.numbers.isdisjoint(number.readings)


def _whole_token(text: str, number: NamedNumber) -> tuple[int, int]:
    """The span of the token around a number, such as `970JE5ZN`; of a number in words, its own."""
    if number.is_word:
        return number.start, number.end
    before = text[max(0, number.start - _LONGEST_TOKEN) : number.start]
    start = number.start - len(before) + len(before.rstrip(_IN_TOKENS))
    after = _TOKEN_AFTER.match(text, number.end)
    return start, after.end() if after else number.end

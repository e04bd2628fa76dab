"""The names in a summary that are in no message, in scripts with capitals and without. Pure.

Where a script has no capitals, only names with a title, a usual family name or the word for a kind
of place are found.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from smart_context.base.text.word_lists import FUNCTION_CHARACTERS, PARTICLES, word_lists
from smart_context.base.text.words import is_stop_word
from smart_context.topics.summaries.said import Said, folded

Span = tuple[int, int]
"""Where something begins and ends."""

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
"""Endings of adjectives, and how long a word with one is at least."""

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


def names_in(text: str, said: Said) -> Iterator[Span]:
    """Where a summary has names that are in no message.

    Args:
        text: The summary.
        said: What the messages say.
    """
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


def _with_capitals(text: str, said: Said) -> Iterator[Span]:
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
    """From the first to the last unknown word of a name."""
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
    """A first word has a capital anyway: what follows tells if it is a name."""
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


def _is_known(word: str, said: Said) -> bool:
    bare = _POSSESSIVE.sub("", word)
    plain = folded(bare)
    if said.has(bare) or plain.rstrip("s") in said.words or f"{plain}s" in said.words:
        return True
    if said.language in {"en", ""} or len(plain) < _LONG:
        return False
    return plain[: max(_LONG - 1, len(plain) - _INFLECTED)] in said.beginnings

"""Accepts names as labels: whole words, without speakers or courtesies."""

import re
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from functools import cache
from pathlib import Path

from smart_context.base.text.word_lists import STOP_WORDS_OF, word_lists
from smart_context.base.text.words import UNSPACED_RUN, is_stop_word
from smart_context.topics.naming.borders import whole_phrase
from smart_context.topics.naming.labels import clean_label

_BETWEEN = re.compile(r"[\s&,!?;:/]+")
_POSSESSIVE = re.compile("['\u2019]s?$")
_ARABIC_VERB = re.compile(
    "[وف]?(?!ت..ي.$|أ.[^ت]ا.$)"  # noqa: RUF001
    "(?:[أتين](?:ست)?[\u0621-\u064a]{3,4}|ي[\u0621-\u064a]{3,5})(?<!ة)"
    "|ت[\u0621-\u064a]{3}ني"
)
"""`تستمر`, `نحتاج`: a prefix and a root of three or four letters, hardly ever a name of its own.

`تنظيف` and `أطفال` are nouns.
"""

_HEBREW_VERB = re.compile("לה[\u05d0-\u05ea]{3,}(?<!ות)(?<!ים)")
"""`להכין`, `להשתמש`: infinitives, whose first letters are hardly ever those of a noun."""

_HEBREW_TO = re.compile("ל(?!בן|וח|חם|יד|ילה|ימו|קוח|שון)[\u05d0-\u05ea]{2,}(?<!ות)(?<!ים)")
"""`לגדל`, `לרופא`: *to* and a verb, or a noun; a noun is often said without it, too."""

_JOINED = re.compile("[وف](?=ال)|[بلكوف]|[ובלכמש]")
"""*And*, *in*, *to* and the like, which Arabic and Hebrew write together with the next word."""

_SHORTEST_NICKNAME, _SHORTEST_ALONE = 2, 3
_LONGEST_WORDS = 4


def accepted(text: str, texts: Sequence[str], speakers: AbstractSet[str]) -> str:
    """The label made from a name; empty if it is refused.

    Args:
        text: A phrase of the chat, or two joined by `&`.
        texts: The chat's messages, which show where words begin and end.
        speakers: The lower-cased names of the speakers.
    """
    parts = [_noun_phrase(part.strip(), texts) for part in text.split(" & ")]
    label = clean_label(" & ".join(parts))
    words = _words(label)
    if not all(parts) or not label or len(words) > _LONGEST_WORDS:
        return ""
    if any(_is_courtesy(word) or _is_speaker(word, speakers) for word in words):
        return ""
    if any(is_stop_word(last := _last_word(part)) or last.endswith("'s") for part in parts):
        return ""
    return label


def _noun_phrase(part: str, texts: Sequence[str]) -> str:
    """A phrase in whole words, without Arabic and Hebrew words at its edges that name nothing."""
    words = whole_phrase(part, texts).split()
    while len(words) > 1 and _names_nothing(words[0], texts):
        del words[0]
    while len(words) > 1 and _names_nothing(words[-1], texts):
        del words[-1]
    return " ".join([*(_without_joined(word, texts) for word in words[:1]), *words[1:]])


def _names_nothing(word: str, texts: Sequence[str]) -> bool:
    """True for an Arabic or Hebrew word that looks like a verb, or serves grammar."""
    is_verb = _ARABIC_VERB.fullmatch(word) or _HEBREW_VERB.fullmatch(word)
    may_be_verb = _HEBREW_TO.fullmatch(word) and _without_joined(word, texts) == word
    return bool(is_verb or may_be_verb) or any(word in STOP_WORDS_OF[code] for code in ("ar", "he"))


def _without_joined(word: str, texts: Sequence[str]) -> str:
    """A word without the *and* or *in* that is joined to it.

    Only if the chat says it alone, too: else the letter may be the word's own.
    """
    rest = _JOINED.sub("", word, count=1) if _JOINED.match(word) else ""
    if len(rest) < _SHORTEST_ALONE:
        return word
    alone = re.compile(rf"(?<!\w){re.escape(rest)}(?!\w)")
    return rest if any(alone.search(text) for text in texts) else word


def _last_word(part: str) -> str:
    """The last word in lower case; empty in a script without spaces."""
    return "" if UNSPACED_RUN.search(part) else part.lower().replace("\u2019", "'").split()[-1]


def is_courtesy(text: str) -> bool:
    """True if a message is only a greeting, thanks or the like."""
    if len(text) > _MOST_READ:
        return False
    if UNSPACED_RUN.search(text):
        return len(text) <= _LONGEST_UNSPACED and _is_all_courtesies(text)
    words = _words(text)
    if len(words) > _LONGEST_COURTESY:
        return False
    plain = [word.strip(".()\"'\u3002\uff0c\uff01\u2026\u060c\u0964") for word in words]
    return any(map(_is_courtesy, plain)) and all(
        _is_courtesy(word) or word in _FILLING for word in plain if word
    )


def is_said(text: str, texts: Sequence[str]) -> bool:
    """True if some text contains the words side by side."""
    return any(text.lower() in said.lower() for said in texts)


_LONGEST_COURTESY = 12
_MOST_READ = 1_000
"""Most characters of a courtesy: a message of megabytes would take a second to look through."""

_LONGEST_UNSPACED, _LITTLE = 24, 4
_FILLING = frozenset(
    (
        *("a", "all", "and", "for", "have", "help", "i", "is", "it", "much", "my", "of", "so"),
        *("that", "the", "this", "to", "very", "was", "you", "your", "day", "one", "are", "be"),
        *("see", "know", "makes", "sense", "get", "got", "ich", "habe", "zu", "wissen", "klingt"),
        *("je", "vois", "c'est", "גמור", "अच्छा", "ठीक", "गया", "गई", "جدا", "جزيلا"),
        *("too", "then", "well", "again", "now", "idea", "really", "will", "do", "need", "its"),
        *("sehr", "vielen", "dank", "das", "ist", "alles", "für", "die", "hilfe", "beaucoup"),
        *("pour", "votre", "aide", "muchas", "por", "su", "ayuda", "la", "tu", "bien"),
    )
)


def _words(text: str) -> list[str]:
    return [word for word in _BETWEEN.split(text.lower().replace("\u2019", "'")) if word]


def _is_all_courtesies(text: str) -> bool:
    """True if a text without spaces has almost nothing left once its courtesies are removed."""
    rest = text
    for courtesy in _unspaced_courtesies():
        rest = rest.replace(courtesy, "")
    return rest != text and sum(map(len, UNSPACED_RUN.findall(rest))) <= _LITTLE


def _is_courtesy(word: str) -> bool:
    if word in _courtesies():
        return True
    return bool(UNSPACED_RUN.search(word)) and any(
        courtesy in word or word in courtesy for courtesy in _unspaced_courtesies()
    )


@cache
def _courtesies() -> frozenset[str]:
    return word_lists(Path(__file__).with_name("courtesies.txt"))["courtesies"]


@cache
def _unspaced_courtesies() -> tuple[str, ...]:
    """Courtesies in scripts without spaces, the longest first, since they contain shorter ones."""
    found = filter(UNSPACED_RUN.match, _courtesies())
    return tuple(sorted(found, key=lambda word: (-len(word), word)))


def _is_speaker(word: str, speakers: AbstractSet[str]) -> bool:
    """True if a word is a speaker's name, or its beginning."""
    name = _POSSESSIVE.sub("", word)
    return any(
        name == speaker or (len(name) >= _SHORTEST_NICKNAME and speaker.startswith(name))
        for speaker in speakers
    )

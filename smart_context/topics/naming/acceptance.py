"""Accepts names as labels: whole words, without speakers or courtesies."""

import re
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from functools import cache
from itertools import islice
from pathlib import Path

from smart_context.base.text.word_lists import STOP_WORDS_OF, word_lists
from smart_context.base.text.words import UNSPACED_RUN, is_stop_word
from smart_context.chat.messages import Message
from smart_context.topics.naming.labels import clean_label
from smart_context.topics.naming.unspaced import begins_phrase, ends_phrase, is_korean, stretches_of

_HIRAGANA_EDGES = re.compile("^[\u3040-\u309f\u30fc]+|[\u3040-\u309f]+$")
_HIRAGANA = re.compile("[\u3040-\u309f]")
_KATAKANA = "\u30a0-\u30ff"
_KATAKANA_FIRST, _KATAKANA_LAST = re.compile(f"[{_KATAKANA}]"), re.compile(f"[{_KATAKANA}]$")
_COUNTED = re.compile("^[家个哪间这那几些](?=[\u3400-\u9fff]{2})")
_KANJI_LAST = re.compile("[\u3400-\u9fff]$")
_OKURIGANA = frozenset("しりきけみち")
_SHORTEST, _LONGEST = 2, 16
_MOST_TEXTS = 200


def whole_phrase(part: str, texts: Sequence[str]) -> str:
    """The phrase cut or extended to whole words; empty if none is left.

    Args:
        part: A phrase; in a script with spaces it is returned unchanged.
    """
    if not UNSPACED_RUN.search(part) or is_korean(part):
        return part
    trimmed = _COUNTED.sub("", _HIRAGANA_EDGES.sub("", part))
    if len(trimmed) < _SHORTEST:
        return ""
    return _with_okurigana(_grown(_with_katakana(trimmed, texts), texts), texts)


def _with_okurigana(part: str, texts: Sequence[str]) -> str:
    """The phrase with the hiragana that ends a noun wherever it is said: `引っ越し`."""
    if not (_HIRAGANA.search(part) and _KANJI_LAST.search(part)):
        return part
    after = [match[1] for text in texts for match in re.finditer(re.escape(part) + "(.?)", text)]
    if len(after) > 1 and len(set(after)) == 1 and after[0] in _OKURIGANA:
        return part + after[0]
    return part


def _with_katakana(part: str, texts: Sequence[str]) -> str:
    """The phrase, extended to the end of a loan word that it cuts."""
    before = f"[{_KATAKANA}]*" if _KATAKANA_FIRST.match(part) else ""
    after = f"[{_KATAKANA}]*" if _KATAKANA_LAST.search(part) else ""
    if not before and not after:
        return part
    pattern = re.compile(before + re.escape(part) + after)
    found = (match.group() for text in texts if (match := pattern.search(text)))
    return next(found, part)


def _grown(part: str, texts: Sequence[str]) -> str:
    """The phrase, extended by the characters that surround it wherever it occurs.

    A whole word has different neighbours; a piece of a name always has the same ones. Empty if
    the longer phrase begins with a verb.
    """
    if len(part) > _LONGEST:
        return part
    using = islice((text for text in texts if part in text), _MOST_TEXTS)
    runs = (run for text in using for run in UNSPACED_RUN.findall(text) if part in run)
    stretches = [stretch for run in runs for stretch in stretches_of(run) if part in stretch]
    sides = [piece for stretch in stretches for piece in _sides(stretch, part)]
    if len(sides) <= 1:
        return part
    before = _shared([left[::-1] for left, _ in sides])[::-1]
    after = _shared([right for _, right in sides])
    while before and (_COUNTED.match(before + part) or not begins_phrase(before + part)):
        before = before[1:]
    while after and not ends_phrase(part + after):
        after = after[:-1]
    whole = before + part + after
    if len(whole) > _LONGEST:
        return part
    return whole if whole == part or begins_phrase(whole) else ""


def _sides(stretch: str, part: str) -> list[tuple[str, str]]:
    """For each occurrence of the phrase, the nearest characters on either side."""
    starts = [match.start() for match in re.finditer(f"(?={re.escape(part)})", stretch)]
    ends = [start + len(part) for start in starts]
    return [
        (stretch[max(0, start - _LONGEST) : start], stretch[end : end + _LONGEST])
        for start, end in zip(starts, ends, strict=True)
    ]


def _shared(texts: Sequence[str]) -> str:
    """The beginning that all texts have in common, up to the first hiragana."""
    shared = ""
    for characters in zip(*texts, strict=False):
        if len(set(characters)) > 1 or _HIRAGANA.match(characters[0]):
            break
        shared += characters[0]
    return shared


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
"""`לגדל`, `לרופא`: *to* and a verb or a noun; a noun often occurs without it, too."""

_JOINED = re.compile("[وف](?=ال)|[بلكوف]|[ובלכמש]")
"""*And*, *in*, *to* and the like, which Arabic and Hebrew write together with the next word."""

_SHORTEST_NICKNAME, _SHORTEST_ALONE = 2, 3
_LONGEST_WORDS = 4


def accepted(text: str, texts: Sequence[str], speakers: AbstractSet[str]) -> str:
    """The label made from a name; empty if the name is refused.

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
    """True for an Arabic or Hebrew word that looks like a verb or is a function word."""
    is_verb = _ARABIC_VERB.fullmatch(word) or _HEBREW_VERB.fullmatch(word)
    may_be_verb = _HEBREW_TO.fullmatch(word) and _without_joined(word, texts) == word
    return bool(is_verb or may_be_verb) or any(word in STOP_WORDS_OF[code] for code in ("ar", "he"))


def _without_joined(word: str, texts: Sequence[str]) -> str:
    """A word without the *and* or *in* that is joined to it.

    Only if the word occurs alone in the chat, too: otherwise the letter may be part of it.
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
    plain = [*filter(None, (word.strip(_MARKS) for word in words))]
    polite, filling = _courtesies("polite"), _courtesies("filling")
    return any(_is_courtesy(word) or word in polite for word in plain) and all(
        _is_courtesy(word) or word in polite or word in filling for word in plain
    )


def courtesies_among(messages: Sequence[Message]) -> list[bool]:
    """For each message, True for a user's courtesy, and for a short answer to one."""
    courteous = [message.role == "user" and is_courtesy(message.text) for message in messages]
    return with_short_answers(messages, courteous)


def with_short_answers(messages: Sequence[Message], courteous: Sequence[bool]) -> list[bool]:
    """For each message, True if it is marked, or is a short answer to a marked user message."""
    found: list[bool] = []
    is_answer = False
    for message, is_one in zip(messages, courteous, strict=True):
        if message.role == "user":
            is_answer = is_one
        found.append(is_one or (is_answer and len(message.text) <= _SHORT_ANSWER))
    return found


def is_said(text: str, texts: Sequence[str]) -> bool:
    """True if some text contains the words side by side."""
    return any(text.lower() in said.lower() for said in texts)


_LONGEST_COURTESY = 12
_SHORT_ANSWER = 300
_MOST_READ = 1_000
"""The most characters of a courtesy: searching a message of megabytes would take a second."""

_LONGEST_UNSPACED, _LITTLE = 24, 1
_ASKS = re.compile("[?\uff1f吗嗎呢]")
_MARKS = ".()\"'\u3002\uff0c\uff01\u2026\u060c\u0964\u00bf\u00a1\u201e\u201c\u201d\u00ab\u00bb"


def _words(text: str) -> list[str]:
    return [word for word in _BETWEEN.split(text.lower().replace("\u2019", "'")) if word]


def _is_all_courtesies(text: str) -> bool:
    """True if a text without spaces has nothing left once its courtesies are removed.

    A question counts only if all of it is a courtesy: its beginning may be one, too.
    """
    rest, is_polite = text, False
    for word in _unspaced("courtesies", "polite", "filling"):
        is_polite |= word in rest and word not in _courtesies("filling")
        rest = rest.replace(word, " ")
    left = sum(map(len, UNSPACED_RUN.findall(rest)))
    return is_polite and left <= (0 if _ASKS.search(text) else _LITTLE)


def _is_courtesy(word: str) -> bool:
    if word in _courtesies():
        return True
    return bool(UNSPACED_RUN.search(word)) and any(
        courtesy in word or word in courtesy for courtesy in _unspaced("courtesies")
    )


@cache
def _courtesies(kind: str = "courtesies") -> frozenset[str]:
    return word_lists(Path(__file__).with_name("courtesies.txt"))[kind]


@cache
def _unspaced(*kinds: str) -> tuple[str, ...]:
    """Words in scripts without spaces, the longest first, since they contain shorter ones."""
    found = filter(UNSPACED_RUN.match, frozenset().union(*map(_courtesies, kinds)))
    return tuple(sorted(found, key=lambda word: (-len(word), word)))


def _is_speaker(word: str, speakers: AbstractSet[str]) -> bool:
    """True if a word is a speaker's name, or its beginning."""
    name = _POSSESSIVE.sub("", word)
    return any(
        name == speaker or (len(name) >= _SHORTEST_NICKNAME and speaker.startswith(name))
        for speaker in speakers
    )

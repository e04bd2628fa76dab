"""Estimates tokens from the parts of a text if the model's tokenizer is unknown. Pure.

The number of characters in a token depends on the text: four or more in prose, one in columns of
numbers. So pieces are counted as tokenizers form them: words, single digits, marks, white space.
Words that a tokenizer does not know, such as names and foreign words, are several pieces. The
weights are high, since too low a count makes requests too long: those of cl100k, which has more
tokens for most languages than newer tokenizers, and of tokenizers with a token for each digit.
Known facts about a model's tokenizer correct each part separately.
"""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import ceil
from typing import NamedTuple

from smart_context.llm.word_pieces import pieces_of, without_accents

_WORD = re.compile(r"[ _.]?(?:[A-Z]{1,40}(?![a-z])|[A-Z]?[a-z]{1,40})", re.ASCII)
_PIECE = re.compile(
    rf"{_WORD.pattern}|\d|[\s\x00-\x1f\x7f]{{1,16}}| ?[!-/:-@\[-`{{-~]{{1,3}}", re.ASCII
)
_LATIN_WORD = re.compile("[ _.]?[A-Za-z\u00c0-\u024f\u1e00-\u1eff]++")
_BEFORE_WORDS = " _."
_PER_KNOWN_WORD = 1.02
_PER_PIECE_OF_A_WORD = 0.87
_PER_PIECE_OF_A_NAME = 1.1
_PER_PIECE = 1.15
"""Tokens for each piece of these kinds; `python -m tests.benchmarks.bench_counts` compares the sums
with what tokenizers count."""

_CAPITALS = 4
"""Letters in a piece of a word in capitals."""
_CHARACTERS_PER_TOKEN = 5
_LONGEST_PIECE = 16
_REMEMBERED_WORDS = 50_000

_CODE = re.compile(r"[A-Za-z\d]{20,}", re.ASCII)

_SCRIPTS: tuple[tuple[int, str, float], ...] = (
    (0x80, "others", 1.0),
    (0xC0, "latin", 0.55),  # in addition to the pieces of its word
    (0x250, "latin", 2.4),  # phonetic letters, and accents by themselves
    (0x370, "other_scripts", 0.95),  # Greek
    (0x400, "cyrillic", 0.47),
    (0x450, "cyrillic", 1.8),  # of languages other than Russian and Bulgarian
    (0x530, "other_scripts", 2.2),  # Armenian
    (0x590, "other_scripts", 1.1),  # Hebrew
    (0x600, "arabic", 0.8),
    (0x66E, "arabic", 1.0),  # Persian, Urdu
    (0x700, "other_scripts", 1.1),
    (0x900, "devanagari", 1.2),
    (0x980, "other_scripts", 1.6),  # Bengali
    (0xA00, "other_scripts", 2.1),
    (0xB00, "other_scripts", 3.0),
    (0xB80, "other_scripts", 1.7),  # Tamil
    (0xC00, "other_scripts", 2.1),  # Telugu, Kannada, Malayalam
    (0xD80, "other_scripts", 2.3),
    (0xE00, "other_scripts", 1.15),  # Thai
    (0xE80, "other_scripts", 2.3),
    (0x1100, "other_scripts", 3.0),  # Ethiopic and others
    (0x1780, "other_scripts", 1.85),  # Khmer
    (0x1800, "other_scripts", 3.0),
    (0x1E00, "latin", 1.3),  # Vietnamese
    (0x1F00, "other_scripts", 2.0),
    (0x2000, "others", 0.8),
    (0x2070, "others", 1.6),
    (0x2C00, "other_scripts", 3.0),
    (0x3000, "han", 1.2),  # its punctuation
    (0x3040, "kana", 1.0),
    (0x3100, "han", 1.4),
    (0xA000, "other_scripts", 3.0),
    (0xAC00, "hangul", 1.12),
    (0xD7B0, "other_scripts", 3.0),
    (0xF900, "han", 2.0),
    (0xFB00, "other_scripts", 1.5),
    (0xFF00, "han", 1.4),
    (0xFFF0, "other_scripts", 1.5),
    (0x10000, "signs", 3.0),
)
"""The first character of each range beyond ASCII, its part, and the tokens of a character."""
_STARTS = [first for first, _, _ in _SCRIPTS]
_BEYOND_ASCII = re.compile(r"[^\x00-\x7f]")


class TokenParts(NamedTuple):
    """The tokens of each part of a text, or a factor for each part."""

    words: float = 0.0
    digits: float = 0.0
    marks: float = 0.0  # and white space
    codes: float = 0.0  # long runs of letters and digits, such as digests
    latin: float = 0.0  # words with letters beyond ASCII
    cyrillic: float = 0.0
    arabic: float = 0.0
    devanagari: float = 0.0
    han: float = 0.0
    kana: float = 0.0
    hangul: float = 0.0
    other_scripts: float = 0.0  # from Greek to those of India and South-East Asia
    signs: float = 0.0
    others: float = 0.0


AS_ESTIMATED = TokenParts(*[1.0] * len(TokenParts._fields))
"""The factors of a model whose tokenizer is unknown."""

LEAST_FACTOR, MOST_FACTOR = 0.2, 3.0


def parts_of(text: str) -> TokenParts:
    """The parts of a text, each on the high side."""
    rest, codes = text, 0
    for run in _CODE.findall(text) if len(text) >= _LONGEST_PIECE else ():
        if not (run.isalpha() or run.isdigit()):
            codes += len(run)
            rest = rest.replace(run, "\x80", 1)  # a character that no part counts
    others: dict[str, float] = {}
    if not text.isascii():
        others = _beyond_ascii(text)
        accented = [word for word in _LATIN_WORD.findall(rest) if not word.isascii()]
        if accented:
            bare = "".join(accented).translate(without_accents())
            others["latin"] += sum(map(_tokens_of_word, _WORD.findall(bare)))
            rest = _LATIN_WORD.sub(lambda found: found[0] if found[0].isascii() else "\x80", rest)
    words = _WORD.findall(rest)
    digits = sum(map(rest.count, "0123456789"))
    marks = _PER_PIECE * max(len(_PIECE.findall(rest)) - len(words) - digits, 0)
    return TokenParts(sum(map(_tokens_of_word, words)), digits, marks, codes, **others)


@lru_cache(_REMEMBERED_WORDS)
def _tokens_of_word(word: str) -> float:
    """The tokens of a word and the text before it."""
    word = word.lstrip(_BEFORE_WORDS)
    if len(word) > 1 and word.isupper():
        return _PER_PIECE * ceil(len(word) / _CAPITALS)
    pieces = pieces_of(word)
    if pieces == 1:
        return _PER_KNOWN_WORD
    return pieces * (_PER_PIECE_OF_A_NAME if word[0].isupper() else _PER_PIECE_OF_A_WORD)


def _beyond_ascii(text: str) -> dict[str, float]:
    """The tokens of all characters beyond ASCII, by part."""
    found: dict[str, float] = {}
    for character, times in Counter(_BEYOND_ASCII.findall(text)).items():
        _, part, tokens = _SCRIPTS[bisect_right(_STARTS, ord(character)) - 1]
        found[part] = found.get(part, 0.0) + tokens * times
    return found


def tokens_in(parts: TokenParts, factors: TokenParts = AS_ESTIMATED) -> float:
    """The tokens of all parts."""
    return sum(map(float.__mul__, map(float, parts), map(float, factors)))


def estimate(text: str) -> int:
    """The tokens of a text; never more than its bytes in UTF-8."""
    return estimated(text, parts_of(text))


def estimated(text: str, parts: TokenParts) -> int:
    """The tokens of a text with these parts; at least one for five ASCII characters."""
    beyond = 0 if text.isascii() else len(_BEYOND_ASCII.findall(text))
    beyond_ascii = sum(parts[TokenParts._fields.index("latin") :])
    ascii_tokens = (len(text) - beyond) / _CHARACTERS_PER_TOKEN
    return whole_tokens(text, max(tokens_in(parts), ascii_tokens + beyond_ascii))


def whole_tokens(text: str, tokens: float) -> int:
    """The tokens of a text rounded up, and no more than its bytes."""
    return min(ceil(round(tokens, 6)), utf8_bytes(text))


def utf8_bytes(text: str) -> int:
    """The bytes of a text in UTF-8; its tokens are never more."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def beginning(text: str, most_tokens: int) -> str:
    """The longest prefix of a text that is estimated at `most_tokens` or fewer."""
    head = text[: _LONGEST_PIECE * most_tokens]
    if estimate(head) <= most_tokens:
        return head
    lengths = range(len(head) + 1)
    return head[: bisect_right(lengths, most_tokens, key=lambda n: estimate(head[:n])) - 1]


SAMPLES: Mapping[str, str] = {
    "words": (
        "When the rain stopped, we walked to the harbour and watched the boats come home. My "
        "sister had brought bread, cheese and a few apples, and nobody wanted to leave before "
        "sunset. What would you have done? I suppose the evening was worth more than the train. "
        "Der Zug kam erst am Abend an, und wir haben danach noch lange im Garten gesessen."
    ),
    "marks": """\
def read(path, *, encoding="utf-8"):
    rows = [line.split(";") for line in open(path, encoding=encoding) if line.strip()]
    return {row[0]: [int(cell) for cell in row[1:]] for row in rows}

if (!seen.has(key)) { seen.set(key, { count: 1, items: [] }); }
<li class="row"><a href="/list?sort=name">Name</a></li>
{
  "name": "Village fair",
  "open": true,
  "days": ["Friday", "Saturday"],
  "place": {
    "street": "Mill Lane",
    "seats": null
  }
}
""",
    "digits": """\
date,place,reading,share
2023-11-04,North,4817.25,0.0381
2023-11-05,East,90.5,0.7142
2023-11-06,West,12873.75,0.2209
{"x": 51.477928, "y": -0.001545, "at": 1699056000}
""",
    "codes": (
        "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08 "
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855 "
        "aGVsbG8sIHRoaXMgaXMgYSBsb25nIHRleHQgaW4gYmFzZTY0"
    ),
    "latin": (
        "Večer jsme seděli u řeky a přemýšleli, kam pojedeme příští léto. Yarın sabah çocuklarla "
        "göl kıyısında yürüyüş yapıp kahvaltıyı dışarıda edeceğiz. Vakarā mēs gājām gar jūru un "
        "runājām par nākamo gadu."
    ),
    "cyrillic": (
        "Вечером мы сидели на кухне, пили чай и говорили о летней поездке. Утре сутринта ще отидем "
        "на пазара да купим хляб, сирене и малко плодове за децата."
    ),
    "arabic": (
        "أصلح النجار الخزانة القديمة ثم طلى أبوابها بلون أخضر. دیروز با دوستم به کتابخانه رفتیم و "
        "چند کتاب قدیمی گرفتیم."
    ),
    "devanagari": (
        "कल शाम को हम बाज़ार गए और दोस्तों के लिए मिठाई लाए। घर लौटते समय बहुत बारिश हो रही थी।"
    ),
    "han": (
        "周末我们打算去郊外的湖边钓鱼，如果天气不好就留在家里看书。请问这本词典多少钱。"
        "他说公司下个月要搬到新的办公楼。醫生說他應該多喝水，晚上早點睡覺。"
    ),
    "kana": (
        "祖母の家の庭で柿を収穫し、近所の方々に配りました。あしたの午後には新しい冷蔵庫が届くそうです。"
    ),
    "hangul": (
        "어제 저녁에 친구와 시장에 가서 과일과 빵을 샀어요. 내일 아침에는 산책을 하려고 합니다."
    ),
}
"""For each part a text that is rich in it. The order matters: a text also has parts of the texts
before it."""

_MORE = 1.15
"""The factor on samples: other texts take up to a seventh more."""


def factors_by(counts: Sequence[int]) -> TokenParts:
    """The factors of a model from its tokenizer's counts for each of `SAMPLES`."""
    factors = AS_ESTIMATED
    for (name, text), count in zip(SAMPLES.items(), counts, strict=True):
        parts = parts_of(text)
        own = getattr(parts, name)
        known = tokens_in(parts, factors._replace(**{name: 0.0}))
        factors = factors._replace(**{name: _bounded((_MORE * count - known) / own)})
    return factors


_AT_LEAST = 0.3
_NEAR = 1.15
_ENOUGH = 1.05
"""The factor on counted requests: later texts of the same kind may take a twentieth more."""


def factors_after(factors: TokenParts, parts: TokenParts, counted: int) -> TokenParts:
    """The factors after an endpoint has counted the tokens of a request with these parts.

    The error is distributed over the parts; larger parts change more. Nearly correct factors
    stay, so that numbers do not move at each answer. A count that is far off is ignored: the server
    has added something, or did not count everything again.
    """
    size = sum(part**2 for part in parts)
    expected = tokens_in(parts, factors)
    is_near = counted <= expected <= _NEAR * counted
    if is_near or not (size and _AT_LEAST < counted / expected < MOST_FACTOR):
        return factors
    off = _ENOUGH * counted - expected
    learned = (f + off * part / size for f, part in zip(factors, parts, strict=True))
    return TokenParts(*map(_bounded, learned))


def _bounded(factor: float) -> float:
    return min(max(factor, LEAST_FACTOR), MOST_FACTOR)

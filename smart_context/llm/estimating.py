"""Estimates tokens by what a text is made of, where the model's tokenizer is unknown. Pure.

Characters in a token differ by the kind of text: four and more in prose, one in columns of numbers.
So pieces are counted as tokenizers form them: words, single digits, marks, white space. It is meant
to be too high rather than too low; tests/benchmarks/bench_counts.py compares it with tokenizers.
"""

import re
from bisect import bisect_right
from math import ceil
from typing import Literal

Kind = Literal["prose", "code", "numbers", "other script"]

_PIECE = re.compile(
    r"[ _.]?(?:[A-Z]?[a-z]{1,8}|[A-Z]{1,3})|\d"
    r"|[\s\x00-\x1f\x7f]{1,16}| ?[!-/:-@\[-`{-~]{1,3}",
    re.ASCII,
)
_LONGEST_PIECE = 16

_ALNUM_RUN = re.compile(r"(?<![A-Za-z\d])[A-Za-z\d]{20,}", re.ASCII)
_RANDOM_PER_CHARACTER = 0.9

_SCRIPTS = (
    (re.compile("[\u3000-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef]"), 0.78),
    (re.compile("[\u0900-\u1dff\ud800-\udfff\ue000-\uf8ff\ufb00-\ufeff\ufff0-\uffff]"), 1.1),
    (re.compile("[\U00010000-\U0010ffff]"), 3.0),
)
"""Scripts by the tokens of a character: of East Asia, those with letters in parts, signs."""
_BEYOND_ASCII = re.compile(r"[^\x00-\x7f]")
_OTHERS_PER_CHARACTER = 0.65

_LOOKED_AT = 4_000
_NUMBERS_SHARE, _SCRIPT_SHARE, _CODE_SHARE = 0.3, 0.4, 0.2


def estimate(text: str) -> int:
    """The tokens of a text; never more than its bytes in UTF-8."""
    pieces: float = len(_PIECE.findall(text))
    if len(text) >= _LONGEST_PIECE:
        for run in _ALNUM_RUN.findall(text):
            if not run.isalpha():  # such as a digest: letters that form no words
                pieces += max(_RANDOM_PER_CHARACTER * len(run) - len(_PIECE.findall(run)), 0)
    return ceil(pieces + (0 if text.isascii() else _of_scripts(text)))


def _of_scripts(text: str) -> float:
    """The tokens of all characters beyond ASCII."""
    others = len(_BEYOND_ASCII.findall(text))
    tokens = 0.0
    for script, weight in _SCRIPTS:
        found = len(script.findall(text))
        tokens, others = tokens + weight * found, others - found
    return tokens + _OTHERS_PER_CHARACTER * others


def beginning(text: str, most_tokens: int) -> str:
    """The longest prefix of a text that is estimated at `most_tokens` or fewer."""
    head = text[: _LONGEST_PIECE * most_tokens]
    if estimate(head) <= most_tokens:
        return head
    lengths = range(len(head) + 1)
    return head[: bisect_right(lengths, most_tokens, key=lambda n: estimate(head[:n])) - 1]


def kind_of(text: str) -> Kind:
    """What a text mostly is, by its first 4,000 characters."""
    head = text[:_LOOKED_AT]
    tokens = max(estimate(head), 1)
    if not head.isascii() and _of_scripts(head) > _SCRIPT_SHARE * tokens:
        return "other script"
    if sum(map(head.count, "0123456789")) > _NUMBERS_SHARE * tokens:
        return "numbers"
    if sum(map(head.count, '{}()[];=<>"_')) > _CODE_SHARE * tokens:
        return "code"
    return "prose"

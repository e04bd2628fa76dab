"""Measured figures, as JSON for programs and as lines for people."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
from numpy.typing import NDArray

from smart_context.base.values import JsonObject
from smart_context.cli.evaluation.dialogues import DialogueKind
from smart_context.cli.evaluation.measures import (
    DEPTHS,
    Figures,
    Findings,
    Growth,
    Match,
    MessageCounts,
    Sample,
    means,
)

BINS = 10


@dataclass(frozen=True, kw_only=True, eq=False)
class Reliability:
    """A calibration curve of `BINS` bins of equal width."""

    counts: NDArray[np.intp]  # the number of messages in each bin
    predicted: NDArray[np.float64]  # the mean of their probabilities; 0 for an empty bin
    observed: NDArray[np.float64]  # the share of them that belong to the topic; 0 for an empty bin

    @property
    def error(self) -> float:
        """The expected calibration error: the mean difference over all messages."""
        return self._error(self.counts)

    @property
    def error_above(self) -> float:
        """The same without the first bin, which holds nearly all messages of a long chat."""
        counts = self.counts.copy()
        counts[0] = 0
        return self._error(counts)

    def _error(self, counts: NDArray[np.intp]) -> float:
        off = np.abs(self.predicted - self.observed)
        return float((off * counts).sum() / max(int(counts.sum()), 1))


def reliability_of(samples: Sequence[Sample]) -> Reliability | None:
    """The curve of all messages of these samples; `None` if no scores are probabilities."""
    used = [sample for sample in samples if sample.are_probabilities and len(sample.scores)]
    if not used:
        return None
    scores = np.concatenate([sample.scores for sample in used]).astype(np.float64)
    belongs = np.concatenate([sample.belongs for sample in used]).astype(np.float64)
    bins = np.clip((scores * BINS).astype(np.intp), 0, BINS - 1)
    counts = np.bincount(bins, minlength=BINS)
    some = np.maximum(counts, 1)
    return Reliability(
        counts=counts,
        predicted=np.bincount(bins, scores, BINS) / some,
        observed=np.bincount(bins, belongs, BINS) / some,
    )


Series = tuple[str, str, NDArray[np.float64]]
"""A name, a colour and a value for each step."""

STEPS = np.linspace(0.0, 1.0, 51)
_BINS = np.linspace(-0.2, 1.0, 49)
_WIDTH, _HEIGHT, _LEFT, _TOP, _GAP, _ROW = 440, 260, 56, 64, 76, 356
_BLUE, _GREEN, _ORANGE, _GREY = "#2563a8", "#2a8659", "#c2571a", "#6b7280"


def curve_of(samples: Sequence[Sample]) -> tuple[Series, Series, Series]:
    """Precision, recall and F1 over all messages, with each of `STEPS` as the threshold.

    Precision is 1 where no message reaches the threshold.
    """
    scores, belongs = _scores(samples)
    wanted = max(int(belongs.sum()), 1)
    order = np.sort(scores)
    right_order = np.sort(scores[belongs])
    found = len(order) - np.searchsorted(order, STEPS - 1e-6)
    right = len(right_order) - np.searchsorted(right_order, STEPS - 1e-6)
    precision = np.where(found > 0, right / np.maximum(found, 1), 1.0)
    return (
        ("precision", _BLUE, precision),
        ("recall", _ORANGE, right / wanted),
        ("F1", _GREEN, 2 * right / np.maximum(found + wanted, 1)),
    )


def histogram_of(samples: Sequence[Sample]) -> tuple[Series, Series]:
    """The share of messages in each bin, for those that belong and for the others."""
    scores, belongs = _scores(samples)
    clipped = np.clip(scores, _BINS[0], _BINS[-1])
    shares = []
    for chosen in (belongs, ~belongs):
        counts, _ = np.histogram(clipped[chosen], _BINS)
        shares.append(counts / max(int(chosen.sum()), 1))
    return ("about the topic", _ORANGE, shares[0]), ("others", _BLUE, shares[1])


def picture(title: str, drawn: Sequence[tuple[str, Sequence[Sample]]], threshold: float) -> str:
    """An SVG document with a row of charts for each file.

    Probabilities have a third chart: their observed frequencies. The threshold is not marked in
    it, since its effect is decided for each chat as a whole.

    Args:
        title: The title, also for screen readers.
        drawn: The files' names and scores; a file without scores has no row.
        threshold: The threshold, marked by a line.
    """
    rows = [(name, samples) for name, samples in drawn if samples]
    charts = [
        _row(_TOP + number * _ROW, name, samples, threshold)
        for number, (name, samples) in enumerate(rows)
    ]
    columns = 3 if any(_are_probabilities(samples) for _, samples in rows) else 2
    width = columns * (_WIDTH + _GAP) - _GAP + _LEFT + 24
    height = _TOP + max(1, len(rows)) * _ROW
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
        f'font-family="system-ui, sans-serif" font-size="12">\n<title>{escape(title)}</title>\n'
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>\n'
        f"{_text(_LEFT, 24, title, size=15)}\n{''.join(charts)}</svg>\n"
    )


def _are_probabilities(samples: Sequence[Sample]) -> bool:
    return any(sample.are_probabilities for sample in samples)


def _row(top: int, name: str, samples: Sequence[Sample], threshold: float) -> str:
    marked = None if _are_probabilities(samples) else threshold
    curve = _chart(
        (_LEFT, top),
        f"{name}: every threshold",
        (0.0, 1.0),
        (STEPS, curve_of(samples), 1.0),
        marked,
    )
    bars = histogram_of(samples)
    middles = (_BINS[:-1] + _BINS[1:]) / 2
    most = max(0.01, *(float(values.max()) for _, _, values in bars))
    shares = _chart(
        (_LEFT + _WIDTH + _GAP, top),
        "scores, share of messages",
        (-0.2, 1.0),
        (middles, bars, most),
        marked,
    )
    return curve + shares + _reliability(top, samples)


def _reliability(top: int, samples: Sequence[Sample]) -> str:
    """The observed share of each bin of probabilities; empty if there are none."""
    found = reliability_of(samples)
    if found is None:
        return ""
    some = found.counts > 0
    predicted = found.predicted[some]
    series: tuple[Series, Series] = (
        ("observed", _ORANGE, found.observed[some]),
        ("as predicted", _GREY, predicted),
    )
    return _chart(
        (_LEFT + 2 * (_WIDTH + _GAP), top),
        f"predicted and observed, error {found.error:.4f}",
        (0.0, 1.0),
        (predicted, series, 1.0),
        None,
    )


def _chart(
    corner: tuple[int, int],
    heading: str,
    span: tuple[float, float],
    drawn: tuple[NDArray[np.float64], Sequence[Series], float],
    threshold: float | None,
) -> str:
    left, top = corner
    places, series, most = drawn

    def across(value: float) -> float:
        return left + _WIDTH * (value - span[0]) / (span[1] - span[0])

    def up(value: float) -> float:
        return top + _HEIGHT * (1 - value / most)

    lines = [_text(left, top - 12, heading, size=13), _axes(left, top, span, most, across)]
    for number, (name, colour, values) in enumerate(series):
        points = " ".join(
            f"{across(x):.1f},{up(y):.1f}" for x, y in zip(places, values, strict=True)
        )
        dash = ("", "6 3", "2 3")[number]
        lines.append(
            f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2" '
            f'stroke-dasharray="{dash}"/>'
        )
        lines.append(
            _text(left + 12 + 120 * number, top + _HEIGHT + 44, f"{'—╌┈'[number]} {name}", colour)
        )
    if threshold is None:
        return "\n".join(lines) + "\n"
    x = across(min(max(threshold, span[0]), span[1]))
    lines.append(
        f'<line x1="{x:.1f}" y1="{top}" x2="{x:.1f}" y2="{top + _HEIGHT}" stroke="{_GREY}"/>'
    )
    lines.append(_text(x + 4, top + 12, f"threshold {threshold:g}", _GREY))
    return "\n".join(lines) + "\n"


def _axes(
    left: int, top: int, span: tuple[float, float], most: float, across: Callable[[float], float]
) -> str:
    frame = (
        f'<rect x="{left}" y="{top}" width="{_WIDTH}" height="{_HEIGHT}" fill="none" '
        f'stroke="{_GREY}" stroke-opacity="0.5"/>'
    )
    below = (
        _text(across(value) - 9, top + _HEIGHT + 18, f"{value:.1f}", _GREY)
        for value in np.arange(np.ceil(span[0] * 5) / 5, span[1] + 0.01, 0.2).tolist()
    )
    beside = (
        _text(left - 40, top + 4 + _HEIGHT * (1 - part), f"{most * part:.2f}", _GREY)
        for part in (0.0, 0.5, 1.0)
    )
    return "\n".join((frame, *below, *beside))


def _text(x: float, y: float, words: str, colour: str = "#111827", *, size: int = 12) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" fill="{colour}" font-size="{size}">{escape(words)}</text>'
    )


def _scores(samples: Sequence[Sample]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    if not samples:
        return np.zeros(0), np.zeros(0, dtype=np.bool_)
    return (
        np.concatenate([sample.scores for sample in samples]).astype(np.float64),
        np.concatenate([sample.belongs for sample in samples]),
    )


_ROWS = (
    ("dialogues", ("dialogues",)),
    ("messages", ("messages",)),
    *((f"evidence recall @{depth}", ("evidence_recall", str(depth))) for depth in DEPTHS),
    *(
        (f"pooled recall @{depth}, no trap questions", ("evidence_pooled", str(depth)))
        for depth in DEPTHS
    ),
    ("typed topics", ("asked", "count")),
    ("precision at the threshold", ("asked", "precision")),
    ("recall at the threshold", ("asked", "recall")),
    ("F1 at the threshold", ("asked", "f1")),
    ("topics that find a message", ("asked", "found")),
    ("share of evidence sent", ("asked", "evidence")),
    ("share of tokens sent", ("asked", "tokens")),
    ("evidence for as many tokens: newest", ("asked", "newest")),
    ("evidence for as many tokens: BM25", ("asked", "bm25")),
    ("evidence for as many tokens: cosine", ("asked", "cosine")),
    ("evidence for as many tokens: both + neighbours", ("asked", "both")),
    ("evidence in a new chat: recalled", ("recalled", "all", "recall")),
    ("evidence in a new chat: newest", ("recalled", "all", "newest")),
    ("evidence in a new chat: BM25", ("recalled", "all", "bm25")),
    ("evidence in a new chat: cosine", ("recalled", "all", "cosine")),
    ("evidence in a new chat: both + neighbours", ("recalled", "all", "both")),
    ("absent topics that find no message", ("absent", "share")),
    ("short labels that find a message", ("short", "share")),
    ("calibration error", ("calibration", "error")),
    ("calibration error from 0.1 on", ("calibration", "error_above")),
    ("found topics, adjusted Rand", ("agreement", "adjusted_rand")),
    ("found topics, coverage", ("agreement", "coverage")),
    ("found topics per subject", ("agreement", "topics_each")),
    ("share of chats with one topic", ("agreement", "single")),
    ("largest topic, share of its chat", ("agreement", "largest")),
    ("same-topic precision", ("same_topic", "precision")),
    ("same-topic recall", ("same_topic", "recall")),
    ("same-topic F1", ("same_topic", "f1")),
    ("growing: steps", ("growth", "steps")),
    ("growing: messages that change topic, a step", ("growth", "changed")),
    ("growing: topics that fall apart, 100 steps", ("growth", "apart")),
    ("growing: pairs of half-time together", ("growth", "together")),
    ("growing: labels changed though half stayed", ("growth", "relabelled")),
    ("growing: adjusted Rand against afresh", ("growth", "gained")),
    ("growing: most topics on top", ("growth", "most")),
    ("growing: topics with the same messages", ("growth", "duplicates")),
    ("sticky recall", ("sticky", "recall")),
    ("sticky precision", ("sticky", "precision")),
    ("follow-ups sent with the turns they need", ("follow_ups", "complete")),
    ("needed turns sent with their follow-up", ("follow_ups", "followed")),
    ("selections", ("selections", "count")),
    ("share of selections that match nothing", ("selections", "fallback_share")),
    ("share of tokens kept", ("selections", "tokens_kept_share")),
    ("share of tokens saved", ("selections", "tokens_saved_share")),
)


@dataclass(frozen=True, kw_only=True, eq=False)
class Measured:
    """One file's findings."""

    file: str
    kind: DialogueKind
    findings: Findings  # the measurements of all its dialogues


def as_json(measured: Measured) -> JsonObject:
    """The figures of one file; `None` for a measure that the file has no data for."""
    findings = measured.findings
    return {
        "file": measured.file,
        "kind": measured.kind,
        "dialogues": findings.dialogues,
        "messages": findings.messages,
        "evidence_recall": _recalls(findings),
        "evidence_pooled": _pooled(findings),
        "asked": _asked(findings),
        "recalled": _recalled(findings.recalled),
        "absent": _share(findings.absent),
        "short": _share(findings.short),
        "calibration": _calibration(findings),
        "agreement": _agreements(findings),
        "same_topic": _same_topic(findings.matches),
        "growth": _growth(findings.growth),
        "sticky": _sticky(findings.sticky),
        "follow_ups": _follow_ups(findings.follow_ups),
        "selections": _selections(findings),
    }


def rows_of(file: JsonObject) -> list[tuple[str, str]]:
    """The name and value of each measure that the file has data for."""
    values = ((name, _value_at(file, keys)) for name, keys in _ROWS)
    return [(name, _shown(value)) for name, value in values if value is not None]


def in_sample_note(kinds: Iterable[DialogueKind], *, has_own_weights: bool) -> str:
    """A note on which figures are in-sample; empty if all are of a user's own chats."""
    if all(kind == "chat" for kind in kinds):
        return ""
    if has_own_weights:
        return "In-sample: figures on the dialogues that these weights were fitted to."
    return (
        "In-sample: figures on LoCoMo, MT-Bench-101, TREC CAsT and TREC iKAT.\n"
        "The package's weights were fitted to these dialogues."
    )


def _recalls(findings: Findings) -> JsonObject | None:
    if not findings.recalls:
        return None
    shares = (sum(depth) / len(findings.recalls) for depth in zip(*findings.recalls, strict=True))
    return {
        "questions": len(findings.recalls),
        **{str(depth): share for depth, share in zip(DEPTHS, shares, strict=True)},
    }


def _pooled(findings: Findings) -> JsonObject | None:
    """Recall over the evidence of all questions: those with much evidence weigh more."""
    counted = [asked for asked in findings.asked if not asked.is_trap]
    wanted = sum(asked.wanted for asked in counted)
    if not wanted:
        return None
    hits = (sum(depth) for depth in zip(*(asked.hits for asked in counted), strict=True))
    return {str(depth): found / wanted for depth, found in zip(DEPTHS, hits, strict=True)}


def _asked(findings: Findings) -> JsonObject | None:
    figures = [asked.figures for asked in findings.asked]
    return {"count": len(figures), **means(figures)} if figures else None


def _recalled(found: Sequence[tuple[str, Figures]]) -> JsonObject | None:
    """The mean share of the evidence by method: over all questions, and those of each dialogue."""
    if not found:
        return None
    of_dialogue: dict[str, list[Figures]] = {"all": [shares for _, shares in found]}
    for dialogue, shares in found:
        of_dialogue.setdefault(dialogue, []).append(shares)
    return {name: {"questions": len(some), **means(some)} for name, some in of_dialogue.items()}


def _same_topic(matches: Sequence[Match]) -> JsonObject | None:
    figures = [match._asdict() for match in matches]
    return {**means(figures), "topics": len(figures)} if figures else None


def _share(found: Sequence[bool]) -> JsonObject | None:
    return {"count": len(found), "share": sum(found) / len(found)} if found else None


def _calibration(findings: Findings) -> JsonObject | None:
    """The predictions of scores and the observed values, over present and absent topics."""
    found = reliability_of([*findings.samples, *findings.absent_samples])
    if found is None:
        return None
    columns = (found.counts.tolist(), found.predicted.tolist(), found.observed.tolist())
    return {
        "error": found.error,
        "error_above": found.error_above,
        "bins": [
            {"count": count, "predicted": predicted, "observed": observed}
            for count, predicted, observed in zip(*columns, strict=True)
        ],
    }


def _agreements(findings: Findings) -> JsonObject | None:
    figures = findings.agreements
    if not figures:
        return None
    largest = max(each["largest"] for each in figures)
    return {"dialogues": len(figures), **means(figures), "largest": largest}


def _growth(growth: Growth) -> JsonObject | None:
    if not growth.steps:
        return None

    def mean(values: Sequence[float]) -> float | None:
        return sum(values) / len(values) if values else None

    return {
        "steps": growth.steps,
        "changed": mean(growth.changed),
        "apart": 100 * growth.apart / growth.steps,
        "together": mean(growth.together),
        "relabelled": growth.relabelled / max(growth.labels, 1),
        "gained": mean(growth.gained),
        "most": growth.most,
        "duplicates": growth.duplicates,
    }


def _sticky(counts: MessageCounts) -> JsonObject | None:
    if not counts.wanted:
        return None
    match = counts.match
    return {
        "recall": match.recall,
        "precision": match.precision,
        "right": counts.right,
        "found": counts.found,
        "needed": counts.wanted,
    }


def _follow_ups(counts: MessageCounts) -> JsonObject | None:
    if not (counts.found or counts.wanted):
        return None
    match = counts.match
    return {"complete": match.precision, "followed": match.recall, "kept": counts.found}


def _selections(findings: Findings) -> JsonObject | None:
    count = len(findings.kept)
    if not count:
        return None
    share = sum(kept.tokens / max(kept.total, 1) for kept in findings.kept) / count
    fallbacks = sum(kept.fell_back for kept in findings.kept)
    return {
        "count": count,
        "fallbacks": fallbacks,
        "fallback_share": fallbacks / count,
        "tokens": sum(kept.total for kept in findings.kept),
        "tokens_kept": sum(kept.tokens for kept in findings.kept),
        "tokens_kept_share": share,
        "tokens_saved_share": 1 - share,
    }


def _value_at(file: JsonObject, keys: Sequence[str]) -> object:
    found: object = file
    for key in keys:
        found = found.get(key) if isinstance(found, Mapping) else None
    return found


def _shown(value: object) -> str:
    return f"{value:.3f}" if isinstance(value, float) else f"{value}"

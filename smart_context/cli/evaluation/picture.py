"""Draws a threshold curve, a histogram of scores and a calibration curve as SVG.

A calibration curve shows how true scores are as probabilities: what they predict, beside what is
observed.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
from numpy.typing import NDArray

from smart_context.cli.evaluation.measures import Sample

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
    scores, belongs = _pooled(samples)
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
    scores, belongs = _pooled(samples)
    clipped = np.clip(scores, _BINS[0], _BINS[-1])
    shares = []
    for chosen in (belongs, ~belongs):
        counts, _ = np.histogram(clipped[chosen], _BINS)
        shares.append(counts / max(int(chosen.sum()), 1))
    return ("about the topic", _ORANGE, shares[0]), ("others", _BLUE, shares[1])


def picture(title: str, drawn: Sequence[tuple[str, Sequence[Sample]]], threshold: float) -> str:
    """An SVG document with a row of charts for each file.

    Probabilities have a third chart: how often what they predict is observed. The threshold is
    not marked among them, since what it keeps is decided for each chat as a whole.

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
    return curve + shares + _calibration(top, samples)


def _calibration(top: int, samples: Sequence[Sample]) -> str:
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


def _pooled(samples: Sequence[Sample]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    if not samples:
        return np.zeros(0), np.zeros(0, dtype=np.bool_)
    return (
        np.concatenate([sample.scores for sample in samples]).astype(np.float64),
        np.concatenate([sample.belongs for sample in samples]),
    )

import xml.etree.ElementTree as ET

import numpy as np
import pytest

from smart_context.cli.evaluation.measures import Sample
from smart_context.cli.evaluation.report import STEPS, curve_of, histogram_of, picture

SAMPLE = Sample(
    scores=np.array([0.1, 0.4, 0.6, 0.9], dtype=np.float32),
    belongs=np.array([False, False, True, True]),
)


def at(series, threshold):
    return [float(values[np.abs(STEPS - threshold).argmin()]) for _, _, values in series]


def test_the_curve_gives_precision_recall_and_f1_at_each_threshold():
    curve = curve_of([SAMPLE])
    assert at(curve, 0.0) == pytest.approx([0.5, 1, 2 / 3])
    assert at(curve, 0.4) == pytest.approx([2 / 3, 1, 0.8])
    assert at(curve, 0.6) == pytest.approx([1, 1, 1])
    assert at(curve, 0.7) == pytest.approx([1, 0.5, 2 / 3])
    assert at(curve, 1.0) == pytest.approx([1, 0, 0])


def test_the_histogram_gives_shares_of_both_kinds():
    assert [float(values.sum()) for _, _, values in histogram_of([SAMPLE, SAMPLE])] == [1, 1]


@pytest.mark.parametrize("samples", [[], [SAMPLE]])
@pytest.mark.parametrize("threshold", [-1.0, 0.4, 1.0])
def test_the_picture_is_well_formed_and_says_what_it_shows(samples, threshold):
    text = picture("a < b & c", [("none.json", []), ("some.json", samples)], threshold)
    root = ET.fromstring(text)
    assert root.find("{http://www.w3.org/2000/svg}title").text == "a < b & c"
    assert "nan" not in text
    assert text.count(f"threshold {threshold:g}") == (2 if samples else 0)
    assert text.count("some.json") == (1 if samples else 0)
    assert "none.json" not in text

"""What probabilities predict, beside what is observed."""

import numpy as np
import pytest

from smart_context.cli.evaluation.measures.measures import Sample
from smart_context.cli.evaluation.measures.picture import BINS, reliability_of


def sample(scores, belongs, *, are_probabilities=True):
    return Sample(
        scores=np.array(scores),
        belongs=np.array(belongs, dtype=np.bool_),
        are_probabilities=are_probabilities,
    )


def test_each_bin_compares_what_is_predicted_with_what_is_observed():
    found = reliability_of([sample([0.0, 0.04, 0.52], [0, 0, 1]), sample([0.58, 1.0], [0, 1])])
    assert found.counts.tolist() == [2, 0, 0, 0, 0, 2, 0, 0, 0, 1]
    assert found.predicted[[0, 5, 9]].tolist() == pytest.approx([0.02, 0.55, 1.0])
    assert found.observed[[0, 5, 9]].tolist() == pytest.approx([0, 0.5, 1.0])
    assert found.error == pytest.approx((2 * 0.02 + 2 * 0.05) / 5)
    assert found.error_above == pytest.approx(2 * 0.05 / 3)


def test_draws_from_the_predicted_probabilities_have_hardly_an_error():
    random = np.random.default_rng(1)
    scores = random.random(20_000)
    found = reliability_of([sample(scores, random.random(20_000) < scores)])
    assert found.error < 0.02
    assert len(found.counts) == BINS


def test_similarities_have_no_curve():
    assert reliability_of([sample([0.5], [1], are_probabilities=False)]) is None
    assert reliability_of([]) is None

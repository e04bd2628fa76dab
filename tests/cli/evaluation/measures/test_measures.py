import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smart_context.cli.evaluation.measures.measures import (
    Counts,
    Findings,
    Match,
    best_match,
    mean_match,
    recalls_of,
)

SETS = st.frozensets(st.integers(0, 9))


def test_evidence_is_looked_for_among_the_best_ten_twenty_and_fifty():
    scores = np.linspace(1, 0, 60, dtype=np.float32)
    assert recalls_of(scores, [0, 15, 49, 59]) == (0.25, 0.5, 0.75)


def test_of_equal_scores_the_first_counts():
    assert recalls_of(np.zeros(60, dtype=np.float32), [9, 10]) == (0.5, 1, 1)


@given(SETS, SETS)
def test_a_match_is_perfect_only_between_equal_sets(found, wanted):
    match = Counts.of(found, wanted).match
    assert 0 <= match.f1 <= 1
    assert (match.f1 == 1) == (found == wanted and bool(found))
    if match.precision + match.recall:
        harmonic = 2 * match.precision * match.recall / (match.precision + match.recall)
        assert match.f1 == pytest.approx(harmonic)


def test_the_best_match_is_the_first_of_the_largest_f1():
    assert best_match({1, 2}, [{3}, {1}, {2}, {1, 2, 3, 4, 5, 6, 7}]) == 1


def test_means_of_nothing_are_not_known():
    assert mean_match([]) is None
    ones, none = Match(precision=1, recall=1, f1=1), Match(precision=0, recall=0, f1=0)
    assert mean_match([ones, none]) == Match(precision=0.5, recall=0.5, f1=0.5)


def test_findings_add_up():
    total = Findings()
    for _ in range(2):
        total.add(
            Findings(dialogues=1, messages=3, recalls=[(1, 1, 1)], sticky=Counts(right=1, found=2))
        )
    assert (total.dialogues, total.messages, len(total.recalls)) == (2, 6, 2)
    assert total.sticky == Counts(right=2, found=4)

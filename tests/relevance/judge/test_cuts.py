"""From which probability on the messages of a chat are kept."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from smart_context.relevance.judge.cuts import cut_of, members_cut

LIKELY = arrays(np.float32, st.integers(1, 40), elements=st.floats(0, 1, width=32))


def kept(likely, threshold=0.4):
    return np.array(likely, dtype=np.float32) >= np.float32(
        cut_of(np.array(likely, dtype=np.float32), threshold)
    )


@given(LIKELY, st.lists(st.floats(-1, 1), min_size=2, max_size=9))
def test_a_higher_threshold_never_lowers_the_cut_and_always_leaves_the_best(likely, thresholds):
    cuts = [cut_of(likely, threshold) for threshold in sorted(thresholds)]
    assert cuts == sorted(cuts)
    assert cuts[-1] <= max(float(likely.max()), 0)


def test_everything_is_kept_from_nought_downwards_and_only_the_best_at_one():
    likely = [0.9, 0.3, 0.0]
    assert kept(likely, 0).all()
    assert kept(likely, -1).all()
    assert kept(likely, 1).tolist() == [True, False, False]


def test_half_of_what_is_expected_is_kept_at_seven_tenths():
    likely = [0.5] * 10
    assert cut_of(np.array(likely, dtype=np.float32), 0.7) == pytest.approx(0.5)
    assert kept([0.9, 0.8, 0.7, 0.6, 0.5, 0.4], 0.7).sum() == 3


def test_what_is_much_less_likely_than_usual_is_left_out():
    assert kept([0.3, 0.1, 0.1, 0.001, 0.001]).tolist() == [True, True, True, False, False]


def test_what_is_far_less_likely_than_a_sure_one_is_left_out():
    assert kept([1.0] + [0.2] * 20).sum() == 1


def test_where_nothing_is_sure_more_is_kept():
    assert kept([0.3] + [0.1] * 20).sum() == 21


def test_the_members_of_a_topic_stay_up_to_the_default_threshold_and_then_leave():
    likely = np.array([0.9, 0.6, 0.3, 0.01], dtype=np.float32)
    left = [(likely >= members_cut(likely, t)).sum() for t in (0.1, 0.4, 0.6, 0.8, 1.0)]
    assert left[:2] == [4, 4]
    assert left == sorted(left, reverse=True)
    assert left[-1] == 1
    assert members_cut(likely[:0], 0.9) == 0


@given(st.lists(st.floats(0.01, 1), min_size=1, max_size=9), st.floats(0.05, 1), st.floats(0.1, 1))
def test_doubt_that_the_topic_is_there_changes_no_choice(likely, sure, threshold):
    certain = np.array(likely)
    assert cut_of(certain * sure, threshold, sure) == pytest.approx(
        sure * cut_of(certain, threshold)
    )

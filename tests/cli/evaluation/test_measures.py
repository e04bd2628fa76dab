import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smart_context.cli.evaluation.measures import (
    Baselines,
    Findings,
    MessageCounts,
    Sample,
    adjusted_rand,
    agreement,
    best_match,
    means,
    recalls_of,
)
from smart_context.cli.evaluation.report import BINS, reliability_of

SETS = st.frozensets(st.integers(0, 9))


def test_evidence_is_looked_for_among_the_best_ten_twenty_and_fifty():
    scores = np.linspace(1, 0, 60, dtype=np.float32)
    assert recalls_of(scores, [0, 15, 49, 59]) == (0.25, 0.5, 0.75)


def test_of_equal_scores_the_first_counts():
    assert recalls_of(np.zeros(60, dtype=np.float32), [9, 10]) == (0.5, 1, 1)


@given(SETS, SETS)
def test_a_match_is_perfect_only_between_equal_sets(found, wanted):
    match = MessageCounts.of(found, wanted).match
    assert 0 <= match.f1 <= 1
    assert (match.f1 == 1) == (found == wanted and bool(found))
    if match.precision + match.recall:
        harmonic = 2 * match.precision * match.recall / (match.precision + match.recall)
        assert match.f1 == pytest.approx(harmonic)


def test_the_best_match_is_the_first_of_the_largest_f1():
    assert best_match({1, 2}, [{3}, {1}, {2}, {1, 2, 3, 4, 5, 6, 7}]) == 1


def test_each_figure_has_a_mean():
    assert means([{"recall": 1, "found": True}, {"recall": 0, "found": True}]) == {
        "recall": 0.5,
        "found": 1,
    }


def test_findings_add_up():
    total = Findings()
    for _ in range(2):
        total.add(
            Findings(
                dialogues=1, messages=3, recalls=[(1, 1, 1)], sticky=MessageCounts(right=1, found=2)
            )
        )
    assert (total.dialogues, total.messages, len(total.recalls)) == (2, 6, 2)
    assert total.sticky == MessageCounts(right=2, found=4)


IDS = [*"abcdef"]


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        pytest.param([0, 0, 1, 1], [1, 1, 0, 0], 1.0, id="the same under other numbers"),
        pytest.param([0, 0, 1, 1], [0, 1, 0, 1], -0.5, id="worse than chance"),
        pytest.param([0, 0, 0, 0], [0, 0, 1, 1], 0.0, id="all in one"),
        pytest.param([0, 0, 0, 0], [0, 0, 0, 0], 1.0, id="one group on both sides"),
        pytest.param([0, 0, 1, 2], [0, 0, 1, 1], 4 / 7, id="one group too many"),
    ],
)
def test_the_adjusted_rand_index(one, other, expected):
    assert adjusted_rand(np.array(one), np.array(other)) == pytest.approx(expected)


def test_topics_are_compared_with_subjects():
    found = [frozenset("ab"), frozenset("cd"), frozenset("ef")]
    wide = [frozenset("abcd"), frozenset("ef")]
    subjects = [frozenset("abcd"), frozenset("ef")]
    result = agreement(IDS, found, wide, subjects)
    assert result["coverage"] == pytest.approx((2 / 3 + 1) / 2)
    assert result["topics_each"] == 1.5
    assert result["largest"] == pytest.approx(4 / 6)
    assert not result["single"]
    assert 0 < result["adjusted_rand"] < 1


def test_no_topic_covers_nothing():
    assert agreement(IDS, [], [], [frozenset("abc")])["coverage"] == 0


TEXTS = ["the kite is red", "tea", "bread and salt", "my boat", "a kite again", "the newest one"]
ROWS = np.eye(6, dtype=np.float32)


def test_each_way_takes_its_best_until_the_tokens_are_used_up():
    simple = Baselines.of(TEXTS, ROWS, [1] * 6)
    one = simple.recalls("kite", ROWS[3], [5], 1)
    assert one == {"newest": 1, "bm25": 0, "cosine": 0, "both": 0}
    kites = simple.recalls("kite", ROWS[3], [0, 4], 2)
    assert kites["bm25"] == 1
    assert simple.recalls("kite", ROWS[3], [3], 1)["cosine"] == 1
    assert set(simple.recalls("kite", ROWS[3], [0, 3], 6).values()) == {1}
    assert set(simple.recalls("kite", ROWS[3], [0, 3], 0).values()) == {0}


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

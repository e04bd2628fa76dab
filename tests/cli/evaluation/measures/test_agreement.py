import numpy as np
import pytest

from smart_context.cli.evaluation.replay import adjusted_rand, agreement

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
    assert result.coverage == pytest.approx((2 / 3 + 1) / 2)
    assert result.topics_each == 1.5
    assert result.largest == pytest.approx(4 / 6)
    assert not result.is_single
    assert 0 < result.adjusted_rand < 1


def test_no_topic_covers_nothing():
    assert agreement(IDS, [], [], [frozenset("abc")]).coverage == 0

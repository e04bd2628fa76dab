import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smart_context.topics.clusters.clustering import clusters, without_background
from smart_context.topics.clusters.segments import _worths as segment_worths
from smart_context.topics.clusters.segments import segments_of
from smart_context.topics.stability import reused_labels

EYE = np.eye(4, dtype=np.float32)


def grouped(subjects, *, most=8):
    rows = EYE[subjects]
    nothing = np.zeros((len(rows), 2), dtype=np.float32)
    return clusters(rows, nothing, [n % 2 == 1 for n in range(len(rows))], most=most).tolist()


@pytest.mark.parametrize(
    "subjects",
    [
        pytest.param([0] * 6, id="one subject"),
        pytest.param([0] * 6 + [1] * 6, id="two after another"),
        pytest.param([0] * 4 + [1] * 4 + [0] * 4, id="one that returns"),
        pytest.param([0] * 4 + [1] * 4 + [2] * 4 + [1] * 4, id="three, one returns"),
    ],
)
def test_messages_are_grouped_by_subject_in_order_of_appearance(subjects):
    assert grouped(subjects) == subjects


@pytest.mark.parametrize("count", [0, 1, 2])
def test_hardly_any_messages_are_grouped_too(count):
    assert grouped([0] * count) == [0] * count


def test_there_are_never_more_groups_than_asked_for():
    assert len(set(grouped([0] * 4 + [1] * 4 + [2] * 4 + [3] * 4, most=2))) == 2


@given(st.lists(st.integers(0, 3), min_size=1, max_size=30), st.integers(1, 8))
def test_groups_are_numbered_without_gaps(subjects, most):
    labels = grouped(subjects, most=most)
    assert len(labels) == len(subjects)
    assert labels[0] == 0
    assert set(labels) == set(range(max(labels) + 1))
    assert max(labels) < most


def test_what_all_messages_share_is_taken_away():
    common = np.array([10.0, 0, 0, 0], dtype=np.float32)
    rows = EYE[[1] * 5 + [2] * 5] + common
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    alike = without_background(rows) @ without_background(rows).T
    assert (rows @ rows.T).min() > 0.9
    assert alike[0, 1] > 0.9
    assert alike[0, 9] < 0


def test_messages_that_share_little_are_left_as_they_are():
    rows = EYE[[0, 1, 2, 3]]
    assert without_background(rows) is rows


@given(st.lists(st.integers(0, 3), max_size=80), st.integers(1, 20))
def test_segments_cover_the_chat_once_in_order(subjects, most):
    found = segments_of(EYE[subjects], [False] * len(subjects), most=most)
    assert [place for begin, end in found for place in range(begin, end)] == [*range(len(subjects))]
    assert len(found) <= max(most, -(-len(subjects) // 60))


def test_a_chat_is_cut_where_its_subject_changes():
    assert segments_of(EYE[[0] * 5 + [1] * 5], [False] * 10, most=9) == [(0, 5), (5, 10)]


TEXTS = ["tax return", "vat tax", "bike tour", "bike path"]
GROUPS = [[0, 1], [2, 3]]


@pytest.mark.parametrize(
    ("previous", "closeness", "expected"),
    [
        pytest.param(["Tax Return"], [[0.6, 0.0]], {0: "Tax Return"}, id="it fits one group"),
        pytest.param(["Tax & Bike"], [[0.4, 0.4]], {}, id="it fits two groups alike"),
        pytest.param(["Guitar"], [[0.2, 0.1]], {}, id="it fits no group"),
        pytest.param(
            ["Vat", "Tax"], [[0.5, 0.0], [0.9, 0.0]], {0: "Tax"}, id="the better one of two"
        ),
        pytest.param([], np.zeros((0, 2)), {}, id="there was none"),
    ],
)
def test_a_former_label_is_used_again_when(previous, closeness, expected):
    found = reused_labels(previous, np.array(closeness, dtype=np.float32), TEXTS, GROUPS)
    assert found == expected


def leaning(*subjects):
    """Rows that point to a subject, some of them a little to another one too."""
    rows = np.array([EYE[one] + share * EYE[other] for one, other, share in subjects])
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)


@pytest.mark.parametrize(
    ("leans", "expected"),
    [
        pytest.param((2, 1, 0.25), [0] * 8 + [1] * 10, id="joins what it is beside and like"),
        pytest.param((2, 1, 0.0), [0] * 8 + [1] * 8 + [2] * 2, id="unlike what it is beside"),
        pytest.param((2, 0, 0.6), [0] * 8 + [1] * 8 + [2] * 2, id="like what it is not beside"),
    ],
)
def test_an_offshoot(leans, expected):
    rows = leaning(*[(0, 0, 0)] * 8, *[(1, 1, 0)] * 8, *[leans] * 2)
    nothing = np.zeros((len(rows), 2), dtype=np.float32)
    assert clusters(rows, nothing, [False] * len(rows), most=8).tolist() == expected


def test_more_than_a_few_messages_are_no_offshoot():
    rows = leaning(*[(0, 0, 0)] * 8, *[(1, 1, 0)] * 8, *[(2, 1, 0.42)] * 4)
    nothing = np.zeros((len(rows), 2), dtype=np.float32)
    found = clusters(rows, nothing, [False] * len(rows), most=8).tolist()
    assert found == [0] * 8 + [1] * 8 + [2] * 4


@pytest.mark.parametrize("count", [1, 59, 60, 61, 137])
def test_a_stretch_is_worth_the_length_of_its_sum(count):
    rows = np.random.default_rng(0).standard_normal((count, 4)).astype(np.float32)
    worths = segment_worths(rows)
    assert worths.shape == (count, 60)
    for end in range(1, count + 1):
        for begin in range(max(0, end - 60), end):
            wanted = np.linalg.norm(rows[begin:end].sum(axis=0))
            assert worths[end - 1, begin - end] == pytest.approx(wanted, abs=1e-3)

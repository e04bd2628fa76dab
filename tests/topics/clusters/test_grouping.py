import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smart_context.topics.clusters.grouping import (
    SubjectMessages,
    ordinary_direction,
    subjects_of,
    without_background,
)
from smart_context.topics.clusters.units import coarser, mean_directions, merges, units_of

EYE = np.eye(64, dtype=np.float32)


def subjects(rows, *, most=8):
    nothing = np.zeros((len(rows), 2), dtype=np.float32)
    answers = [n % 2 == 1 for n in range(len(rows))]
    return subjects_of(SubjectMessages(vectors=rows, lexical=nothing, goes_on=answers), most=most)


def grouped(numbers, *, most=8):
    """For each message the number of its subject, in order of first appearance."""
    labels = np.zeros(len(numbers), dtype=int)
    for number, subject in enumerate(subjects(EYE[numbers], most=most)):
        labels[list(subject.places)] = number
    first = {label: number for number, label in enumerate(dict.fromkeys(labels.tolist()))}
    return [first[label] for label in labels.tolist()]


@pytest.mark.parametrize(
    "numbers",
    [
        pytest.param([0] * 6, id="one subject"),
        pytest.param([0] * 6 + [1] * 6, id="two after another"),
        pytest.param([0] * 4 + [1] * 4 + [0] * 4, id="one that returns"),
        pytest.param([0] * 4 + [1] * 4 + [2] * 4 + [1] * 4, id="three, one returns"),
    ],
)
def test_messages_are_grouped_by_subject(numbers):
    assert grouped(numbers) == numbers


@pytest.mark.parametrize("count", [0, 1, 2, 3])
def test_hardly_any_messages_are_grouped_too(count):
    assert grouped([0] * count) == [0] * count


@given(st.lists(st.integers(0, 30), min_size=1, max_size=90), st.integers(1, 8))
def test_subjects_hold_each_message_once_and_are_never_too_many(numbers, most):
    found = subjects(EYE[numbers], most=most)
    assert len(found) <= most or len(numbers) >= 60
    assert sorted(place for s in found for place in s.places) == [*range(len(numbers))]
    for subject in found:
        held = sorted(place for part in subject.parts for place in part)
        assert held in ([], list(subject.places))
        assert len(subject.parts) != 1


@given(st.lists(st.integers(0, 3), min_size=40, max_size=100), st.integers(0, 3))
def test_no_subject_of_a_long_chat_is_larger_than_35_per_cent(numbers, more):
    rows = EYE[[number for number in [*numbers, *[more] * 30] for _ in range(2)]]
    assert max(len(subject.places) for subject in subjects(rows)) <= 0.35 * len(rows)


@given(st.integers(0, 2**16), st.integers(60, 200))
def test_neither_is_one_of_a_chat_whose_messages_are_all_a_bit_alike(seed, count):
    rows = np.random.default_rng(seed).standard_normal((count, 6)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    found = subjects(rows)
    assert max(len(subject.places) for subject in found) <= 0.35 * count
    assert sorted(place for s in found for place in s.places) == [*range(count)]
    for subject in found:
        held = sorted(place for part in subject.parts for place in part)
        assert held in ([], list(subject.places))


def test_many_subjects_of_a_long_chat_nest():
    found = subjects(EYE[[number for number in range(20) for _ in range(6)]])
    assert len(found) <= 8
    narrow = [part for subject in found for part in subject.parts or (subject.places,)]
    assert len(narrow) == 20
    assert {len(part) for part in narrow} == {6}


def test_a_question_is_never_parted_from_its_answers():
    assert units_of([False, True, True, False, False, True]).tolist() == [0, 0, 0, 1, 2, 2]
    assert units_of([True, False, True]).tolist() == [0, 0, 0]


def test_too_many_units_are_joined_with_the_one_before_that_they_are_like():
    units = np.arange(6)
    assert coarser(units, EYE[[0, 0, 1, 1, 2, 2]], 3).tolist() == [0, 0, 1, 1, 2, 2]
    assert coarser(units, EYE[[0, 0, 1, 1, 2, 2]], 9) is units


def slow_merges(rows, bonus):
    """Average link as it is defined: the mean over all pairs of two groups."""
    links = rows @ rows.T
    for place in range(1, len(rows)):
        links[place, place - 1] += bonus
        links[place - 1, place] += bonus
    groups = [[place] for place in range(len(rows))]
    while len(groups) > 1:
        alike, one, other = max(
            (links[np.ix_(a, b)].mean(), -x, -y)
            for x, a in enumerate(groups)
            for y, b in enumerate(groups)
            if x < y
        )
        groups[-one] += groups.pop(-other)
        yield alike


@given(st.integers(1, 14))
def test_groups_are_joined_by_average_link(count):
    rows = mean_directions(
        np.random.default_rng(count).standard_normal((count, 5)).astype(np.float32),
        np.arange(count),
    )
    found = [merge.alike for merge in merges(rows, 0.3, sizes=[1] * count)]
    assert found == pytest.approx([*slow_merges(rows.astype(float), 0.3)], abs=1e-5)


def test_what_has_joined_a_group_never_joins_again():
    rows = EYE[[0, 1, 0, 2, 0, 1, 0, 2, 1, 0, 2, 2, 0, 0]]
    sizes = [1, 2, 1, 1, 2, 1, 1, 1, 1, 1, 2, 1, 2, 1]
    gone = [merge.gone for merge in merges(rows, 1.0, sizes=sizes, most=11)]
    assert len(gone) == len(set(gone))


def test_no_join_makes_a_group_larger_than_allowed():
    rows = EYE[[0] * 6]
    found = list(merges(rows, 0.1, sizes=[2] * 6, most=4))
    assert len(found) == 3


def test_what_all_messages_share_is_taken_away():
    common = np.zeros(64, dtype=np.float32)
    common[0] = 10
    rows = EYE[[1] * 5 + [2] * 5] + common
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    alike = without_background(rows, 0.1) @ without_background(rows, 0.1).T
    assert (rows @ rows.T).min() > 0.9
    assert alike[0, 1] > 0.9
    assert alike[0, 9] < 0


def test_messages_that_share_little_are_left_as_they_are():
    rows = EYE[[0, 1, 2, 3]]
    assert without_background(rows, 0.1) is rows


def test_everyday_messages_are_known_for_the_embedded_model_only():
    assert ordinary_direction("embedded/all-MiniLM-L6-v2").shape == (384,)
    assert ordinary_direction("another") is None

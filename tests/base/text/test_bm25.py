import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smart_context.base.text.bm25 import Bm25, gains, rarity

WORDS = st.lists(st.sampled_from("abcd"), max_size=6)


def floats(*values):
    return np.array(values, dtype=np.float32)


def test_rarity_and_gain_are_those_of_okapi():
    assert rarity(1, 3) == pytest.approx(math.log(1 + 2.5 / 1.5))
    assert rarity(0, 0) == pytest.approx(math.log(2))
    gained = gains(floats(1, 3), floats(2, 8), 4.0)
    expected = [2.2 / (1 + 1.2 * (0.25 + 0.75 / 2)), 6.6 / (3 + 1.2 * (0.25 + 0.75 * 2))]
    assert gained == pytest.approx(expected)
    assert gained.dtype == np.float32
    assert gains(floats(1), floats(0), 0.0) == pytest.approx([2.2 / 1.3])
    assert gains(floats(1), floats(1), 0.0) == pytest.approx([1.0])


def test_each_word_of_a_query_adds_its_gain_by_its_rarity():
    (score, *_) = Bm25([["a", "b", "b"], ["a"], ["c"]]).scores(["a", "b"])
    gained = gains(floats(1, 2), floats(3, 3), 5 / 3)
    assert score == pytest.approx(rarity(2, 3) * gained[0] + rarity(1, 3) * gained[1])


def test_documents_with_a_rare_word_come_first():
    index = Bm25([["a", "b"], ["a", "c"], ["a", "d"]])
    scores = index.scores(["a", "c"])
    assert scores.argmax() == 1
    assert scores.dtype == np.float32
    assert scores.shape == (3,)


def test_a_shorter_document_scores_higher_with_the_same_word():
    long, short = Bm25([["a", "b", "b", "b"], ["a", "b"]]).scores(["a"])
    assert short > long


def test_more_of_a_word_scores_higher_but_ever_less():
    once, twice, often = Bm25([["a", "x", "x"], ["a", "a", "x"], ["a", "a", "a"]]).scores(["a"])
    assert once < twice < often
    assert often - twice < twice - once


@pytest.mark.parametrize("query", [[], ["z"]], ids=["no words", "unknown words"])
def test_nothing_shared_scores_zero(query):
    assert Bm25([["a"], []]).scores(query).tolist() == [0, 0]


def test_no_documents_give_no_scores():
    assert Bm25().scores(["a"]).shape == (0,)
    assert len(Bm25()) == 0


def test_a_word_counts_once_however_often_it_is_asked_for():
    index = Bm25([["a"], ["b"]])
    np.testing.assert_array_equal(index.scores(["a", "a"]), index.scores(["a"]))


@given(st.lists(WORDS, max_size=6), WORDS)
def test_adding_documents_one_by_one_gives_the_same_scores(documents, query):
    index = Bm25()
    for document in documents:
        index.add(document)
    np.testing.assert_array_equal(index.scores(query), Bm25(documents).scores(query))


@given(st.lists(WORDS, max_size=5), st.lists(WORDS, max_size=5), WORDS)
def test_an_index_that_goes_on_with_a_kept_one_is_as_one_of_all_documents(kept, added, query):
    postings = Bm25(kept).postings()
    index, fresh = Bm25(added, base=postings), Bm25([*kept, *added])
    np.testing.assert_array_equal(index.scores(query), fresh.scores(query))
    np.testing.assert_array_equal(index.shares(query), fresh.shares(query))
    again, whole = index.postings(), fresh.postings()
    assert list(again.words) == list(whole.words)
    for name in ("ends", "positions", "counts", "lengths"):
        np.testing.assert_array_equal(getattr(again, name), getattr(whole, name))
        assert getattr(again, name).dtype == np.uint32


def test_postings_hold_the_documents_of_each_word():
    postings = Bm25([["a", "b", "b"], [], ["b"]]).postings()
    assert list(postings.words) == ["a", "b"]
    assert postings.ends.tolist() == [1, 3]
    assert postings.positions.tolist() == [0, 0, 2]
    assert postings.counts.tolist() == [1, 2, 1]
    assert postings.lengths.tolist() == [3, 0, 1]


@given(st.integers(0, 50), st.integers(0, 50))
def test_rarer_words_are_worth_more_and_all_are_worth_something(one, more):
    total = one + more
    assert rarity(one, total) >= rarity(total, total) > 0


def test_a_share_is_how_much_of_the_query_a_document_has_by_rarity():
    index = Bm25([["a", "b", "b"], ["a"], ["b", "a"], []])
    shares = index.shares(["a", "b"])
    assert shares[0] == shares[2] == 1
    assert 0 < shares[1] < 0.5  # the commoner word alone
    assert shares[3] == 0
    assert index.shares(["a", "z"])[1] < 0.5  # a word that nobody has is the rarest
    assert index.shares([]).tolist() == [0, 0, 0, 0]


@given(st.lists(WORDS, max_size=6), WORDS, WORDS)
def test_shares_are_between_0_and_1_and_rise_with_each_word_that_is_there(documents, query, more):
    index = Bm25([*documents, more])
    shares = index.shares(query)
    assert shares.shape == (len(documents) + 1,)
    assert ((shares >= 0) & (shares <= 1 + 1e-6)).all()
    if query and set(query) <= set(more):
        assert shares[-1] == pytest.approx(1)

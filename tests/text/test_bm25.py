import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smart_context.text.bm25 import Bm25, rarity

WORDS = st.lists(st.sampled_from("abcd"), max_size=6)


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

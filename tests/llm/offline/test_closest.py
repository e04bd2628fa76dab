"""Passages close to a question: laws of cutting and choosing."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smart_context.llm.offline.responder import (
    MOST_COMPARED,
    blended,
    closeness,
    cosines_to_first,
    paragraphs,
    prefiltered,
)


@given(st.text(st.sampled_from("ab \n语")), st.integers(1, 40))
def test_pieces_are_short_and_lose_nothing_but_white_space(text, most):
    pieces = list(paragraphs(text, most))
    assert all(0 < len(piece) <= most for piece in pieces)
    assert "".join("".join(pieces).split()) == "".join(text.split())


def test_few_texts_all_go_on_but_blank_and_equal_ones():
    assert prefiltered("q", ["b", " ", "a", "b"]) == [0, 2]


def test_of_many_texts_those_with_the_rarest_words_go_on():
    texts = [f"common {number}" for number in range(200)]
    texts[150] = "common starter"
    places = prefiltered("common starter", texts)
    assert places[0] == 150
    assert len(places) == MOST_COMPARED


@pytest.mark.parametrize(
    ("question", "cosine", "expected"),
    [
        pytest.param("starter flour", 0.4, 0.4 + 0.5 * 0.5, id="half of the words, in english"),
        pytest.param("语言模型", 0.4, 0.0, id="no trust in the cosine of another script"),
        pytest.param("starter flour", None, 0.5, id="words alone without an embedding"),
        pytest.param("?!", 0.4, 0.0, id="a question without letters"),
    ],
)
def test_closeness_adds_words_to_the_cosine(question, cosine, expected):
    cosines = None if cosine is None else np.array([cosine], np.float32)
    found = closeness(question, ["the starter is hungry"], cosines)
    np.testing.assert_allclose(found, [expected], atol=1e-6)


def test_cosines_are_those_with_the_first_row():
    rows = np.array([[1, 0], [0, 1], [1, 0]], np.float32)
    assert cosines_to_first(rows).tolist() == [0, 1]


def test_without_trust_words_alone_count_and_with_it_both():
    shares, cosines = np.array([1, 0], np.float32), np.array([0, 1], np.float32)
    assert blended(shares, cosines, 0).tolist() == [1, 0]
    assert blended(shares, cosines, 1).tolist() == [0.5, 1]

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from smart_context.relevance.evidence.features import CHAT_FEATURES, FEATURES, with_products
from smart_context.relevance.judge.calibrate import MINILM, PROBABLY, Scale
from smart_context.relevance.judge.judging import Judge, judge_for, scores_of
from smart_context.relevance.judge.weights import FILE, null_labels, read_weights, write_weights

LIKELY = arrays(np.float32, st.integers(1, 40), elements=st.floats(0, 1, width=32))


@given(LIKELY, st.floats(0, 1))
def test_scores_keep_the_order_and_lie_between_nought_and_one(likely, present):
    scores = scores_of(likely, np.zeros_like(likely), present)
    assert ((scores >= 0) & (scores <= 1)).all()
    order = np.argsort(-likely, kind="stable")
    assert (np.diff(scores[order]) <= 0).all()


@given(LIKELY, st.floats(0, 0.399))
def test_nothing_reaches_the_threshold_in_a_chat_that_hardly_speaks_of_the_topic(likely, present):
    assert scores_of(likely, np.zeros_like(likely), present).max() < PROBABLY


def test_the_kept_ones_hold_nearly_all_of_what_is_likely():
    likely = np.array([0.9, 0.8, 0.4, 0.01, 0.001, 0.001], dtype=np.float32)
    scores = scores_of(likely, likely, 1.0)
    assert scores[0] == 1
    assert (scores >= PROBABLY).tolist() == [True, True, True, False, False, False]


def test_what_is_far_less_likely_than_a_sure_one_is_left_out():
    likely = np.array([1.0] + [0.2] * 20, dtype=np.float32)
    assert (scores_of(likely, likely, 1.0) >= PROBABLY).sum() == 1


def test_where_nothing_is_sure_more_is_kept():
    likely = np.array([0.3] + [0.1] * 20, dtype=np.float32)
    assert (scores_of(likely, likely, 1.0) >= PROBABLY).sum() > 15


def test_the_weights_fit_the_features_and_are_small():
    weights = read_weights()
    zeros = with_products(dict.fromkeys(CHAT_FEATURES, 0.0))
    assert weights.presence.shape == (len(zeros) + 1,)
    assert weights.linear.shape == (3, len(FEATURES))
    assert weights.hidden.shape[1] == len(FEATURES)
    assert weights.hidden_chat.shape[1] == len(CHAT_FEATURES) + 1
    assert len(weights.null_labels) == len(null_labels())
    assert FILE.stat().st_size <= 200_000


def test_weights_are_read_as_they_were_written(tmp_path):
    weights = read_weights()
    write_weights(weights, tmp_path / "w.npz")
    again = read_weights(tmp_path / "w.npz")
    np.testing.assert_allclose(again.null_labels, weights.null_labels, atol=0.01)
    np.testing.assert_array_equal(again.hidden, weights.hidden)


@pytest.mark.parametrize(
    ("model", "is_known"),
    [
        ("embedded/all-MiniLM-L6-v2", True),
        ("all-minilm", True),
        ("text-embedding-3-small", False),
        ("fake", False),
    ],
)
def test_the_judge_of_the_package_is_for_the_embedded_model(model, is_known):
    assert (judge_for(model) is not None) is is_known


def test_a_judge_reads_another_models_cosines_as_the_embedded_ones():
    scale = Scale(unrelated=0.5, probable=0.6, sure=0.8)
    weights = read_weights()
    judge = Judge(weights=weights, null_labels=weights.null_labels, scale=scale)
    cosines = np.array([scale.unrelated, scale.probable, scale.sure], dtype=np.float32)
    expected = [MINILM.unrelated, MINILM.probable, MINILM.sure]
    assert judge.as_embedded(cosines).tolist() == pytest.approx(expected)

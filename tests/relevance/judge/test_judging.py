import numpy as np
import pytest

from smart_context.relevance.evidence.features import (
    CHAT_FEATURES,
    FEATURES,
    OTHER_LANGUAGE,
    READ_ROUGHLY,
    SAID_TOGETHER,
    with_products,
)
from smart_context.relevance.judge.calibrate import MINILM, Scale
from smart_context.relevance.judge.judging import (
    FILE,
    Judge,
    judge_for,
    null_labels,
    presence,
    read_weights,
    write_weights,
)


def test_the_weights_fit_the_features_and_are_small():
    weights = read_weights()
    zeros = with_products(dict.fromkeys((*CHAT_FEATURES, OTHER_LANGUAGE), 0.0))
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


def test_a_topic_that_is_said_is_likely_and_one_in_a_roughly_read_language_less():
    judge = judge_for("all-MiniLM-L6-v2")
    whole = dict.fromkeys((*CHAT_FEATURES, OTHER_LANGUAGE, READ_ROUGHLY, SAID_TOGETHER), 0.0)
    usual = presence(whole, judge)
    doubted = presence({**whole, READ_ROUGHLY: 1.0}, judge)
    assert doubted < usual < 0.5
    assert presence({**whole, SAID_TOGETHER: 1.0}, judge) == 0.5
    assert presence({**whole, SAID_TOGETHER: 1.0, READ_ROUGHLY: 1.0}, judge) == 0.5

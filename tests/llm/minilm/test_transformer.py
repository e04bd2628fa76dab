"""The forward pass."""

import math

import numpy as np
import pytest

from smart_context.llm.minilm import files
from smart_context.llm.minilm.tensors import from_bytes
from smart_context.llm.minilm.transformer import DIMENSION, Norm, gelu, minilm


@pytest.fixture(scope="module")
def model():
    return minilm(from_bytes(files.read_checked(files.FOLDER, files.WEIGHTS)))


def test_gelu_is_within_a_thousandth_of_the_exact_one_and_leaves_its_argument():
    rows = np.linspace(-6, 6, 601, dtype=np.float32)
    before = rows.copy()
    exact = [0.5 * x * (1 + math.erf(x / math.sqrt(2))) for x in rows.tolist()]
    np.testing.assert_allclose(gelu(rows), exact, atol=1e-3)
    np.testing.assert_array_equal(rows, before)


def test_a_normalised_row_has_the_mean_and_spread_that_were_asked_for():
    rows = np.random.default_rng(0).normal(3, 5, (4, DIMENSION)).astype(np.float32)
    norm = Norm(np.full(DIMENSION, 2, np.float32), np.full(DIMENSION, 1, np.float32))
    np.testing.assert_allclose(norm(rows).mean(axis=1), 1, atol=1e-4)
    np.testing.assert_allclose(norm(rows).std(axis=1), 2, atol=1e-3)


def test_padding_does_not_change_a_text(model):
    ids = np.array([[101, 7592, 2088, 102]])
    alone = model(ids, np.array([4]))
    beside_a_longer_one = model(
        np.array([[101, 7592, 2088, 102, 999, 999], [101, 2023, 2003, 2936, 999, 102]]),
        np.array([4, 6]),
    )
    np.testing.assert_allclose(beside_a_longer_one[0], alone[0], atol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(beside_a_longer_one, axis=1), 1, atol=1e-5)


def test_the_order_of_words_counts(model):
    forth, back = (model(np.array([ids]), np.array([5])) for ids in _TWO_ORDERS)
    assert (forth @ back.T).item() < 0.999


_TWO_ORDERS = ([101, 3899, 15424, 2158, 102], [101, 2158, 15424, 3899, 102])

"""The file of arrays, and int8 with one scale a row."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from smart_context.llm.minilm.tensors import SCALE, from_bytes, restored
from tests.benchmarks.convert_minilm import quantized, to_bytes

FLOATS = st.floats(-1e3, 1e3, width=32)


@given(
    st.dictionaries(
        st.text(max_size=20).filter(lambda name: name != "__metadata__"),
        arrays(np.int8, array_shapes(max_dims=3, max_side=4))
        | arrays(np.float32, array_shapes(max_dims=3, max_side=4), elements=FLOATS),
        max_size=4,
    )
)
def test_what_is_written_is_read(tensors):
    read = from_bytes(to_bytes(tensors))
    assert list(read) == list(tensors)
    for name, tensor in tensors.items():
        assert read[name].dtype == tensor.dtype
        np.testing.assert_array_equal(read[name], tensor)


@given(arrays(np.float32, array_shapes(min_dims=2, max_dims=2), elements=FLOATS))
def test_int8_is_off_by_at_most_half_a_step_of_its_row(matrix):
    small, scale = quantized(matrix)
    assert small.dtype == np.int8
    assert scale.shape == (len(matrix), 1)
    assert (np.abs(small * scale - matrix) <= scale * 0.501).all()


def test_a_row_of_zeros_stays_zero():
    small, scale = quantized(np.zeros((2, 3), np.float32))
    assert not (small * scale).any()


def test_arrays_are_restored_with_their_scale_if_they_have_one():
    tensors = {
        "a": np.array([[2, -4]], np.int8),
        "a" + SCALE: np.array([[0.5]], np.float32),
        "b": np.array([1.5], np.float32),
    }
    assert restored(tensors, "a").tolist() == [[1.0, -2.0]]
    assert restored(tensors, "b").tolist() == [1.5]

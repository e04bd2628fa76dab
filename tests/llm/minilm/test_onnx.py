"""The same forward pass as an ONNX model."""

import sys
import tracemalloc
from types import ModuleType

import numpy as np
import pytest

from smart_context.llm.minilm import files
from smart_context.llm.minilm.onnx_graph import model_bytes
from smart_context.llm.minilm.onnx_session import onnx_forward
from smart_context.llm.minilm.tensors import from_bytes
from smart_context.llm.minilm.transformer import minilm


@pytest.fixture(scope="module")
def tensors():
    return from_bytes(files.read_checked(files.FOLDER, files.WEIGHTS))


def fields(message):
    """The fields of a protobuf message: number and bytes, or number and integer."""
    place = 0

    def varint():
        nonlocal place
        value = shift = 0
        while True:
            byte = message[place]
            place += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while place < len(message):
        key = varint()
        if key & 7 == 0:
            yield key >> 3, varint()
        elif key & 7 == 5:
            yield key >> 3, message[place : place + 4]
            place += 4
        else:
            length = varint()
            yield key >> 3, message[place : place + length]
            place += length


def test_every_node_reads_only_what_was_there_before_it(tensors):
    (graph,) = [content for number, content in fields(model_bytes(tensors)) if number == 7]
    known = {
        dict(fields(content))[8 if number == 5 else 1]
        for number, content in fields(graph)
        if number in {5, 11}
    }
    nodes = [list(fields(content)) for number, content in fields(graph) if number == 1]
    for node in nodes:
        assert {name for number, name in node if number == 1} <= known
        known |= {name for number, name in node if number == 2}
    assert b"rows" in known


def test_without_the_library_there_is_no_such_pass(tensors):
    assert onnx_forward(tensors, library="onnxruntime_that_is_not_there") is None


def test_a_library_that_does_not_start_is_reported_and_not_used(tensors, monkeypatch, caplog):
    monkeypatch.setitem(sys.modules, "broken_runtime", ModuleType("broken_runtime"))
    assert onnx_forward(tensors, library="broken_runtime") is None
    assert "failed to start; using numpy instead" in caplog.text


def test_its_vectors_are_those_of_the_numpy_pass(tensors):
    pytest.importorskip("onnxruntime", reason="needs the extra [local]")
    ids = np.array([[101, 7592, 2088, 102, 0, 0], [101, 2023, 2003, 2936, 999, 102]])
    lengths = np.array([4, 6])
    forward = onnx_forward(tensors)
    assert forward is not None
    np.testing.assert_allclose(forward(ids, lengths), minilm(tensors)(ids, lengths), atol=1e-3)


def test_no_copy_of_the_model_is_kept_beside_its_session(tensors):
    pytest.importorskip("onnxruntime", reason="needs the extra [local]")
    size = len(model_bytes(tensors))
    tracemalloc.start()
    try:
        forward = onnx_forward(tensors)
        kept = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert forward is not None
    assert kept < size / 4


def test_the_model_is_encoded_with_one_copy_of_its_weights(tensors):
    size = len(model_bytes(tensors))
    tracemalloc.start()
    try:
        model_bytes(tensors)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most < 2.2 * size

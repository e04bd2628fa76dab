"""The vectors of a chat in files."""

import tracemalloc

import numpy as np

from smart_context.storage.files.vectors import FileVectors


def test_storing_and_reading_many_vectors_takes_little_more_memory_than_they_do(tmp_path):
    keys = [f"m{n}:0123456789abcdef" for n in range(4_000)]
    vectors = np.ones((len(keys), 384), dtype=np.float32)
    kept = FileVectors(tmp_path).of("c", "model")
    tracemalloc.start()
    try:
        kept.replace(keys, vectors)
        assert tracemalloc.get_traced_memory()[1] < vectors.nbytes / 4
        kept.append(keys, vectors)
        tracemalloc.reset_peak()
        assert len(kept.read()[0]) == 2 * len(keys)
        assert tracemalloc.get_traced_memory()[1] < 8 * vectors.nbytes
    finally:
        tracemalloc.stop()

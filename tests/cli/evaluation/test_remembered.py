import logging

import numpy as np
import pytest

from smart_context.cli.evaluation.remembered import RememberingEmbedder
from tests.cli.evaluation.files import SubjectEmbedder

pytestmark = pytest.mark.anyio


async def test_a_text_is_embedded_once_also_by_the_next_run(tmp_path):
    first = SubjectEmbedder()
    embedder = RememberingEmbedder(first, tmp_path / "cache")
    rows = await embedder.embed(["a boat", "bread", "a boat"])
    assert first.asked == ["a boat", "bread"]
    np.testing.assert_array_equal(rows[0], rows[2])
    embedder.keep()

    second = SubjectEmbedder()
    again = await RememberingEmbedder(second, tmp_path / "cache").embed(["bread", "a kite"])
    assert second.asked == ["a kite"]
    np.testing.assert_array_equal(again[0], rows[1])


async def test_another_model_has_vectors_of_its_own(tmp_path):
    embedder = RememberingEmbedder(SubjectEmbedder(), tmp_path)
    await embedder.embed(["a boat"])
    embedder.keep()
    other = SubjectEmbedder()
    other.name = "another"
    await RememberingEmbedder(other, tmp_path).embed(["a boat"])
    assert other.asked == ["a boat"]


async def test_damaged_vectors_are_rebuilt(tmp_path, caplog):
    embedder = RememberingEmbedder(SubjectEmbedder(), tmp_path)
    await embedder.embed(["a boat"])
    embedder.keep()
    (path,) = tmp_path.iterdir()
    path.write_bytes(b"PK\x03\x04 and nothing more")
    fresh = SubjectEmbedder()
    with caplog.at_level(logging.WARNING):
        await RememberingEmbedder(fresh, tmp_path).embed(["a boat"])
    assert fresh.asked == ["a boat"]
    assert "rebuilt" in caplog.text


async def test_a_folder_that_can_t_be_written_costs_nothing_but_time(tmp_path, caplog):
    (tmp_path / "file").write_text("")
    embedder = RememberingEmbedder(SubjectEmbedder(), tmp_path / "file" / "cache")
    await embedder.embed(["a boat"])
    embedder.keep()
    assert "not kept" in caplog.text


async def test_without_a_folder_nothing_is_kept():
    embedder = RememberingEmbedder(SubjectEmbedder(), None)
    assert (await embedder.embed(["a boat"])).shape == (1, 5)
    embedder.keep()

"""The embedding model that ships with the package."""

import asyncio
import shutil
import threading

import numpy as np
import pytest

from smart_context.base.errors import ModelFailed
from smart_context.llm.minilm import files
from smart_context.llm.offline import embedded
from smart_context.llm.offline.embedded import EmbeddedEmbedder, TokenWindow, batched, cut, padded
from tests.patience import PATIENCE_S, settled

pytestmark = pytest.mark.anyio

SENTENCES = [
    "How do I make a graph of agents with LangGraph?",
    "LangGraph builds agents as state machines",
    "My sourdough starter does not rise",
    "Bread dough needs time and warmth",
    "Le pain a besoin de temps",
    "机器学习模型",
    "今天天气很好",
]
REFERENCE = [
    [1.0, 0.71, 0.023, -0.071, 0.025, 0.103, 0.02],
    [0.71, 1.0, -0.037, -0.049, -0.066, 0.064, -0.035],
    [0.023, -0.037, 1.0, 0.231, -0.021, 0.074, 0.032],
    [-0.071, -0.049, 0.231, 1.0, 0.213, 0.043, 0.12],
    [0.025, -0.066, -0.021, 0.213, 1.0, 0.193, 0.282],
    [0.103, 0.064, 0.074, 0.043, 0.193, 1.0, 0.435],
    [0.02, -0.035, 0.032, 0.12, 0.282, 0.435, 1.0],
]
"""Cosines of the original float32 weights with the exact gelu."""


@pytest.fixture(scope="module")
def loaded():
    return embedded.load(files.FOLDER)


@pytest.fixture(scope="module")
def embedder():
    made = EmbeddedEmbedder()
    yield made
    asyncio.run(made.aclose())


async def test_similarities_are_those_of_the_original_weights(embedder):
    vectors = await embedder.embed(SENTENCES)
    np.testing.assert_allclose(vectors @ vectors.T, REFERENCE, atol=0.02)


async def test_rows_are_float32_of_unit_length_in_the_order_of_the_texts(embedder):
    texts = [" ".join(SENTENCES[:count]) for count in (4, 1, 3, 2)] * 9
    together = await embedder.embed(texts)
    assert together.dtype == np.float32
    assert together.shape == (36, 384)
    np.testing.assert_allclose(np.linalg.norm(together, axis=1), 1, atol=1e-5)
    alone = await embedder.embed([texts[2]])
    np.testing.assert_allclose(together[2], alone[0], atol=1e-4)


async def test_no_texts_give_no_rows(embedder):
    assert (await embedder.embed([])).shape == (0, 384)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="empty"),
        pytest.param(" \n\u200b", id="nothing to see"),
        pytest.param("🎉", id="nothing that the model knows"),
    ],
)
async def test_a_text_without_a_known_word_gives_a_zero_row(embedder, text):
    rows = await embedder.embed([text, "hello"])
    assert not rows[0].any()
    assert rows[1].any()


async def test_the_end_of_a_long_text_counts(embedder):
    filler = "The committee met again to approve the minutes. " * 60
    plain, with_end, query = await embedder.embed(
        [filler, filler + "Bread dough needs time and warmth. " * 20, SENTENCES[3]]
    )
    assert with_end @ query > plain @ query + 0.1


@pytest.mark.parametrize(
    ("text", "lengths"),
    [
        pytest.param("x", [3], id="a short text is one window"),
        pytest.param("x " * 254, [256], id="a text that just fits is one window"),
        pytest.param("x " * 255, [256, 3], id="one token more is two windows"),
        pytest.param("x " * 2_000, [256] * 4, id="a long text is four windows"),
        pytest.param("x " * 500_000, [256] * 4, id="a megabyte is four windows"),
        pytest.param("习" * 8_000, [], id="a long text of unknown ideographs is none"),
    ],
)
def test_a_text_is_cut_into_at_most_four_windows(loaded, text, lengths):
    pieces, _ = loaded
    assert [len(window.ids) for window in cut(pieces, [text])] == lengths


def test_the_windows_of_a_long_text_are_spread_from_its_beginning_to_its_end(loaded):
    pieces, _ = loaded
    text = " ".join(["alpha", *["x"] * 3_000, "omega"])
    windows = cut(pieces, [text], 7)
    assert windows[0].ids[1:2] == tuple(pieces.ids("alpha"))[:1]
    assert windows[-1].ids[-2:-1] == tuple(pieces.ids("omega"))[-1:]
    assert {window.text for window in windows} == {7}


def test_batches_are_sorted_by_length_and_bounded():
    windows = [TokenWindow(number, (1,) * (number % 256 + 1)) for number in range(600)]
    batches = list(batched(windows))
    lengths = [len(window.ids) for batch in batches for window in batch]
    assert lengths == sorted(lengths)
    assert len(lengths) == 600
    assert max(len(batch) for batch in batches) == 16
    assert max(padded(batch)[0].size for batch in batches) <= 2_048


def test_padding_is_behind_the_ids():
    ids, lengths = padded([TokenWindow(0, (5, 6)), TokenWindow(1, (7, 8, 9))])
    assert ids.tolist() == [[5, 6, 0], [7, 8, 9]]
    assert lengths.tolist() == [2, 3]


class GatedEmbedder(EmbeddedEmbedder):
    """Computes a batch for each time that its gate is released; counts those that were begun."""

    def __init__(self, loaded):
        super().__init__(workers=1)
        self.pieces = loaded[0]
        self.gate = threading.Semaphore(0)
        self.begun = threading.Semaphore(0)
        self.batches = []

    def _load(self):
        return self.pieces, self.forward

    def forward(self, ids, lengths):
        self.batches.append(ids)
        self.begun.release()
        assert self.gate.acquire(timeout=PATIENCE_S)
        return np.ones((len(lengths), 384), np.float32)


async def test_cancelling_stops_between_batches(loaded):
    gated = GatedEmbedder(loaded)
    job = asyncio.create_task(gated.embed(["hello"] * 160))
    await asyncio.to_thread(gated.begun.acquire, timeout=PATIENCE_S)
    job.cancel()
    with pytest.raises(asyncio.CancelledError):
        await job
    gated.gate.release(10)
    await gated.embed(["a question"])
    assert len(gated.batches) == 2
    await gated.aclose()


async def test_a_question_does_not_wait_for_the_end_of_a_long_import(loaded):
    gated = GatedEmbedder(loaded)
    job = asyncio.create_task(gated.embed(["hello"] * 160))
    await asyncio.to_thread(gated.begun.acquire, timeout=PATIENCE_S)
    question = asyncio.create_task(gated.embed(["a question of some length"]))
    await settled()
    while not question.done():
        gated.gate.release()
        await asyncio.to_thread(gated.begun.acquire, timeout=PATIENCE_S)
        await settled()
    assert not job.done()
    gated.gate.release(11)
    await job
    await gated.aclose()


async def test_closing_fails_calls_that_are_not_done_rather_than_give_zeros(loaded):
    gated = GatedEmbedder(loaded)
    job = asyncio.create_task(gated.embed(["hello"] * 160))
    await asyncio.to_thread(gated.begun.acquire, timeout=PATIENCE_S)
    await gated.aclose()
    gated.gate.release(10)
    with pytest.raises(ModelFailed, match="was closed"):
        await job


@pytest.mark.parametrize("name", [files.WEIGHTS, files.VOCABULARY])
@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        pytest.param(lambda path: path.write_bytes(path.read_bytes()[:-1]), "damaged", id="short"),
        pytest.param(lambda path: path.unlink(), "can't be read", id="missing"),
    ],
)
async def test_a_spoilt_data_file_is_named_with_what_to_do(tmp_path, name, spoil, said):
    for file in (files.WEIGHTS, files.VOCABULARY):
        shutil.copy(files.FOLDER / file, tmp_path / file)
    spoil(tmp_path / name)
    embedder = EmbeddedEmbedder(folder=tmp_path)
    with pytest.raises(ModelFailed, match=f"{name}.*{said}.*Reinstall the package"):
        await embedder.embed(["hello"])
    await embedder.aclose()


async def test_a_call_can_follow_one_that_failed_to_load(tmp_path):
    embedder = EmbeddedEmbedder(folder=tmp_path)
    with pytest.raises(ModelFailed):
        await embedder.embed(["hello"])
    for file in (files.WEIGHTS, files.VOCABULARY):
        shutil.copy(files.FOLDER / file, tmp_path / file)
    assert (await embedder.embed(["hello"])).any()
    await embedder.aclose()


def test_the_name_in_caches_is_stable():
    assert EmbeddedEmbedder().name == "embedded/all-MiniLM-L6-v2"

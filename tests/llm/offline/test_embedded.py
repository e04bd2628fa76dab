"""The embedding model that ships with the package."""

import asyncio
import shutil
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smart_context.base.errors import ModelFailed
from smart_context.llm.minilm import files
from smart_context.llm.offline import embedded
from smart_context.llm.offline.embedded import EmbeddedEmbedder, TokenWindow, batched, cut, padded
from smart_context.llm.offline.one_thread import use_one_thread
from smart_context.llm.offline.word_piece import WordPiece
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
    assert max(padded(batch)[0].size for batch in batches) <= 512


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


def test_asking_for_one_thread_never_fails_and_can_be_repeated():
    assert use_one_thread() == use_one_thread()


VOCABULARY = files.read_checked(files.FOLDER, files.VOCABULARY).decode().split("\n")[:-1]
PIECES = WordPiece(VOCABULARY)


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        pytest.param("", [], id="empty"),
        pytest.param(" \n\t ", [], id="white space only"),
        pytest.param("The quick brown fox", [1996, 4248, 2829, 4419], id="plain words"),
        pytest.param(
            "don't_stop x=1;y+=2",
            [2123, 1005, 1056, 1035, 2644, 1060, 1027, 1015, 1025, 1061, 1009, 1027, 1016],
            id="punctuation stands alone",
        ),
        pytest.param(
            "Überraschung für Zoë im Café İstanbul",
            [19169, 8180, 20760, 3070, 6519, 11199, 10047, 7668, 9960],
            id="accents are stripped",
        ),
        pytest.param(
            "a\x00b\x0bc\u200bd\xa0e\u2028f\tg",
            [5925, 2094, 1041, 1042, 1043],
            id="controls vanish, white space of every kind parts",
        ),
        pytest.param(
            "机器学习 and 〇々",
            [100, 100, 1817, 100, 1998, 100],
            id="ideographs stand alone",
        ),
        pytest.param("豈 x", [100, 1060], id="compatibility ideographs stand alone"),
        pytest.param(
            "こんにちは",
            [1655, 30217, 30194, 30188, 30198],
            id="kana",
        ),
        pytest.param(
            "안녕 하세요",
            [1463, 30006, 30021, 29992, 30010, 30025, 1469, 30006, 29997, 30009, 29999, 30013],
            id="hangul falls into its letters",
        ),
        pytest.param(
            "Привет, Ωμέγα",
            [1194, 16856, 10325, 25529, 15290, 22919, 1010, 1179, 29728, 29723, 29721, 14608],
            id="cyrillic and greek",
        ),
        pytest.param(
            "مرحبا नमस्ते",
            [1295, 17149, 29820, 29816, 25573, 1327, 29867, 29874, 29859],
            id="arabic and devanagari",
        ),
        pytest.param("done 🎉👩\u200d💻", [2589, 100], id="emoji are unknown"),
        pytest.param("a\U0001bf2ab", [100], id="an unassigned character stays"),
        pytest.param("b" * 100, [22861] + [10322] * 49, id="100 letters are split"),
        pytest.param("b" * 101 + " x", [100, 1060], id="101 letters are unknown"),
        pytest.param(
            "def f(x): return x**2  # ½ \ufb01",
            [13366, 1042, 1006, 1060, 1007, 1024, 2709, 1060, 1008, 1008, 1016, 1001, 1092, 1984],
            id="code",
        ),
    ],
)
def test_ids_are_those_of_the_tokenizers_library(text, ids):
    assert PIECES.ids(text) == ids


def test_control_tokens_in_a_text_are_ordinary_text():
    assert PIECES.ids("[SEP]") == PIECES.ids("[") + PIECES.ids("sep") + PIECES.ids("]")


@given(st.text(st.characters(codec=None, categories=None)))
def test_any_text_gives_ids_of_the_vocabulary(text):
    assert all(0 <= piece < len(VOCABULARY) for piece in PIECES.ids(text))

"""The embedding model that ships with the package: no key, no network.

A text longer than the model's window becomes the mean of at most four windows spread evenly over
it, so its cost is bounded and its end counts too.
"""

import asyncio
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from smart_context.base.errors import ModelFailed
from smart_context.llm.minilm import files
from smart_context.llm.minilm.onnx_session import Forward, onnx_forward
from smart_context.llm.minilm.tensors import from_bytes
from smart_context.llm.minilm.transformer import DIMENSION, LONGEST, minilm
from smart_context.llm.models import Matrix, unit_rows
from smart_context.llm.offline.one_thread import use_one_thread
from smart_context.llm.offline.word_piece import WordPiece

NAME = "embedded/all-MiniLM-L6-v2"
_MOST_WINDOWS = 4
_WINDOW = LONGEST - 2
_WINDOW_CHARACTERS = 2_048
_TEXTS_AT_ONCE = 256
_BATCH_ROWS = 16
_BATCH_TOKENS = 512
_MOST_WORKERS = 4
_WAITING_BATCHES = 1

T = TypeVar("T")


class PieceSplitter(Protocol):
    """A tokenizer."""

    unknown: int  # the id of pieces that are not in its vocabulary

    def ids(self, text: str) -> list[int]:
        """The ids of a text's pieces."""

    def framed(self, ids: Sequence[int]) -> tuple[int, ...]:
        """The ids with those that the model expects before and after a text."""


Loader = Callable[[Path], tuple[PieceSplitter, Forward]]
"""Reads a tokenizer and a model from the folder of their data files."""


@dataclass(frozen=True, slots=True)
class TokenWindow:
    """Part of a text: its index and its ids, with the opening and closing tokens."""

    text: int
    ids: tuple[int, ...]


class EmbeddedEmbedder:
    """all-MiniLM-L6-v2 on the processor; satisfies `Embedder`.

    The weights are loaded on first use. Batches run in threads of its own. A cancelled call stops
    after its current batches, and concurrent calls take turns, so a question does not wait for a
    long import.

    Args:
        folder: The folder of the data files.
        workers: The number of parallel batches; by default one per processor, up to four.
        loader: Reads the tokenizer and the model from the folder.
    """

    def __init__(
        self,
        *,
        folder: Path = files.FOLDER,
        workers: int | None = None,
        loader: "Loader | None" = None,
    ) -> None:
        self._folder = folder
        self._loader: Loader = loader or load
        self.workers = workers or min(_MOST_WORKERS, os.cpu_count() or 1)
        self._threads = ThreadPoolExecutor(self.workers, "embedding")
        self._loading = threading.Lock()
        self._loaded: tuple[PieceSplitter, Forward] | None = None

    @property
    def name(self) -> str:
        """`embedded/all-MiniLM-L6-v2`."""
        return NAME

    async def embed(self, texts: Sequence[str]) -> Matrix:
        """Shape (len(texts), 384), one unit-length row per text, in order.

        A text without a known word piece (empty, white space, unknown script) gives a zero row.

        Raises:
            ModelFailed: If the weights are missing or damaged, or the model is closed.
        """
        rows = np.zeros((len(texts), DIMENSION), np.float32)
        if not texts:
            return rows
        pieces, forward = await self._in_thread(self._load)
        windows: list[TokenWindow] = []
        for start in range(0, len(texts), _TEXTS_AT_ONCE):
            some = texts[start : start + _TEXTS_AT_ONCE]
            windows += await self._in_thread(partial(cut, pieces, some, start))
        await self._compute(batched(windows), forward, rows)
        return unit_rows(rows)

    async def aclose(self) -> None:
        """Stop the threads; unfinished calls fail at their next batch."""
        self._threads.shutdown(wait=False)

    async def _compute(
        self, batches: Iterator[list[TokenWindow]], forward: Forward, rows: Matrix
    ) -> None:
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(self.workers + _WAITING_BATCHES):
                    group.create_task(self._add(batches, forward, rows))
        except ExceptionGroup as several:
            raise several.exceptions[0] from None

    async def _add(
        self, batches: Iterator[list[TokenWindow]], forward: Forward, rows: Matrix
    ) -> None:
        for batch in batches:
            vectors = await self._in_thread(partial(forward, *padded(batch)))
            counts = np.array([[len(window.ids) - 2] for window in batch], np.float32)
            np.add.at(rows, [window.text for window in batch], vectors * counts)

    async def _in_thread(self, work: Callable[[], T]) -> T:
        try:
            done = asyncio.get_running_loop().run_in_executor(self._threads, work)
        except RuntimeError as error:
            raise ModelFailed("The embedding model was closed. Restart Smart Context.") from error
        return await done

    def _load(self) -> tuple[PieceSplitter, Forward]:
        with self._loading:
            if self._loaded is None:
                self._loaded = self._loader(self._folder)
            return self._loaded


def load(folder: Path) -> tuple[WordPiece, Forward]:
    """The tokenizer and the model, on onnxruntime if installed, else on numpy.

    Takes about 0.1 s and 100 MB.

    Raises:
        ModelFailed: If a data file is missing or damaged.
    """
    use_one_thread()
    vocabulary = files.read_checked(folder, files.VOCABULARY).decode()
    tensors = from_bytes(files.read_checked(folder, files.WEIGHTS))
    forward = onnx_forward(tensors) or minilm(tensors)
    return WordPiece(vocabulary.split("\n")[:-1]), forward


def cut(pieces: PieceSplitter, texts: Sequence[str], first: int = 0) -> list[TokenWindow]:
    """The windows of the texts; none for a text without a known piece.

    Args:
        first: The index of the first text.
    """
    return [
        TokenWindow(number, pieces.framed(ids))
        for number, text in enumerate(texts, first)
        for ids in _windows(pieces, text)
    ]


def _windows(pieces: PieceSplitter, text: str) -> list[list[int]]:
    if len(text) > _MOST_WINDOWS * _WINDOW_CHARACTERS:
        stretches = _spread(text, _WINDOW_CHARACTERS)
        windows = [pieces.ids(stretch)[:_WINDOW] for stretch in stretches]
    else:
        windows = _spread(pieces.ids(text), _WINDOW)
    return [ids for ids in windows if any(piece != pieces.unknown for piece in ids)]


S = TypeVar("S", str, list[int])


def _spread(whole: S, width: int) -> list[S]:
    """At most four evenly spread parts of `width`, with the first and the last."""
    count = min(_MOST_WINDOWS, -(-len(whole) // width))
    if count * width >= len(whole):
        return [whole[start : start + width] for start in range(0, len(whole), width)]
    starts = [round(number * (len(whole) - width) / (count - 1)) for number in range(count)]
    return [whole[start : start + width] for start in starts]


def batched(windows: Sequence[TokenWindow]) -> Iterator[list[TokenWindow]]:
    """The windows, shortest first, in batches of at most 16 rows and 512 tokens.

    Larger ones are not faster, and take more memory, which the runtime keeps.
    """
    batch: list[TokenWindow] = []
    for window in sorted(windows, key=lambda window: len(window.ids)):
        if len(batch) == _BATCH_ROWS or (len(batch) + 1) * len(window.ids) > _BATCH_TOKENS:
            yield batch
            batch = []
        batch.append(window)
    if batch:
        yield batch


def padded(batch: Sequence[TokenWindow]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The ids, shape (n, longest), padded with zeros; and the lengths, shape (n,)."""
    lengths = np.array([len(window.ids) for window in batch])
    ids = np.zeros((len(batch), lengths.max()), np.int64)
    for row, window in zip(ids, batch, strict=True):
        row[: len(window.ids)] = window.ids
    return ids, lengths

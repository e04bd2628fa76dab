"""Stores vectors between runs, so that a second measurement embeds nothing."""

import hashlib
import io
import logging
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from smart_context.base.disk.files import atomic_write
from smart_context.base.errors import StoreFailed
from smart_context.llm.models import Embedder, Matrix

_log = logging.getLogger(__name__)


class RememberingEmbedder:
    """Caches the vectors of another embedder by text; satisfies `Embedder`.

    Args:
        folder: The folder of the files, one for each model; `None` caches in memory only.
    """

    def __init__(self, embedder: Embedder, folder: Path | None) -> None:
        self._embedder = embedder
        self._path = None if folder is None else folder / f"{_digest(embedder.name)[:16].hex()}.npz"
        self._known: dict[bytes, NDArray[np.float32]] | None = None
        self._added = 0

    @property
    def name(self) -> str:
        """The name of the other embedder."""
        return self._embedder.name

    async def embed(self, texts: Sequence[str]) -> Matrix:
        """Shape (len(texts), d); see `Embedder`.

        Raises:
            ModelFailed: If the other embedder fails.
        """
        if self._known is None:
            self._known = self._read()
        known = self._known
        missing = list(dict.fromkeys(text for text in texts if _digest(text) not in known))
        if missing:
            for text, row in zip(missing, await self._embedder.embed(missing), strict=True):
                known[_digest(text)] = np.asarray(row, dtype=np.float32)
            self._added += len(missing)
        return np.array([known[_digest(text)] for text in texts], dtype=np.float32)

    def keep(self) -> None:
        """Store new vectors; if the disk refuses, the next run embeds them again."""
        if self._path is None or not self._added or not self._known:
            return
        rows = io.BytesIO()
        keys = np.frombuffer(b"".join(self._known), dtype=np.uint8).reshape(len(self._known), -1)
        np.savez(rows, keys=keys, vectors=np.stack(list(self._known.values())))
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            atomic_write(self._path, rows.getvalue())
        except (OSError, StoreFailed) as failure:
            _log.warning("vectors are not kept: %s", failure)
        self._added = 0

    def _read(self) -> dict[bytes, NDArray[np.float32]]:
        if self._path is None:
            return {}
        try:
            whole = io.BytesIO(self._path.read_bytes())
            with np.load(whole, allow_pickle=False) as stored:
                keys, vectors = stored["keys"], stored["vectors"]
            return {key.tobytes(): row for key, row in zip(keys, vectors, strict=True)}
        except FileNotFoundError:
            return {}
        except Exception as damaged:  # noqa: BLE001 -- a cache is rebuilt, whatever is wrong
            _log.warning("%s can't be read (%s); its vectors are rebuilt.", self._path, damaged)
            return {}


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()

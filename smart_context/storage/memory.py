"""The vectors of chats in this process's memory, for runs that store nothing."""

from collections import defaultdict
from collections.abc import Hashable, MutableMapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from smart_context.chat.ids import check_chat_id
from smart_context.chat.messages import ChatId
from smart_context.llm.models import Matrix
from smart_context.storage.ports import Stored, no_vectors

Beside = MutableMapping[ChatId, dict[Hashable, Any]]
"""The data that belongs to each chat, by kind."""

_KIND = "vectors"


@dataclass(frozen=True, slots=True)
class _KeptValue:
    model: str
    keys: tuple[str, ...]
    rows: Matrix
    has_additions: bool = False


class MemoryVectors:
    """The vectors of the chats; satisfies `Vectors`."""

    def __init__(self, beside: Beside | None = None) -> None:
        self._beside = defaultdict(dict) if beside is None else beside

    def of(self, chat_id: ChatId, model: str) -> "HeldVectors":
        return HeldVectors(self._beside, check_chat_id(chat_id), model)


@dataclass(slots=True)
class HeldVectors:
    """The vectors of one chat; satisfies `ChatVectors`."""

    _beside: Beside
    _chat: ChatId
    _model: str
    has_additions: bool = field(default=False, init=False)

    def read(self) -> Stored:
        """The stored vectors; none if they are another model's."""
        kept = self._kept()
        self.has_additions = kept is not None and kept.has_additions
        return no_vectors() if kept is None else ([*kept.keys], kept.rows.copy())

    def replace(self, keys: Sequence[str], vectors: Matrix) -> None:
        self._keep(keys, vectors, has_additions=False)

    def append(self, keys: Sequence[str], vectors: Matrix) -> None:
        """Add vectors; vectors of another width replace all earlier ones."""
        kept = self._kept()
        if kept is not None and kept.rows.shape[1] == vectors.shape[1]:
            keys, vectors = (*kept.keys, *keys), np.concatenate([kept.rows, vectors])
        self._keep(keys, vectors, has_additions=True)

    def _kept(self) -> _KeptValue | None:
        kept = self._beside[self._chat].get(_KIND)
        is_ours = isinstance(kept, _KeptValue) and kept.model == self._model
        return kept if is_ours else None

    def _keep(self, keys: Sequence[str], vectors: Matrix, *, has_additions: bool) -> None:
        rows = vectors.astype(np.float32)
        kept = _KeptValue(self._model, tuple(keys), rows, has_additions)
        self._beside[self._chat][_KIND] = kept
        self.has_additions = has_additions

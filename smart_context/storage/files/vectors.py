"""The files of a chat's vectors: the JSON file of docs/chats.md and a journal next to it."""

import logging
import os
from collections.abc import Sequence
from pathlib import Path, PurePath

import numpy as np

from smart_context.base.disk.files import MAX_FILE_BYTES, atomic_write, open_file, remove_file
from smart_context.base.disk.folders import read_inside
from smart_context.base.disk.places import Place, folder_of
from smart_context.chat.ids import check_chat_id, sidecar_name
from smart_context.chat.messages import ChatId
from smart_context.llm.models import Matrix
from smart_context.storage.ports import Stored, no_vectors
from smart_context.storage.vector_format import (
    DAMAGED,
    VectorHead,
    encoded_vectors,
    journal_head,
    journal_records,
    parsed_journal,
    parsed_vectors,
)

SUFFIX = "embeddings.json"

_log = logging.getLogger(__name__)


class FileVectors:
    """The files of the vectors, next to the chats in a folder; satisfies `Vectors`."""

    def __init__(self, folder: Path | Place) -> None:
        self._folder = folder_of(folder)

    def of(self, chat_id: ChatId, model: str) -> "VectorFiles":
        return VectorFiles(self._folder / sidecar_name(check_chat_id(chat_id), SUFFIX), model)


class VectorFiles:
    """A JSON file and the journal next to it, for the vectors of one model.

    Satisfies `ChatVectors`. Its methods block: call them from a worker thread, one at a time.
    """

    def __init__(self, place: Place, model: str) -> None:
        self._path = place
        self._journal = self._path.parent / f"{PurePath(self._path.name).stem}.journal"
        self._model = model
        self.has_additions = False

    def read(self) -> Stored:
        """The stored vectors of this model; none if the files are missing or damaged."""
        keys, vectors = self._read_json()
        newer_keys, newer = self._read_journal()
        if not newer_keys:
            return keys, vectors
        if not keys or vectors.shape[1] != newer.shape[1]:
            return newer_keys, newer
        return keys + newer_keys, np.concatenate([vectors, newer])

    def replace(self, keys: Sequence[str], vectors: Matrix) -> None:
        """Replace the JSON file, and remove the journal, which it now contains.

        Raises:
            StoreFailed: If the disk refuses; the old file is intact.
        """
        atomic_write(self._path, encoded_vectors(self._model, keys, vectors))
        remove_file(self._journal)
        self.has_additions = False

    def append(self, keys: Sequence[str], vectors: Matrix) -> None:
        """Add records to the journal; the cost doesn't depend on its length."""
        records = journal_records(keys, vectors)
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
        with os.fdopen(open_file(self._journal, flags), "ab") as journal:
            if not journal.tell():
                journal.write(journal_head(self._head(vectors.shape[1])))
            journal.write(records)
        self.has_additions = True

    def _head(self, width: int) -> VectorHead:
        return VectorHead(self._model, width)

    def _read_json(self) -> Stored:
        try:
            head, keys, rows = parsed_vectors(read_inside(self._path, max_bytes=MAX_FILE_BYTES))
        except FileNotFoundError:
            return no_vectors()
        except (OSError, *DAMAGED) as fault:
            _log.warning("%s can't be used and is rebuilt: %s", self._path, fault)
            return no_vectors()
        return (keys, rows) if head.model == self._model and head.width else no_vectors()

    def _read_journal(self) -> Stored:
        self.has_additions = False
        try:
            content = read_inside(self._journal, max_bytes=MAX_FILE_BYTES)
        except FileNotFoundError:
            return no_vectors()
        except OSError as fault:
            _log.warning("%s can't be used: %s", self._journal, fault)
            return no_vectors()
        self.has_additions = True
        try:
            head, keys, rows, whole = parsed_journal(content)
            if head.model != self._model:
                remove_file(self._journal)
                return no_vectors()
            if whole < len(content):
                self._cut(whole)
        except (OSError, *DAMAGED) as fault:
            _log.warning("%s can't be used and is rebuilt: %s", self._journal, fault)
            remove_file(self._journal)
            return no_vectors()
        return keys, rows

    def _cut(self, size: int) -> None:
        _log.warning("%s ends in an incomplete record, which is dropped", self._journal)
        with os.fdopen(open_file(self._journal, os.O_RDWR), "r+b") as journal:
            journal.truncate(size)

"""The files of a chat's vectors: the JSON file of docs/chats.md and a journal next to it.

The journal is a line of JSON (version, model, dimensions) followed by records: the key's length, a
checksum, the key, the vector. Reading stops at a record that a crash cut short.
"""

import base64
import binascii
import json
import logging
import os
import struct
import zlib
from collections.abc import Sequence
from pathlib import Path, PurePath
from typing import Any, cast

import numpy as np
from pydantic import ConfigDict, StrictInt, TypeAdapter, with_config
from typing_extensions import TypedDict

from smart_context.base.disk.files import MAX_FILE_BYTES, atomic_write, open_file, remove_file
from smart_context.base.disk.folders import read_inside
from smart_context.base.disk.places import Place, folder_of
from smart_context.chat.ids import check_chat_id, sidecar_name
from smart_context.chat.messages import ChatId
from smart_context.llm.models import Matrix
from smart_context.storage.ports import Stored, no_vectors

VERSION = 1
SUFFIX = "embeddings.json"

_RECORD = struct.Struct("<HI")
_FLOAT_BYTES = 4

_log = logging.getLogger(__name__)


@with_config(ConfigDict(val_json_bytes="base64"))
class _Document(TypedDict):
    """The JSON file; pydantic reads it several times faster than `json` and `binascii`."""

    version: Any
    model: Any
    dimensions: StrictInt
    vectors: dict[str, bytes]


class FileVectors:
    """The files of the vectors beside the chats in a folder; satisfies `Vectors`."""

    def __init__(self, folder: Path | Place) -> None:
        self._folder = folder_of(folder)

    def of(self, chat_id: ChatId, model: str) -> "VectorFiles":
        """Those of a chat by a model."""
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
        dimensions = vectors.shape[1] if vectors.ndim > 1 else 0
        rows = vectors.astype("<f4", copy=False)
        document = {
            **self._head(dimensions),
            "vectors": {
                key: base64.b64encode(row.tobytes()).decode("ascii")
                for key, row in zip(keys, rows, strict=True)
            },
        }
        text = json.dumps(document, ensure_ascii=False)
        atomic_write(self._path, text.encode("utf-8", "surrogatepass"))
        remove_file(self._journal)
        self.has_additions = False

    def append(self, keys: Sequence[str], vectors: Matrix) -> None:
        """Add records to the journal; the cost doesn't depend on its length."""
        records = b"".join(
            _record(key, row.astype("<f4", copy=False).tobytes())
            for key, row in zip(keys, vectors, strict=True)
        )
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
        with os.fdopen(open_file(self._journal, flags), "ab") as journal:
            if not journal.tell():
                journal.write(json.dumps(self._head(vectors.shape[1])).encode() + b"\n")
            journal.write(records)
        self.has_additions = True

    def _head(self, dimensions: int) -> dict[str, Any]:
        return {"version": VERSION, "model": self._model, "dimensions": dimensions}

    def _read_json(self) -> Stored:
        try:
            content = read_inside(self._path, max_bytes=MAX_FILE_BYTES)
            try:
                document = TypeAdapter(_Document).validate_json(content)
            except ValueError:
                document = _read_patiently(content)
            return self._parsed(document)
        except FileNotFoundError:
            return no_vectors()
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as fault:
            _log.warning("%s can't be used and is rebuilt: %s", self._path, fault)
            return no_vectors()

    def _parsed(self, document: _Document) -> Stored:
        dimensions = document["dimensions"]
        head = {key: document[key] for key in ("version", "model", "dimensions")}
        if head != self._head(dimensions) or dimensions < 1:
            return no_vectors()
        keys = list(document["vectors"])
        return keys, _rows(b"".join(document["vectors"].values()), len(keys), dimensions)

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
            head, _, records = content.partition(b"\n")
            described = json.loads(head)
            dimensions = described["dimensions"]
            if described != self._head(dimensions) or dimensions < 1:
                remove_file(self._journal)
                return no_vectors()
            keys, data, whole = _records(records, dimensions * _FLOAT_BYTES)
            if whole < len(records):
                self._cut(len(head) + 1 + whole)
            return keys, _rows(data, len(keys), dimensions)
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as fault:
            _log.warning("%s can't be used and is rebuilt: %s", self._journal, fault)
            remove_file(self._journal)
            return no_vectors()

    def _cut(self, size: int) -> None:
        _log.warning("%s ends in an incomplete record, which is dropped", self._journal)
        with os.fdopen(open_file(self._journal, os.O_RDWR), "r+b") as journal:
            journal.truncate(size)


def _read_patiently(content: bytes) -> _Document:
    """Read what pydantic refuses although we may have written it: ids with lone surrogates."""
    document = json.loads(content.decode("utf-8", "surrogatepass"))
    vectors = document["vectors"]
    if not isinstance(vectors, dict) or type(document["dimensions"]) is not int:
        raise TypeError("expected vectors by key and a number of dimensions")
    vectors = {key: binascii.a2b_base64(text) for key, text in vectors.items()}
    return cast("_Document", document | {"vectors": vectors})


def _rows(data: bytes, count: int, dimensions: int) -> Matrix:
    """The vectors as rows; ValueError if the data are not `count` finite vectors."""
    rows = np.frombuffer(data, dtype="<f4").reshape(count, dimensions)
    if not np.isfinite(rows).all():
        raise ValueError("a vector holds a value that is not a finite number")
    return rows.astype(np.float32, copy=False)


def _record(key: str, vector: bytes) -> bytes:
    name = key.encode("utf-8", "surrogatepass")
    return _RECORD.pack(len(name), zlib.crc32(name + vector)) + name + vector


def _records(data: bytes, vector_bytes: int) -> tuple[list[str], bytes, int]:
    """The keys, the joined vectors, and the number of bytes in whole records."""
    keys: list[str] = []
    vectors: list[bytes] = []
    position = 0
    while position + _RECORD.size <= len(data):
        name_bytes, checksum = _RECORD.unpack_from(data, position)
        start = position + _RECORD.size
        end = start + name_bytes + vector_bytes
        if end > len(data) or zlib.crc32(data[start:end]) != checksum:
            break
        keys.append(data[start : start + name_bytes].decode("utf-8", "surrogatepass"))
        vectors.append(data[start + name_bytes : end])
        position = end
    return keys, b"".join(vectors), position

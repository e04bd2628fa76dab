"""The files of a chat's vectors as bytes (docs/chats.md). Pure.

A JSON file, and a journal: a line of JSON (version, model, dimensions) followed by records: the
key's length, a checksum, the key, the vector. Reading stops at a record that a crash cut short.
"""

import base64
import binascii
import json
import struct
import zlib
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, cast

import numpy as np
from pydantic import ConfigDict, StrictInt, TypeAdapter, with_config
from typing_extensions import TypedDict

from smart_context.llm.models import Matrix

VERSION = 1
DAMAGED = (ValueError, KeyError, TypeError, RecursionError)
"""The errors that the readers raise for damaged content."""

_RECORD = struct.Struct("<HI")
_FLOAT_BYTES = 4


class VectorHead(NamedTuple):
    """The model that made the vectors, and the number of dimensions."""

    model: str
    width: int

    def document(self) -> dict[str, Any]:
        """The head as it is written."""
        return {"version": VERSION, "model": self.model, "dimensions": self.width}


@with_config(ConfigDict(val_json_bytes="base64"))
class _VectorDocument(TypedDict):
    """The JSON file; pydantic reads it several times faster than `json` and `binascii`."""

    version: Any
    model: Any
    dimensions: StrictInt
    vectors: dict[str, bytes]


def encoded_vectors(model: str, keys: Sequence[str], vectors: Matrix) -> Iterator[bytes]:
    """The JSON file of some vectors, in pieces: whole, it would take more memory than they do."""
    width = vectors.shape[1] if vectors.ndim > 1 else 0
    head = json.dumps({**VectorHead(model, width).document(), "vectors": {}}, ensure_ascii=False)
    yield _in_utf_8(head[:-2])
    between = b""
    for key, row in zip(keys, vectors.astype("<f4", copy=False), strict=True):
        name = _in_utf_8(json.dumps(key, ensure_ascii=False))
        yield between + name + b': "' + base64.b64encode(row.tobytes()) + b'"'
        between = b", "
    yield b"}}"


def parsed_vectors(content: bytes) -> tuple[VectorHead, list[str], Matrix]:
    """The vectors in a JSON file; raises one of `DAMAGED`."""
    try:
        document = TypeAdapter(_VectorDocument).validate_json(content)
    except ValueError:
        document = _read_patiently(content)
    head = _head(document)
    keys = list(document["vectors"])
    return head, keys, _rows(b"".join(document["vectors"].values()), len(keys), head.width)


def journal_head(head: VectorHead) -> bytes:
    """The first line of a journal."""
    return json.dumps(head.document()).encode() + b"\n"


def journal_records(keys: Sequence[str], vectors: Matrix) -> bytes:
    """Some vectors as records of a journal."""
    return b"".join(
        _record(key, row.astype("<f4", copy=False).tobytes())
        for key, row in zip(keys, vectors, strict=True)
    )


def parsed_journal(content: bytes) -> tuple[VectorHead, list[str], Matrix, int]:
    """The vectors in a journal, and the bytes in whole records; raises one of `DAMAGED`."""
    line, _, records = content.partition(b"\n")
    head = _head(json.loads(line))
    if head.width < 1:
        raise ValueError("vectors have at least one number")
    keys, data, whole = _records(records, head.width * _FLOAT_BYTES)
    return head, keys, _rows(data, len(keys), head.width), len(line) + 1 + whole


def _in_utf_8(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _head(document: Any) -> VectorHead:
    head = VectorHead(str(document["model"]), document["dimensions"])
    described = {key: document[key] for key in ("version", "model", "dimensions")}
    if described != head.document() or head.width < 0:
        raise ValueError("of another version")
    return head


def _read_patiently(content: bytes) -> _VectorDocument:
    """Read a file that pydantic refuses although it is valid here: ids with lone surrogates."""
    document = json.loads(content.decode("utf-8", "surrogatepass"))
    vectors = document["vectors"]
    if not isinstance(vectors, dict) or type(document["dimensions"]) is not int:
        raise TypeError("expected vectors by key and a number of dimensions")
    vectors = {key: binascii.a2b_base64(text) for key, text in vectors.items()}
    return cast("_VectorDocument", document | {"vectors": vectors})


def _rows(data: bytes, count: int, dimensions: int) -> Matrix:
    """The vectors as rows; ValueError if the data are not `count` finite vectors."""
    rows = np.frombuffer(data, dtype="<f4").reshape(count, dimensions)
    if not np.isfinite(rows).all():
        raise ValueError("a vector holds a value that is not a finite number")
    return rows.astype(np.float32, copy=False)


def _record(key: str, vector: bytes) -> bytes:
    name = _in_utf_8(key)
    return _RECORD.pack(len(name), zlib.crc32(name + vector)) + name + vector


def _records(data: bytes, vector_bytes: int) -> tuple[list[str], bytes, int]:
    """The keys, the joined vectors, and the number of bytes in whole records."""
    keys: list[str] = []
    rows = memoryview(data)
    vectors: list[memoryview] = []
    position = 0
    while position + _RECORD.size <= len(data):
        name_bytes, checksum = _RECORD.unpack_from(data, position)
        start = position + _RECORD.size
        end = start + name_bytes + vector_bytes
        if end > len(data) or zlib.crc32(rows[start:end]) != checksum:
            break
        keys.append(data[start : start + name_bytes].decode("utf-8", "surrogatepass"))
        vectors.append(rows[start + name_bytes : end])
        position = end
    return keys, b"".join(vectors), position

"""The meaning of each file of a memory folder, and copies between storages, file by file."""

import json
import re
from collections.abc import Callable, Hashable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Literal, Protocol

from smart_context.base.errors import CommandFailed, SmartContextError, StorageAway
from smart_context.base.values import JsonObject
from smart_context.chat.documents.document import NotAChat, raw_version
from smart_context.chat.ids import chat_id_of
from smart_context.chat.messages import ChatId
from smart_context.storage.names import parsed_deletion
from smart_context.storage.vector_format import (
    DAMAGED,
    encoded_vectors,
    journal_head,
    journal_records,
    parsed_journal,
    parsed_vectors,
)

TRASH = "trash"
FILES = "files"
CACHES = frozenset({"index", ".index.json"})
"""Entries that any machine can make again; they are not copied."""

PieceKind = Literal[
    "chat", "document", "log", "vectors", "added vectors", "answer", "vault document", "vault log",
    "blob", "other",
]  # fmt: skip

_NONE = ChatId("")
_BESIDE = re.compile(r"([A-Za-z0-9_-]{1,128})\.([a-z0-9][a-z0-9_-]*)\.(jsonl|json|journal)")
_OF_VAULT = re.compile(r"([a-z]+)/([^/]+)\.(jsonl|json)")
_ALONE = re.compile(r"\.([^/]+)\.json")
_BLOB = re.compile(FILES + r"/([0-9a-f]{64})")


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredPiece:
    """A stored piece of data, such as a chat or a log."""

    path: str  # its path in a memory folder
    kind: PieceKind  # `other` for a file that is only copied as it is
    chat: ChatId = _NONE  # the chat that it is or belongs to
    deletion: str = ""  # the deletion of that chat, if it is in the trash
    name: str = ""  # its name within the chat or the vault; the key of a blob
    of: str = ""  # the kind of a vault's document or log


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """The content of a piece."""

    body: bytes  # the bytes of its file in a memory folder
    written_ns: int = 0  # the time when it was written, in ns since 1970
    about: bytes = b""  # the description of a blob
    text: bytes | None = None  # the text of a blob, if that differs from the body


def piece_at(path: str) -> StoredPiece:
    """The piece that a path of the memory folder names."""
    deletion, name = "", path
    if path.startswith(f"{TRASH}/") and path.count("/") == 2:  # noqa: PLR2004 - trash/DELETION/NAME
        _, deletion, name = path.split("/")
        try:
            of_deletion = parsed_deletion(deletion)[0]
        except ValueError:
            return StoredPiece(path=path, kind="other")
        if not name.startswith(f"{of_deletion}."):
            return StoredPiece(path=path, kind="other")
    return _of_chat(path, name, deletion) or _of_vault(path)


def _of_chat(path: str, name: str, deletion: str) -> StoredPiece | None:
    if (chat := chat_id_of(name)) is not None:
        return StoredPiece(path=path, kind="chat", chat=chat, deletion=deletion)
    found = _BESIDE.fullmatch(name)
    if found is None:
        return None
    kinds: dict[tuple[str, str], PieceKind] = {
        ("embeddings", "json"): "vectors",
        ("embeddings", "journal"): "added vectors",
        ("answer", "jsonl"): "answer",
    }
    usual: dict[str, PieceKind] = {"json": "document", "jsonl": "log", "journal": "other"}
    kind = kinds.get((found[2], found[3]), usual[found[3]])
    return StoredPiece(
        path=path, kind=kind, chat=ChatId(found[1]), deletion=deletion, name=found[2]
    )


def _of_vault(path: str) -> StoredPiece:
    if found := _BLOB.fullmatch(path):
        return StoredPiece(path=path, kind="blob", name=found[1])
    if found := _ALONE.fullmatch(path):
        return StoredPiece(path=path, kind="vault document", name=found[1])
    found = _OF_VAULT.fullmatch(path)
    if found is None or found[1] in (FILES, TRASH) or found[2].startswith("."):
        return StoredPiece(path=path, kind="other")
    kind: PieceKind = "vault document" if found[3] == "json" else "vault log"
    return StoredPiece(path=path, kind=kind, name=found[2], of=found[1])


def settled(piece: StoredPiece, body: bytes) -> bytes | None:
    """The body of a piece in the form that every storage returns; `None` if it is damaged.

    Bodies that Smart Context wrote have this form already.
    """
    try:
        if piece.kind == "chat":
            return raw_version(body).encode()
        if piece.kind in ("document", "vault document"):
            return body if isinstance(json.loads(body), dict) else None
        if piece.kind in ("log", "vault log"):
            return joined(lines_of(body))
        return _settled_others(piece.kind, body)
    except (NotAChat, *DAMAGED):
        return None


def _settled_others(kind: PieceKind, body: bytes) -> bytes | None:
    if kind == "vectors":
        head, keys, rows = parsed_vectors(body)
        rows = rows.reshape(len(keys), head.width)
        return b"".join(encoded_vectors(head.model, keys, rows))
    if kind == "added vectors":
        head, keys, rows, _ = parsed_journal(body)
        return journal_head(head) + journal_records(keys, rows)
    return body.rstrip(b"\0") if kind == "answer" else body


def lines_of(body: bytes) -> Sequence[bytes]:
    """The lines of a log, including one that a crash cut short."""
    lines = body.split(b"\n")
    return lines if lines[-1] else lines[:-1]


def joined(lines: Sequence[bytes]) -> bytes:
    """A log of these lines."""
    return b"".join(line + b"\n" for line in lines)


class Contents(Protocol):
    """The contents of a storage, piece by piece."""

    def pieces(self) -> list[StoredPiece]:
        """All pieces, in the order of their paths."""

    def read(self, piece: StoredPiece) -> Content:
        """The content of a piece."""

    def write(self, piece: StoredPiece, content: Content) -> PieceKind:
        """Write a piece that is not there yet; returns the kind that it is stored as."""

    def identity(self) -> Hashable:
        """An identity that is equal for two addresses of one storage, and only for these."""

    def close(self) -> None:
        """Close what is open."""


@dataclass(slots=True, kw_only=True)
class CopyOutcome:
    """The outcome of a copy."""

    copied: dict[str, int] = field(default_factory=dict)  # the pieces that were written, by kind
    unchanged: int = 0  # the number of pieces that were there already
    # paths that were not copied, each with the reason
    refused: dict[str, str] = field(default_factory=dict)
    # paths that the target stores only as files, each with the reason
    as_files: dict[str, str] = field(default_factory=dict)

    def row(self) -> JsonObject:
        """The account as JSON."""
        row = asdict(self)
        if not self.as_files:
            del row["as_files"]
        return row


class SameStorage(CommandFailed):
    """The source and the target of a copy are the same storage."""


def copy_all(
    source: Contents, target: Contents, progress: Callable[[int, int], None]
) -> CopyOutcome:
    """Copy every piece that the target lacks; go on after a refused one.

    Args:
        source: It is not changed.
        target: Pieces that it has are not changed.
        progress: Called with the number of finished pieces, and of all.

    Raises:
        SameStorage: Both are the same storage.
        StorageAway: A database can't be reached; the target keeps what was copied.
    """
    if source.identity() == target.identity():
        raise SameStorage("Both addresses are of the same storage; there is nothing to copy.")
    account = CopyOutcome()
    pieces = source.pieces()
    there = {piece.path: piece for piece in target.pieces()}
    for done, piece in enumerate(pieces):
        progress(done, len(pieces))
        try:
            _copy(source, target, piece, there, account)
        except StorageAway:
            raise
        except (SmartContextError, OSError) as error:
            account.refused[piece.path] = str(error)
    progress(len(pieces), len(pieces))
    return account


def _copy(
    source: Contents,
    target: Contents,
    piece: StoredPiece,
    there: dict[str, StoredPiece],
    account: CopyOutcome,
) -> None:
    content = source.read(piece)
    body = settled(piece, content.body)
    if body is None:
        account.as_files[piece.path] = f"is damaged: no {piece.kind} can be read from it"
        piece = StoredPiece(path=piece.path, kind="other")
    if piece.path not in there:
        kept = target.write(piece, content)
        account.copied[kept] = account.copied.get(kept, 0) + 1
        if kept != piece.kind:
            account.as_files[piece.path] = "is of another model than the chat's other vectors"
        return
    found = target.read(there[piece.path])
    if (body or content.body) == (settled(there[piece.path], found.body) or found.body):
        account.unchanged += 1
    else:
        account.refused[piece.path] = "the target has another version of it, which was kept"

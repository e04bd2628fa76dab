"""Copies all pieces from one storage to another, and overwrites nothing. Blocks."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from smart_context.base.errors import SmartContextError, StorageAway
from smart_context.storage.layout import Content, Piece, settled


class Contents(Protocol):
    """What a storage holds, piece by piece."""

    def pieces(self) -> list[Piece]:
        """All pieces, in the order of their paths."""

    def read(self, piece: Piece) -> Content:
        """The content of a piece."""

    def write(self, piece: Piece, content: Content) -> None:
        """Write a piece that is not there yet."""

    def close(self) -> None:
        """Close what is open."""


@dataclass(slots=True, kw_only=True)
class Account:
    """What became of a copy."""

    copied: dict[str, int] = field(default_factory=dict)  # the pieces that were written, by kind
    unchanged: int = 0  # the number of pieces that were there already
    # paths that were not copied, each with the reason
    refused: dict[str, str] = field(default_factory=dict)


def copy_all(source: Contents, target: Contents, progress: Callable[[int, int], None]) -> Account:
    """Copy every piece that the target lacks; go on after one that is refused.

    Args:
        source: Nothing of it is changed.
        target: What it has stays as it is.
        progress: Called with the number of pieces that are done, and of all.

    Raises:
        StorageAway: A database can't be reached; what was copied is there.
    """
    account = Account()
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
    piece: Piece,
    there: dict[str, Piece],
    account: Account,
) -> None:
    content = source.read(piece)
    body = settled(piece, content.body)
    if body is None:  # damaged: it stays as it is
        piece = Piece(path=piece.path, kind="other")
    if piece.path not in there:
        target.write(piece, content)
        account.copied[piece.kind] = account.copied.get(piece.kind, 0) + 1
        return
    found = target.read(there[piece.path])
    if (body or content.body) == (settled(there[piece.path], found.body) or found.body):
        account.unchanged += 1
    else:
        account.refused[piece.path] = "the target has another version of it, which was kept"

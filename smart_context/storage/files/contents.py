"""The contents of a memory folder, piece by piece, for copies of a storage. Blocks."""

import os
import stat
from collections.abc import Hashable, Iterator

from smart_context.base.disk.files import atomic_write, is_temporary, read_in
from smart_context.base.disk.folders import Folder, opened
from smart_context.base.disk.places import Place
from smart_context.storage.layout import CACHES, FILES, Content, PieceKind, StoredPiece, piece_at

_DEEPEST = 8
_ABOUT, _TEXT = ".json", ".txt"


class FolderContents:
    """The contents of a memory folder; satisfies `Contents`. No link is followed.

    Args:
        memory: The folder; made by the first piece.
    """

    def __init__(self, memory: Place) -> None:
        self._memory = memory

    def pieces(self) -> list[StoredPiece]:
        try:
            with opened(self._memory) as folder:
                return [piece_at(path) for path in sorted(_paths(folder))]
        except FileNotFoundError:
            return []

    def read(self, piece: StoredPiece) -> Content:
        place = self._memory / piece.path
        with opened(place.parent) as folder:
            signature, body = read_in(folder, place.name)
            if piece.kind != "blob":
                return Content(body=body, written_ns=signature.mtime_ns)
            names = set(folder.names())
            about, text = (
                read_in(folder, name)[1] if (name := place.name + ending) in names else None
                for ending in (_ABOUT, _TEXT)
            )
        return Content(body=body, written_ns=signature.mtime_ns, about=about or b"", text=text)

    def write(self, piece: StoredPiece, content: Content) -> PieceKind:
        place = self._memory / piece.path
        if piece.kind == "blob":
            if content.about:
                atomic_write(place.parent / f"{place.name}{_ABOUT}", content.about)
            if content.text is not None:
                atomic_write(place.parent / f"{place.name}{_TEXT}", content.text)
        atomic_write(place, content.body)
        if content.written_ns:
            with opened(place.parent) as folder:
                descriptor = folder.open(place.name)
                try:
                    os.utime(descriptor, ns=(content.written_ns, content.written_ns))
                finally:
                    os.close(descriptor)
        return piece.kind

    def identity(self) -> Hashable:
        """The device and inode of the folder, links followed; its path if it does not exist."""
        try:
            found = self._memory.path.stat()
        except FileNotFoundError:
            return self._memory.path.resolve()
        return found.st_dev, found.st_ino

    def close(self) -> None:
        """Do nothing: no file is open."""


def _paths(folder: Folder, above: str = "") -> Iterator[str]:
    for name in folder.names():
        mode = folder.status(name).st_mode
        path = f"{above}{name}"
        if path in CACHES or is_temporary(name):
            continue
        if stat.S_ISDIR(mode) and path.count("/") < _DEEPEST:
            with folder.folder(name) as inner:
                yield from _paths(inner, f"{path}/")
        elif not _goes_with_blob(folder, path, name):
            yield path  # also a link or a device, which reading refuses by its name


def _goes_with_blob(folder: Folder, path: str, name: str) -> bool:
    """True for the description and the text of an attached file."""
    stem, dot, ending = name.rpartition(".")
    return (
        path == f"{FILES}/{name}"
        and f"{dot}{ending}" in (_ABOUT, _TEXT)
        and piece_at(f"{FILES}/{stem}").kind == "blob"
        and stem in folder.names()
    )

"""Attached files in memory."""

import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from smart_context.base.threads import run_uncancelled
from smart_context.chat.files.attached_file import AttachedFile, examined, image_uri, text_in
from smart_context.chat.files.costly_files import ReadText
from smart_context.storage.memory.held import Held
from smart_context.storage.ports import KEPT_S

_NAMED = re.compile(r"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])")


@dataclass(slots=True)
class _Blob:
    file: AttachedFile
    content: bytes
    text: bytes | None
    used_at: float


class MemoryBlobs:
    """The files that were attached to messages; satisfies `Blobs`."""

    def __init__(self, held: Held, read_text: ReadText) -> None:
        self._held = held
        self._read_text = read_text

    async def put(self, name: str, content: bytes) -> AttachedFile:
        """Store a file."""
        file, text = await run_uncancelled(lambda: examined(name, content, self._read_text))
        self._held.blobs[file.storage_key] = _Blob(file, content, text, time.time())
        return file

    async def info(self, key: str) -> AttachedFile | None:
        """A file's name, type and size; `None` when it is gone."""
        blob = self._blob(key)
        return None if blob is None else blob.file

    async def read(self, id: str) -> str | None:  # noqa: A002  the seed's name
        """The text of a file; `None` when it has none, or is gone."""
        blob = self._blob(id)
        if blob is None or blob.text is None:
            return None if blob is None else text_in(id, blob.content)
        return blob.text.decode("utf-8", "replace")

    async def content(self, key: str) -> bytes | None:
        """All of a file; `None` when it is gone."""
        blob = self._blob(key)
        return None if blob is None else blob.content

    async def data_uri(self, key: str) -> str | None:
        """An image as a model takes it; `None` for anything else, and for one that is too large."""
        return image_uri(await self.content(key))

    async def keep(self, key: str) -> None:
        """Note that a file is used again, so that it is not removed as unused."""
        if blob := self._blob(key):
            blob.used_at = time.time()

    def remove_unused(self, now: float) -> Sequence[str]:
        """Remove the files that nothing has named for a week; returns their keys."""
        named = {key for text in self._texts() for key in _NAMED.findall(text)}
        blobs = self._held.blobs
        old = {key for key, blob in blobs.items() if blob.used_at < now - KEPT_S}
        for key in (unused := sorted(old - named)):
            del blobs[key]
        return unused

    def _blob(self, key: str) -> _Blob | None:
        blob: _Blob | None = self._held.blobs.get(key)
        return blob

    def _texts(self) -> Iterator[str]:
        held = self._held
        deletions = [deletion.chat for deletion in held.trash]
        for chat in (*held.chats.values(), *deletions):
            yield chat.version.encode().decode("utf-8", "replace")
        for beside in (*held.beside.values(), *(d.beside for d in held.trash)):
            yield repr(beside)
        yield repr(held.of_vault)

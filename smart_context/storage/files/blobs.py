"""Attached files, each kept once under the hash of its content.

`<folder>/<sha256>` is the file, `<sha256>.json` its name and type, `<sha256>.txt` its text if that
differs from the content. A missing file is never an error.
"""

import contextlib
from pathlib import Path

from smart_context.base.disk.files import atomic_write, signature_of, sweep
from smart_context.base.disk.folders import opened, read_inside
from smart_context.base.disk.places import Place, folder_of
from smart_context.base.disk.shared_file import read_object, write_object
from smart_context.base.errors import StoreFailed
from smart_context.base.threads import run_uncancelled
from smart_context.chat.files.attached_file import (
    MAX_FILE_BYTES,
    AttachedFile,
    ReadText,
    described,
    examined,
    image_uri,
    is_key,
    text_in,
)
from smart_context.chat.files.file_text import MAX_PLAIN_CHARACTERS, text_of

FILES_FOLDER = "files"
"""The folder of attached files in a vault's memory folder."""

_MAX_ABOUT_BYTES = 1 << 16
_MAX_TEXT_BYTES = 4 * MAX_PLAIN_CHARACTERS + 1024  # and the note that it was cut


class FileBlobs:
    """The files that were attached to messages; satisfies `Blobs`.

    Args:
        folder: Their folder; made with the first file.
        read_text: Reads new files; a server passes one that a hostile file can't block.
    """

    def __init__(self, folder: Path | Place, read_text: ReadText = text_of) -> None:
        self._folder = folder_of(folder)
        self._read_text = read_text
        self._is_swept = False

    async def put(self, name: str, content: bytes) -> AttachedFile:
        return await run_uncancelled(lambda: self._put(name, content))

    async def info(self, key: str) -> AttachedFile | None:
        return await run_uncancelled(lambda: self._info(key))

    async def read(self, id: str) -> str | None:  # noqa: A002  the seed's name
        return await run_uncancelled(lambda: self._text(id))

    async def keep(self, key: str) -> None:
        await run_uncancelled(lambda: self._touch(key))

    async def content(self, key: str) -> bytes | None:
        return await run_uncancelled(lambda: self._bytes(key))

    async def data_uri(self, key: str) -> str | None:
        return image_uri(await self.content(key))

    def _put(self, name: str, content: bytes) -> AttachedFile:
        if not self._is_swept:
            self._is_swept = True
            sweep(self._folder)
        stored, text = examined(name, content, self._read_text)
        key = stored.storage_key
        if text is not None:
            atomic_write(self._folder / f"{key}.txt", text)
        write_object(self._about_file(key), stored.to_dict())
        if self._bytes(key) != content:
            atomic_write(self._folder / key, content)
        return stored

    def _touch(self, key: str) -> None:
        if is_key(key):
            # A missing file is noticed when it is read.
            with contextlib.suppress(OSError), opened(self._folder) as folder:
                folder.touch(key)

    def _info(self, key: str) -> AttachedFile | None:
        if not is_key(key):
            return None
        try:
            signature = signature_of(self._folder / key)
        except StoreFailed:
            signature = None
        if signature is None or signature.size > MAX_FILE_BYTES:
            return None
        about = read_object(self._about_file(key), max_bytes=_MAX_ABOUT_BYTES)
        return described(key, about, signature.size)

    def _about_file(self, key: str) -> Place:
        return self._folder / f"{key}.json"

    def _bytes(self, key: str) -> bytes | None:
        if not is_key(key):
            return None
        try:
            return read_inside(self._folder, key, max_bytes=MAX_FILE_BYTES)
        except OSError:
            return None

    def _text(self, key: str) -> str | None:
        if not is_key(key):
            return None
        try:
            text = read_inside(self._folder, f"{key}.txt", max_bytes=_MAX_TEXT_BYTES)
            return text.decode("utf-8", "replace")
        except OSError:
            content = self._bytes(key)
        return None if content is None else text_in(key, content)

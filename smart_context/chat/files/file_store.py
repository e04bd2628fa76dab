"""Attached files, each kept once under the hash of its content.

`<folder>/<sha256>` is the file, `<sha256>.json` its name and type, `<sha256>.txt` its text if that
differs from the content. A missing file is never an error.
"""

import base64
import contextlib
import hashlib
import mimetypes
import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from smart_context.base.disk.files import atomic_write, signature_of, sweep
from smart_context.base.disk.folders import opened, read_inside
from smart_context.base.disk.json_file import read_object, write_object
from smart_context.base.disk.places import Place, folder_of
from smart_context.base.errors import CommandFailed, StoreFailed
from smart_context.base.threads import to_end
from smart_context.chat.files.costly_files import ReadText
from smart_context.chat.files.file_text import MAX_PLAIN_CHARACTERS, decoded, image_type, text_of

FILES_FOLDER = "files"
"""Where a vault's files are, in its memory folder."""

MAX_FILE_BYTES = 25 << 20
"""The largest file that can be attached."""

MAX_IMAGE_BYTES = 8 << 20
"""The largest image that is passed on to a model."""

_SEPARATORS = re.compile(r"[\\/]")
_KEY = re.compile(r"[0-9a-f]{64}")
_MAX_NAME = 200
_MAX_ABOUT_BYTES = 1 << 16
_MAX_TEXT_BYTES = 4 * MAX_PLAIN_CHARACTERS + 1024  # and the note that it was cut
_TYPES = {
    ".md": "text/markdown",
    ".markdown": "text/markdown",
    ".toml": "text/plain",
    ".ts": "text/plain",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class AttachedFile:
    """A file as a message refers to it.

    Attributes:
        id: Identifies it among the files of a message.
        name: What the user calls it.
        file_type: Its media type.
        storage_key: Where its content is.
        size: In bytes.
    """

    id: str
    name: str
    file_type: str
    storage_key: str
    size: int

    def to_dict(self) -> dict[str, Any]:
        """The JSON object that messages and clients get."""
        return asdict(self)


class FileStore:
    """The files that were attached to messages; satisfies `AttachmentResolver`.

    Args:
        folder: Where they are; the first file makes it.
        read_text: Reads new files; a server passes one that a hostile file can't block.
    """

    def __init__(self, folder: Path | Place, read_text: ReadText = text_of) -> None:
        self._folder = folder_of(folder)
        self.folder = self._folder.path
        self._read_text = read_text
        self._is_swept = False

    async def put(self, name: str, content: bytes) -> AttachedFile:
        """Store a file.

        Raises:
            CommandFailed: If it is empty, too large, or holds neither text nor an image.
            StoreFailed: If the disk refuses.
        """
        return await to_end(lambda: self._put(name, content))

    async def info(self, key: str) -> AttachedFile | None:
        """A file's name, type and size; `None` when it is gone."""
        return await to_end(lambda: self._info(key))

    async def read(self, id: str) -> str | None:  # noqa: A002  the seed's name
        """The text of a file; `None` when it has none, or is gone."""
        return await to_end(lambda: self._text(id))

    async def keep(self, key: str) -> None:
        """Note that a file is used again, so that it is not removed as unused."""
        await to_end(lambda: self._touch(key))

    async def content(self, key: str) -> bytes | None:
        """All of a file; `None` when it is gone."""
        return await to_end(lambda: self._bytes(key))

    async def data_uri(self, key: str) -> str | None:
        """An image as a model takes it; `None` for anything else, and for one that is too large."""
        content = await self.content(key)
        kind = image_type(content) if content else ""
        if content is None or not kind or len(content) > MAX_IMAGE_BYTES:
            return None
        return f"data:{kind};base64,{base64.b64encode(content).decode()}"

    def _put(self, name: str, content: bytes) -> AttachedFile:
        if not self._is_swept:
            self._is_swept = True
            sweep(self._folder)
        name = cleaned_name(name)
        if not content:
            raise CommandFailed(f"{name!r} is empty; there is nothing to attach.")
        if len(content) > MAX_FILE_BYTES:
            raise CommandFailed(f"{name!r} is larger than {MAX_FILE_BYTES >> 20} MiB.")
        kind = image_type(content)
        text = "" if kind else self._read_text(name, content)
        if not kind and not text.strip():
            raise CommandFailed(f"{name!r} has no text that a model could read.")
        key = key_of(content)
        stored = AttachedFile(
            id=key[:12],
            name=name,
            file_type=kind or _type_of(name),
            storage_key=key,
            size=len(content),
        )
        if not kind and text.encode("utf-8", "replace") != content:
            atomic_write(self._folder / f"{key}.txt", text.encode("utf-8", "replace"))
        write_object(self._about_file(key), stored.to_dict())
        if self._bytes(key) != content:
            atomic_write(self._folder / key, content)
        return stored

    def _touch(self, key: str) -> None:
        if _KEY.fullmatch(key):
            # Whoever reads the file notices if it is gone.
            with contextlib.suppress(OSError), opened(self._folder) as folder:
                folder.touch(key)

    def _info(self, key: str) -> AttachedFile | None:
        if not _KEY.fullmatch(key):
            return None
        try:
            signature = signature_of(self._folder / key)
        except StoreFailed:
            signature = None
        if signature is None or signature.size > MAX_FILE_BYTES:
            return None
        about = read_object(self._about_file(key), max_bytes=_MAX_ABOUT_BYTES)
        name = about.get("name")
        kind = about.get("file_type")
        return AttachedFile(
            id=key[:12],
            name=name if isinstance(name, str) else key[:12],
            file_type=kind if isinstance(kind, str) else "application/octet-stream",
            storage_key=key,
            size=signature.size,
        )

    def _about_file(self, key: str) -> Place:
        return self._folder / f"{key}.json"

    def _bytes(self, key: str) -> bytes | None:
        if not _KEY.fullmatch(key):
            return None
        try:
            return read_inside(self._folder, key, max_bytes=MAX_FILE_BYTES)
        except OSError:
            return None

    def _text(self, key: str) -> str | None:
        if not _KEY.fullmatch(key):
            return None
        try:
            text = read_inside(self._folder, f"{key}.txt", max_bytes=_MAX_TEXT_BYTES)
            return text.decode("utf-8", "replace")
        except OSError:
            content = self._bytes(key)
        if content is None or image_type(content):
            return None
        try:
            return decoded(key, content)[:MAX_PLAIN_CHARACTERS]
        except CommandFailed:
            return None


def key_of(content: bytes) -> str:
    """The storage key of a file."""
    return hashlib.sha256(content).hexdigest()


def cleaned_name(name: str) -> str:
    """A name without folders and unprintable characters; never empty."""
    last = _SEPARATORS.split(name)[-1]
    shown = "".join(character for character in last if character.isprintable()).strip()
    return shown[:_MAX_NAME] or "file"


def _type_of(name: str) -> str:
    suffix = Path(name).suffix.lower()
    return _TYPES.get(suffix) or mimetypes.guess_type(name)[0] or "text/plain"

"""Attached files: checks, safe reading, and the forms that models and pages get."""

import base64
import hashlib
import mimetypes
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import PurePath
from typing import Any, NamedTuple

from smart_context.base.errors import CommandFailed
from smart_context.base.processes.child import Child, ChildFailed
from smart_context.chat.files.file_text import (
    MAX_PLAIN_CHARACTERS,
    PLAIN_TEXT_INSTEAD,
    decoded,
    image_type,
    is_costly,
    text_of,
    work_for,
)

READING_DEADLINE_S = 8.0
"""The time limit for a file whose reader does not stop by itself."""

ReadText = Callable[[str, bytes], str]
"""Returns the text of a file by its name and content; raises CommandFailed if it can't be read."""


def reading_in(child: Child, *, deadline_s: float = READING_DEADLINE_S) -> ReadText:
    """A reader like `text_of` that reads slow kinds of files in `child`."""
    return partial(_text_of, child, deadline_s)


def _text_of(child: Child, deadline_s: float, name: str, content: bytes) -> str:
    if not is_costly(name, content):
        return text_of(name, content)
    try:
        text = child.run(work_for(name, content), name, content, deadline_s=deadline_s)
    except ChildFailed as failure:
        raise CommandFailed(f"{name!r} can't be read: {failure}. {PLAIN_TEXT_INSTEAD}") from failure
    return str(text)


MAX_FILE_BYTES = 25 << 20
"""The largest file that can be attached."""

MAX_IMAGE_BYTES = 8 << 20
"""The largest image that is passed on to a model."""

LINK_SCHEMES = ("https://", "http://", "mailto:", "obsidian://")
"""The beginnings of addresses that may be attached, and that a page opens."""

_SEPARATORS = re.compile(r"[\\/]")
_KEY = re.compile(r"[0-9a-f]{64}")
_MAX_NAME = 200
_TYPES = {
    ".md": "text/markdown",
    ".markdown": "text/markdown",
    ".toml": "text/plain",
    ".ts": "text/plain",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class AttachedFile:
    """A file as a message refers to it."""

    id: str  # identifies it among the files of a message
    name: str  # its name for the user
    file_type: str  # its media type
    storage_key: str  # the key of its content
    size: int  # in bytes

    def to_dict(self) -> dict[str, Any]:
        """The JSON object that messages and clients get."""
        return asdict(self)


class Examined(NamedTuple):
    """A file that can be attached, and its text if that differs from its content, else `None`."""

    file: AttachedFile
    text: bytes | None


def examined(name: str, content: bytes, read_text: ReadText) -> Examined:
    """A file as it is going to be stored.

    Raises:
        CommandFailed: It is empty, too large, or holds neither text nor an image.
    """
    name = cleaned_name(name)
    if not content:
        raise CommandFailed(f"{name!r} is empty; there is nothing to attach.")
    if len(content) > MAX_FILE_BYTES:
        raise CommandFailed(f"{name!r} is larger than {MAX_FILE_BYTES >> 20} MiB.")
    kind = image_type(content)
    text = "" if kind else read_text(name, content)
    if not kind and not text.strip():
        raise CommandFailed(f"{name!r} has no text that a model could read.")
    key = key_of(content)
    file = AttachedFile(
        id=key[:12],
        name=name,
        file_type=kind or _type_of(name),
        storage_key=key,
        size=len(content),
    )
    stored = text.encode("utf-8", "replace")
    return Examined(file, None if kind or stored == content else stored)


def described(key: str, about: Mapping[str, Any], size: int) -> AttachedFile:
    """A stored file by its description, which may be damaged."""
    name, kind = about.get("name"), about.get("file_type")
    return AttachedFile(
        id=key[:12],
        name=name if isinstance(name, str) else key[:12],
        file_type=kind if isinstance(kind, str) else "application/octet-stream",
        storage_key=key,
        size=size,
    )


def text_in(key: str, content: bytes) -> str | None:
    """The content of a plain text file; `None` for an image or anything else."""
    if image_type(content):
        return None
    try:
        return decoded(key, content)[:MAX_PLAIN_CHARACTERS]
    except CommandFailed:
        return None


def is_safe_address(url: str) -> bool:
    """True for an address that is safe to open: one from an imported chat must not run a script."""
    return url.lower().startswith(LINK_SCHEMES) and url.isprintable() and " " not in url


def image_uri(content: bytes | None) -> str | None:
    """An image as a `data:` address for a model; `None` for anything else or a too large image."""
    if not content or not image_type(content) or len(content) > MAX_IMAGE_BYTES:
        return None
    return data_address(content)


def data_address(content: bytes) -> str:
    """A file as a `data:` address for a page: an image with its type, anything else as bytes."""
    kind = image_type(content) or "application/octet-stream"
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"


def link_text(title: str, url: str) -> str:
    """The text of an attached link that is stored, and sent to a model."""
    return f"{title}\n{url}\n"


def key_of(content: bytes) -> str:
    """The storage key of a file."""
    return hashlib.sha256(content).hexdigest()


def is_key(text: str) -> bool:
    """True if a text can be a storage key."""
    return _KEY.fullmatch(text) is not None


def cleaned_name(name: str) -> str:
    """A name without folders and unprintable characters; never empty."""
    last = _SEPARATORS.split(name)[-1]
    shown = "".join(character for character in last if character.isprintable()).strip()
    return shown[:_MAX_NAME] or "file"


def _type_of(name: str) -> str:
    suffix = PurePath(name).suffix.lower()
    return _TYPES.get(suffix) or mimetypes.guess_type(name)[0] or "text/plain"

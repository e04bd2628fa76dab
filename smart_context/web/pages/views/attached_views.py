"""A message's files and links as a page shows them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from smart_context.chat.messages import Message
from smart_context.web.pages.markup.markdown import visible

SHOWN_IMAGES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
"""Types of images that a page may show; other files can only be downloaded."""

_KEY = re.compile(r"[0-9a-f]{64}")
_ADDRESS = re.compile(r"(?:https?://|mailto:|obsidian://)\S+", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class AttachedView:
    """A file or a link of a message, as a chip."""

    kind: Literal["file", "image", "link"]  # file, image or link
    name: str
    address: str  # its address; empty if that is not safe


def attached_views(message: Message) -> tuple[AttachedView, ...]:
    """The chips of a message: files, then links; those without a name are left out."""
    return (
        *(_file(entry) for entry in message.files if _name(entry)),
        *(_link(entry) for entry in message.links if _name(entry)),
    )


def _file(entry: Mapping[str, Any]) -> AttachedView:
    key = str(entry.get("storage_key", ""))
    address = f"/api/files/{key}" if _KEY.fullmatch(key) else ""
    is_image = bool(address) and str(entry.get("file_type")) in SHOWN_IMAGES
    return AttachedView(kind="image" if is_image else "file", name=_name(entry), address=address)


def _link(entry: Mapping[str, Any]) -> AttachedView:
    url = str(entry.get("url", ""))
    # Chats may come from elsewhere: no address in them may run scripts.
    address = url if _ADDRESS.fullmatch(url) else ""
    return AttachedView(kind="link", name=_name(entry), address=address)


def _name(entry: Mapping[str, Any]) -> str:
    names = (entry.get(key) for key in ("name", "title", "url", "id"))
    return visible(str(next((name for name in names if name), "")))

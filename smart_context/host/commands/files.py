"""Files and links of a message: the command that attaches files, and the checks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from smart_context.base.errors import CommandFailed, InvalidParams
from smart_context.base.text.names import storable
from smart_context.base.threads import run_uncancelled
from smart_context.base.values import JsonObject
from smart_context.chat.files.attached_file import (
    LINK_SCHEMES,
    MAX_FILE_BYTES,
    cleaned_name,
    key_of,
    link_text,
)
from smart_context.chat.ids import new_message_id
from smart_context.host.commands.registry import Caller, CommandRegistry
from smart_context.storage.ports import Blobs, Storage
from smart_context.vault.guarded.files import VaultFiles
from smart_context.vault.guarded.paths import as_typed, confine
from smart_context.vault.guarded.walk import stamp_of

MAX_ATTACHED = 20
"""The maximum number of files, and of links, of one message."""

MAX_URL = 2_000


@dataclass(frozen=True, slots=True)
class FileCommands:
    """Attaches files of the vault to messages."""

    storage: Storage
    root: Path

    def register(self, commands: CommandRegistry) -> None:
        """Register the commands."""
        commands.register_all("chat", self.attach_vault_file)

    async def attach_vault_file(self, path: str, caller: Caller) -> JsonObject:
        """Store a copy of a file of the vault, to attach it to a message."""
        typed = as_typed(path)
        confine(self.root, typed)
        content = await run_uncancelled(lambda: _content(self.root, typed))
        blobs = self.storage.for_person(caller.person).blobs
        return (await blobs.put(typed, content)).to_dict()


async def attached_files(
    files: Blobs, entries: Sequence[Mapping[str, Any]]
) -> tuple[JsonObject, ...]:
    """The files named by a client, as the message stores them.

    Raises:
        InvalidParams: If there are too many, or one is unknown.
    """
    _check_count("files", entries)
    found: list[JsonObject] = []
    for entry in entries:
        stored = await files.info(str(entry.get("storage_key", "")))
        if stored is None:
            raise InvalidParams("files: expected a result of POST /api/files, found an unknown key")
        name = entry.get("name")
        found.append(
            {
                "id": new_message_id(),
                "name": cleaned_name(name) if isinstance(name, str) and name else stored.name,
                "file_type": stored.file_type,
                "storage_key": stored.storage_key,
                **({"whole": True} if entry.get("whole") is True else {}),
            }
        )
    return tuple(found)


async def attached_links(
    files: Blobs, entries: Sequence[Mapping[str, Any]]
) -> tuple[JsonObject, ...]:
    """The links named by a client, as the message stores them.

    Links are not fetched: the model gets title and address.

    Raises:
        InvalidParams: If there are too many, or one is not an address.
    """
    found = described_links(entries)
    for _link, text in found:
        await files.put("link.txt", text.encode())
    return tuple(link for link, _ in found)


def described_links(entries: Sequence[Mapping[str, Any]]) -> list[tuple[JsonObject, str]]:
    """The links named by a client, as stored, each with the text that is sent.

    Raises:
        InvalidParams: If there are too many, or one is not an address.
    """
    _check_count("links", entries)
    found: list[tuple[JsonObject, str]] = []
    for entry in entries:
        url = str(entry.get("url", "")).strip()
        if not url.lower().startswith(LINK_SCHEMES) or len(url) > MAX_URL or not url.isprintable():
            raise InvalidParams(
                f"links: expected an address of at most {MAX_URL:,} printable characters that"
                f" begins with {' or '.join(LINK_SCHEMES)}"
            )
        title = storable(" ".join(str(entry.get("title", "")).split())[:MAX_URL]) or url
        text = link_text(title, url)
        key = key_of(text.encode())
        link = {"id": new_message_id(), "url": url, "title": title, "storage_key": key}
        found.append((link, text))
    return found


def _check_count(name: str, entries: Sequence[object]) -> None:
    if len(entries) > MAX_ATTACHED:
        raise InvalidParams(f"{name}: expected at most {MAX_ATTACHED}, found {len(entries)}")


def _content(root: Path, path: str) -> bytes:
    stamp = stamp_of(root, path)
    if stamp is None:
        raise CommandFailed(f"File {path!r} not found in the vault, or it can't be attached.")
    if stamp[2] > MAX_FILE_BYTES:
        raise CommandFailed(f"{path!r} is larger than {MAX_FILE_BYTES >> 20} MiB.")
    try:
        return VaultFiles(root).content(path, max_bytes=MAX_FILE_BYTES)
    except OSError as error:
        raise CommandFailed(f"{path!r} can't be read: {error.strerror}.") from error

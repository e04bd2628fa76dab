"""JSON objects and logs in memory."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

from smart_context.base.values import JsonObject
from smart_context.chat.ids import check_chat_id, sidecar_name
from smart_context.chat.messages import ChatId
from smart_context.storage.keys import name_of
from smart_context.storage.memory.held import Held
from smart_context.storage.ports import Conflict, Document, Limits, Revision

_DOCUMENT, _LOG = "document", "log"


class MemoryDocuments:
    """The objects beside the chats; satisfies `ChatDocuments`."""

    def __init__(self, held: Held) -> None:
        self._held = held

    async def read(
        self, chat_id: str, *names: str, known: Sequence[Document] = ()
    ) -> tuple[Document, ...]:
        """The objects of these names."""
        chat = check_chat_id(chat_id)
        found = [self._stored(chat, name) for name in names]
        return tuple(
            last if last is not None and last.revision == document.revision else document
            for document, last in zip_longest(found, known[: len(found)])
        )

    async def replace(
        self, chat_id: str, name: str, value: Mapping[str, Any], *, expected: Revision | None
    ) -> Document:
        """Replace an object if its revision still is the expected one."""
        chat = check_chat_id(chat_id)
        if self._stored(chat, name).revision != expected:
            raise Conflict(f"{chat}.{name}")
        stored = Document(value=_as_stored(value), revision=next(self._held.numbers))
        self._held.beside[chat][_DOCUMENT, name] = stored
        self._held.tell(chat, self, is_chat=False)
        return stored

    def _stored(self, chat: ChatId, name: str) -> Document:
        sidecar_name(chat, name)  # refuses a bad name
        stored: Document = self._held.beside[chat].get((_DOCUMENT, name), Document())
        return stored


class MemoryVaultDocuments:
    """The objects of the vault as a whole; satisfies `VaultDocuments`."""

    def __init__(self, held: Held) -> None:
        self._held = held.of_vault

    def read(self, kind: str, key: str) -> JsonObject | None:
        """The object; `None` if there is none."""
        stored = self._held.get((_DOCUMENT, kind, key))
        return None if stored is None else _as_stored(stored)

    def write(self, kind: str, key: str, value: Mapping[str, Any]) -> str:
        """Store an object in place of the previous one; returns where it is, for users."""
        name_of(key)  # refuses one that is too long
        self._held[_DOCUMENT, kind, key] = _as_stored(value)
        return f"the memory of this process, as {key!r}"

    def add(self, kind: str, key: str, value: Mapping[str, Any]) -> bool:
        """Store an object unless there is one; True if it was stored."""
        name_of(key)  # refuses one that is too long
        stored = _as_stored(value)
        return self._held.setdefault((_DOCUMENT, kind, key), stored) is stored

    def delete(self, kind: str, key: str) -> bool:
        """Delete an object; True if there was one."""
        return self._held.pop((_DOCUMENT, kind, key), None) is not None

    def keys(self, kind: str) -> list[str]:
        """The keys of a kind, sorted."""
        return sorted(key for what, of, key in self._held if (what, of) == (_DOCUMENT, kind))


@dataclass(slots=True)
class _Lines:
    kept: list[bytes] = field(default_factory=list)
    added: int = 0


class MemoryLogs:
    """The logs; satisfies `Logs`."""

    def __init__(self, held: Held) -> None:
        self._held = held

    def beside(self, chat_id: ChatId, name: str, limits: Limits) -> "MemoryLog":
        """A log beside a chat."""
        chat = check_chat_id(chat_id)
        sidecar_name(chat, name)  # refuses a bad name
        return MemoryLog(self._held.beside[chat], (_LOG, name), limits)

    def of_vault(self, kind: str, key: str) -> "MemoryLog":
        """A log of the vault as a whole."""
        return MemoryLog(self._held.of_vault, (_LOG, kind, key))


class MemoryLog:
    """One log; satisfies `Log`."""

    def __init__(self, held: Any, name: tuple[str, ...], limits: Limits | None = None) -> None:
        self._held = held
        self._name = name
        self._limits = limits

    async def append(self, *lines: bytes) -> None:
        """Add lines, all or none."""
        log = self._lines()
        log.kept += lines
        log.added += len(lines)
        limits = self._limits
        if limits and (len(log.kept) > limits.lines + limits.slack or _size(log) > limits.bytes):
            log.kept[:] = log.kept[-limits.lines :]
            while _size(log) > limits.bytes * 3 // 4:
                log.kept.pop(0)

    async def revision(self) -> Revision | None:
        """The number of lines that were ever added."""
        return self._lines().added or None

    async def lines(self) -> list[bytes]:
        """The lines that are kept, oldest first, without empty ones."""
        return [line for line in self._lines().kept if line.strip()]

    async def since(self, place: int) -> tuple[list[bytes], int]:
        """The lines that were added since, and the place to go on from."""
        kept = self._lines().kept
        return [line for line in kept[place:] if line.strip()], len(kept)

    def _lines(self) -> _Lines:
        log: _Lines = self._held.setdefault(self._name, _Lines())
        return log


def _size(log: _Lines) -> int:
    return sum(len(line) + 1 for line in log.kept)


def _as_stored(value: Mapping[str, Any]) -> JsonObject:
    """What the next reader will see, shared with nobody."""
    stored: JsonObject = json.loads(json.dumps(value))
    return stored

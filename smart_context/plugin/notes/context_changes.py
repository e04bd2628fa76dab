"""Tells clients and the plugin's own parts that contexts or notes have changed."""

from collections.abc import Callable

from smart_context.base.values import JsonObject
from smart_context.host.access import EVERYBODY, Audience
from smart_context.plugin.notes.context_documents import owner_of
from smart_context.vault.index.cache import VaultChanges

CONTEXTS_CHANGED = "smart_context.contexts_changed"
"""Event: a context was saved, deleted, attached or detached, or notes of the vault changed."""


class ContextChanges:
    """Announces changed contexts and notes."""

    def __init__(self, emit: Callable[[str, JsonObject, Audience | None], None]) -> None:
        self._emit = emit
        self._listeners: list[Callable[[], None]] = []

    def listen(self, listener: Callable[[], None]) -> None:
        """Call a function at each change, before clients are told."""
        self._listeners.append(listener)

    def chat_changed(self, chat_id: str) -> None:
        """Announce that a chat uses other contexts, or its own has other notes."""
        self._announce({"chat_id": chat_id}, None)

    def context_changed(self, key: str) -> None:
        """Announce that a context was saved or deleted: any chat may be affected."""
        self._announce({"key": key}, owner_of(key))

    def notes_changed(self, changes: VaultChanges) -> None:
        """Announce that files of the vault have changed."""
        has_other_files = bool(changes.added or changes.removed)
        self._announce({"notes_changed": True, "has_other_files": has_other_files}, EVERYBODY)

    def _announce(self, payload: JsonObject, audience: Audience | None) -> None:
        for listener in self._listeners:
            listener()
        self._emit(CONTEXTS_CHANGED, payload, audience)

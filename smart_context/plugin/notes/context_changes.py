"""Tells clients and the plugin's own parts that contexts or notes have changed."""

from collections.abc import Callable
from typing import Any

from smart_context.base.values import JsonObject
from smart_context.vault.index.cache import VaultChanges

CONTEXTS_CHANGED = "smart_context.contexts_changed"
"""Event: a context was saved, deleted, attached or detached, or notes of the vault changed."""


class ContextChanges:
    """Announces changed contexts and notes.

    Args:
        emit: Sends an event to all clients.
    """

    def __init__(self, emit: Callable[[str, JsonObject], None]) -> None:
        self._emit = emit
        self._listeners: list[Callable[[], None]] = []

    def listen(self, listener: Callable[[], None]) -> None:
        """Call a function at each change, before clients are told."""
        self._listeners.append(listener)

    def announce(self, **payload: Any) -> None:
        """Tell listeners and clients; without a `chat_id`, any chat may be affected."""
        for listener in self._listeners:
            listener()
        self._emit(CONTEXTS_CHANGED, payload)

    def notes_changed(self, changes: VaultChanges) -> None:
        """Announce that files of the vault have changed."""
        has_other_files = bool(changes.added or changes.removed)
        self.announce(notes_changed=True, has_other_files=has_other_files)

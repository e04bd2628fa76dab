"""Listeners to changes of chats and side-cars."""

import logging
from collections.abc import Callable
from contextlib import suppress
from typing import Generic, TypeVar

from smart_context.chat.messages import ChatId
from smart_context.storage.ports import ChangeListener

_log = logging.getLogger(__name__)


class Listeners:
    """Listeners that are called one after another; one that fails is logged."""

    def __init__(self) -> None:
        self._listeners: list[ChangeListener] = []

    def add(self, listener: ChangeListener) -> Callable[[], None]:
        """Add a listener; returns a function that removes it, which may be called twice."""

        def call(chat: ChatId) -> None:  # a new object, so that one listener may be added twice
            listener(chat)

        def unsubscribe() -> None:
            with suppress(ValueError):
                self._listeners.remove(call)

        self._listeners.append(call)
        return unsubscribe

    def tell(self, chat: ChatId) -> None:
        """Call all listeners."""
        for listener in tuple(self._listeners):
            try:
                listener(chat)
            except Exception:  # noqa: BLE001 - one listener must not stop the others
                _log.exception("A listener failed on the change of chat %s", chat)

    def clear(self) -> None:
        """Remove all listeners."""
        self._listeners.clear()


S = TypeVar("S")


class ReportedChanges(Generic[S]):
    """Remembers the last reported state of each chat; the base of classes that watch chats."""

    def __init__(self) -> None:
        self._listeners = Listeners()
        self._sidecar_listeners = Listeners()
        self._reported: dict[ChatId, S] = {}

    def on_change(self, listener: ChangeListener) -> Callable[[], None]:
        return self._listeners.add(listener)

    def on_sidecar_change(self, listener: ChangeListener) -> Callable[[], None]:
        return self._sidecar_listeners.add(listener)

    def tell(self, chat: ChatId, state: S | None) -> None:
        """Tell the listeners that the chat has a new state; `None` if it is gone."""
        if state is None:
            self._reported.pop(chat, None)
        else:
            self._reported[chat] = state
        self._listeners.tell(chat)

    def close(self) -> None:
        """Remove the listeners."""
        self._listeners.clear()
        self._sidecar_listeners.clear()

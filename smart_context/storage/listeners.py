"""Those who are told of changes of chats."""

import logging
from collections.abc import Callable
from contextlib import suppress

from smart_context.chat.messages import ChatId
from smart_context.storage.ports import ChangeListener

_log = logging.getLogger(__name__)


class Listeners:
    """Called one after another; one that fails is logged."""

    def __init__(self) -> None:
        self._listeners: list[ChangeListener] = []

    def add(self, listener: ChangeListener) -> Callable[[], None]:
        """Add a listener; returns a function that ends this, which may be called twice."""

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
        """Forget them."""
        self._listeners.clear()

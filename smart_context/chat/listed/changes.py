"""Tells listeners which chats changed, each change once, whoever made it."""

import contextlib
import logging
from collections.abc import Callable

from smart_context.chat.listed.listing import signatures_in
from smart_context.chat.messages import ChatId
from smart_context.disk.files import Signature, signature_of
from smart_context.disk.places import Place
from smart_context.errors import StoreFailed

Listener = Callable[[ChatId], None]
_log = logging.getLogger(__name__)


class Changes:
    """Remembers the state of each chat's file that listeners were last told of."""

    def __init__(self, folder: Place) -> None:
        self._folder = folder
        self._listeners: list[Listener] = []
        self._of_sidecars: list[Listener] = []
        self._told: dict[ChatId, Signature] = {}

    def on_change(self, listener: Listener) -> Callable[[], None]:
        """Call `listener` after each change; the result ends that, as often as it is called."""
        return _joined(self._listeners, listener)

    def on_sidecar_change(self, listener: Listener) -> Callable[[], None]:
        """Call `listener` after each report of a side-car; the result ends that."""
        return _joined(self._of_sidecars, listener)

    def tell(self, chat: ChatId, signature: Signature | None) -> None:
        """The chat's file is in that state now; a listener that fails does not stop the others."""
        if signature is None:
            self._told.pop(chat, None)
        else:
            self._told[chat] = signature
        _call(self._listeners, chat)

    def tell_of_sidecar(self, chat: ChatId) -> None:
        """A side-car of the chat may have changed."""
        _call(self._of_sidecars, chat)

    def begin(self) -> None:
        """Take what is there as told; blocks."""
        self._told = {**signatures_in(self._folder), **self._told}

    def untold(self) -> frozenset[ChatId]:
        """The chats whose files are not as listeners know them; blocks."""
        found = signatures_in(self._folder)
        told = dict(self._told)
        return frozenset(chat for chat in {*found, *told} if found.get(chat) != told.get(chat))

    def news_of(self, chat: ChatId) -> tuple[bool, Signature | None]:
        """Whether the file's state is untold, and the state; blocks."""
        signature = None
        with contextlib.suppress(StoreFailed):
            signature = signature_of(self._folder / f"{chat}.json")
        return signature != self._told.get(chat), signature

    def close(self) -> None:
        """Forget the listeners."""
        self._listeners.clear()
        self._of_sidecars.clear()


def _joined(listeners: list[Listener], listener: Listener) -> Callable[[], None]:
    def call(chat: ChatId) -> None:  # its own, so that one listener may be given twice
        listener(chat)

    def unsubscribe() -> None:
        if call in listeners:
            listeners.remove(call)

    listeners.append(call)
    return unsubscribe


def _call(listeners: list[Listener], chat: ChatId) -> None:
    for listener in tuple(listeners):
        try:
            listener(chat)
        except Exception:  # noqa: BLE001 - one listener must not stop the others
            _log.exception("A listener failed on the change of chat %s", chat)

"""Reports changes of chats to listeners, each change once, whichever program made it."""

import asyncio
import contextlib
from collections.abc import Callable
from functools import partial

from smart_context.base.disk.files import Signature, signature_of
from smart_context.base.disk.places import Place
from smart_context.base.errors import StoreFailed
from smart_context.base.threads import run_uncancelled
from smart_context.chat.messages import ChatId
from smart_context.storage.files.listing import signatures_in
from smart_context.storage.files.watching import LOOK_AGAIN_S, changed_chats
from smart_context.storage.listeners import Listeners
from smart_context.storage.ports import ChangeListener


class FileChanges:
    """Remembers which state of each chat's file was last reported; satisfies `ChatChanges`.

    Args:
        lock: The lock of a chat; whoever writes the chat holds it until the change is reported.
    """

    def __init__(self, folder: Place, lock: Callable[[ChatId], asyncio.Lock]) -> None:
        self._folder = folder
        self._lock = lock
        self._listeners = Listeners()
        self._sidecar_listeners = Listeners()
        self._reported: dict[ChatId, Signature] = {}

    def on_change(self, listener: ChangeListener) -> Callable[[], None]:
        """Call `listener` in the event loop after each stored change of any chat."""
        return self._listeners.add(listener)

    def on_sidecar_change(self, listener: ChangeListener) -> Callable[[], None]:
        """Call `listener` after a JSON side-car of a chat changed, while `watch` runs."""
        return self._sidecar_listeners.add(listener)

    async def watch(self, *, look_again_s: float = LOOK_AGAIN_S) -> None:
        """Report changes by other programs until cancelled. The folder need not exist."""
        await run_uncancelled(self._begin)
        reports = changed_chats(self._folder, look_again_s=look_again_s)
        async with contextlib.aclosing(reports) as changes:
            async for touched in changes:
                await self._report(None if touched is None else touched.documents)
                for chat in sorted(touched.sidecars if touched else ()):
                    self._sidecar_listeners.tell(chat)

    def tell(self, chat: ChatId, signature: Signature | None) -> None:
        """Tell the listeners that the chat's file is now in that state."""
        if signature is None:
            self._reported.pop(chat, None)
        else:
            self._reported[chat] = signature
        self._listeners.tell(chat)

    def close(self) -> None:
        """Forget the listeners."""
        self._listeners.clear()
        self._sidecar_listeners.clear()

    def _begin(self) -> None:
        self._reported = {**signatures_in(self._folder), **self._reported}

    async def _report(self, chats: frozenset[ChatId] | None) -> None:
        for chat in sorted(await run_uncancelled(self._unreported) if chats is None else chats):
            async with self._lock(chat):
                signature = await run_uncancelled(partial(self._state, chat))
                if signature != self._reported.get(chat):
                    self.tell(chat, signature)

    def _unreported(self) -> frozenset[ChatId]:
        found = signatures_in(self._folder)
        known = dict(self._reported)
        return frozenset(chat for chat in {*found, *known} if found.get(chat) != known.get(chat))

    def _state(self, chat: ChatId) -> Signature | None:
        with contextlib.suppress(StoreFailed):
            return signature_of(self._folder / f"{chat}.json")
        return None

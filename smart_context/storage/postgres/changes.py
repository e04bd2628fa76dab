"""Reports changes of chats to listeners, each change once, whichever process made it."""

from collections.abc import Callable, Mapping

from smart_context.chat.messages import ChatId
from smart_context.storage.alone import Listeners
from smart_context.storage.ports import ChangeListener
from smart_context.storage.postgres.database import Connection, Database
from smart_context.storage.postgres.listening import Listener

CHANNEL = "smart_context_changes"


def tell_others(connection: Connection, node: str, chat: ChatId, revision: int | None) -> None:
    """Tell the other processes, with the commit, that a chat is now at that revision."""
    _notify(connection, f"{node} {chat} {revision or 0}")


def tell_of_document(connection: Connection, node: str, chat: ChatId) -> None:
    """Tell the other processes, with the commit, that a document beside a chat has changed."""
    _notify(connection, f"{node} {chat}")


def _notify(connection: Connection, payload: str) -> None:
    connection.execute("SELECT pg_notify(%s, %s)", (CHANNEL, payload))


class Changes:
    """Remembers which revision of each chat was last reported; satisfies `ChatChanges`."""

    def __init__(self, database: Database, listener: Listener) -> None:
        self.node = listener.node
        self._database = database
        self._listener = listener
        self._listeners = Listeners()
        self._sidecar_listeners = Listeners()
        self._reported: dict[ChatId, int] = {}
        self._has_begun = False

    def on_change(self, listener: ChangeListener) -> Callable[[], None]:
        """Call `listener` in the event loop after each stored change of any chat."""
        return self._listeners.add(listener)

    def on_sidecar_change(self, listener: ChangeListener) -> Callable[[], None]:
        """Call `listener` after a document beside a chat changed, while `watch` runs."""
        return self._sidecar_listeners.add(listener)

    async def watch(self) -> None:
        """Report changes by other processes until cancelled."""
        self._has_begun = False
        await self._listener.listen(CHANNEL, self._heard, self._caught_up)

    def tell(self, chat: ChatId, revision: int | None) -> None:
        """Tell the listeners that the chat is now at that revision; `None` if it is gone."""
        if revision is None:
            self._reported.pop(chat, None)
        else:
            self._reported[chat] = revision
        self._listeners.tell(chat)

    def close(self) -> None:
        """Forget the listeners."""
        self._listeners.clear()
        self._sidecar_listeners.clear()

    async def _heard(self, payload: str) -> None:
        node, chat, *rest = payload.split(" ")
        if not rest:
            if node != self.node:
                self._sidecar_listeners.tell(ChatId(chat))
        elif node != self.node:
            revision = int(rest[0]) or None
            if revision is None or revision > self._reported.get(ChatId(chat), 0):
                self.tell(ChatId(chat), revision)

    async def _caught_up(self) -> None:
        """Report what has changed unheard since the last report."""
        before = dict(self._reported)
        found = await self._database.do(_revisions)
        if not self._has_begun:
            self._has_begun = True
            self._reported = {**found, **self._reported}
            return
        for chat in sorted({*found, *before}):
            newest = found.get(chat)
            if newest is None or newest > self._reported.get(chat, 0):
                self.tell(chat, newest)
                self._sidecar_listeners.tell(chat)


def _revisions(connection: Connection) -> Mapping[ChatId, int]:
    found = connection.execute(
        "SELECT id, revision FROM chat WHERE deletion = '' AND revision IS NOT NULL"
    )
    return {ChatId(chat): revision for chat, revision in found}

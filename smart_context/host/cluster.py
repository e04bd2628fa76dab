"""Passes events for clients, and requests to stop an answer, between the servers of a team."""

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any

from smart_context.base.values import JsonObject, PersonId
from smart_context.chat.messages import ChatId
from smart_context.host.access import EVERYBODY, Audience, OwnedName
from smart_context.host.events.bus import EventRelay, event_name
from smart_context.host.events.events import (
    CHAT_FAILED,
    CHAT_FINISHED,
    CHAT_STARTED,
    CHAT_THOUGHT,
    CHAT_TOKEN,
    Event,
)
from smart_context.host.tasks import TaskOwner
from smart_context.storage.ports import Storage

ELSEWHERE = "elsewhere."
"""The prefix of the names under which plugins get the events of other servers."""

STOP_TIMEOUT_S = 10.0
_ENDS = (CHAT_FINISHED, CHAT_FAILED)
_BEGIN_S = 3.0
_PIECES = 5_000
"""The maximum pieces kept of an answer with a missed beginning, which the journal has."""

JOINED_S = 0.1
"""Time for which pieces of an answer are joined before the other servers get them."""


class _Arriving:
    """An answer that another server is writing, as far as its pieces were received."""

    def __init__(self, message_id: str) -> None:
        self.message_id = message_id
        self.text = ""
        self.pieces: deque[tuple[int, str]] = deque(maxlen=_PIECES)

    def add(self, offset: int, text: str) -> None:
        """Add a piece; a piece that does not continue the known text is kept for later."""
        if offset == len(self.text) and not self.pieces:
            self.text += text
        else:
            self.pieces.append((offset, text))

    def text_after(self, known: str) -> str:
        """The whole text so far, from its beginning if this server missed that."""
        whole = known if len(known) > len(self.text) else self.text
        for offset, text in self.pieces:
            if offset <= len(whole) < offset + len(text):
                whole = whole[:offset] + text
        return whole


class _JoinedPieces:
    """Pieces of answers for the other servers, joined since each costs every server some work."""

    def __init__(self, send: Callable[[JsonObject], None]) -> None:
        self._send = send
        self._waiting: dict[ChatId, tuple[JsonObject, list[str]]] = {}

    def add(self, chat: ChatId, message: JsonObject) -> None:
        """Keep a piece for `JOINED_S`, then send it together with those that follow it."""
        payload = message["payload"]
        known = self._waiting.get(chat)
        if known is not None and _follows(known[0], message):
            known[1].append(payload["text"])
            return
        self.flush(chat)
        self._waiting[chat] = message, [payload["text"]]
        asyncio.get_running_loop().call_later(JOINED_S, self.flush, chat)

    def flush_all(self) -> None:
        """Send all waiting pieces."""
        for chat in tuple(self._waiting):
            self.flush(chat)

    def flush(self, chat: ChatId) -> None:
        """Send the waiting pieces of a chat's answer."""
        if (known := self._waiting.pop(chat, None)) is not None:
            message, texts = known
            self._send({**message, "payload": {**message["payload"], "text": "".join(texts)}})


class Cluster:
    """Sends events to the other servers, and passes their events to clients and plugins here."""

    def __init__(
        self,
        storage: Storage,
        relay: EventRelay,
        stop: Callable[[ChatId], Coroutine[Any, Any, bool]],
        tasks: TaskOwner,
    ) -> None:
        self._events = storage.events
        self._chats = storage.chats
        self._answers = storage.answers
        self._relay = relay
        self._stop = stop
        self._tasks = tasks
        self._arriving: dict[ChatId, _Arriving] = {}
        self._ends: dict[ChatId, list[asyncio.Event]] = {}
        self._hears = asyncio.Event()
        self._pieces = _JoinedPieces(self._events.send)
        if self.is_shared:
            relay.forward_to(self._forward)

    @property
    def is_shared(self) -> bool:
        """True if there may be other servers."""
        return self._events.is_shared

    async def run(self) -> None:
        """Receive from the other servers until cancelled."""
        await self._events.listen(self._heard, self._hears.set)

    async def begun(self) -> None:
        """Wait until events of other servers arrive here; a few seconds at most."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_BEGIN_S):
                await self._hears.wait()

    async def settle(self) -> None:
        """Wait until all events are sent to the other servers; a second at most."""
        self._pieces.flush_all()
        await self._events.settle()

    async def answering(self, chat_id: ChatId) -> JsonObject | None:
        """The answer that another server is writing in a chat, with its text so far."""
        arriving = self._arriving.get(chat_id)
        if not self.is_shared or arriving is None:
            return None
        known = ""
        if arriving.pieces:
            left = await asyncio.to_thread(self._answers.arriving, chat_id)
            known = left.text if left and left.message_id == arriving.message_id else ""
        return {"message_id": arriving.message_id, "text": arriving.text_after(known)}

    async def stop(self, chat_id: ChatId) -> bool:
        """Ask another server to stop its answer in a chat; returns True once it has ended."""
        if not self.is_shared or not await self._is_answered(chat_id):
            return False
        ended = asyncio.Event()
        self._ends.setdefault(chat_id, []).append(ended)
        self._events.send({"stop": chat_id})
        try:
            async with asyncio.timeout(STOP_TIMEOUT_S):
                await ended.wait()
        except TimeoutError:
            return False
        else:
            return True
        finally:
            self._ends[chat_id].remove(ended)
            if not self._ends[chat_id]:
                del self._ends[chat_id]

    async def _is_answered(self, chat_id: ChatId) -> bool:
        messages = await self._chats.messages(chat_id)
        return any(message.generating for message in messages)

    def _forward(self, event: Event[Any] | str, payload: JsonObject, audience: Audience) -> None:
        """Send an event to the other servers, unless each server finds it out by itself."""
        if event in (CHAT_STARTED, *_ENDS):  # no other server answers now
            self._arrived(ChatId(str(payload.get("chat_id"))))
        if not (isinstance(event, Event) and event.each_finds):
            told = {"event": event_name(event), "payload": payload, "audience": _as_json(audience)}
            chat = ChatId(str(payload.get("chat_id")))
            if event in (CHAT_TOKEN, CHAT_THOUGHT):
                self._pieces.add(chat, told)
            else:  # it must not overtake the waiting pieces
                self._pieces.flush(chat)
                self._events.send(told)

    def _heard(self, message: JsonObject) -> None:
        if (chat := message.get("stop")) is not None:
            self._tasks.spawn(self._stop(ChatId(chat)))
            return
        event, payload = str(message["event"]), dict(message["payload"])
        self._follow(event, payload)
        self._relay.tell_clients(event, payload, _audience(message["audience"]))
        self._relay.send_to_plugins(f"{ELSEWHERE}{event}", payload)

    def _follow(self, event: str, payload: JsonObject) -> None:
        """Keep the text so far of other servers' answers."""
        chat = ChatId(str(payload.get("chat_id")))
        if event == CHAT_STARTED.name:
            self._arriving[chat] = _Arriving(payload["message_id"])
        elif event == CHAT_TOKEN.name:
            message_id = payload["message_id"]
            known = self._arriving.get(chat)
            if known is None or known.message_id != message_id:
                known = self._arriving[chat] = _Arriving(message_id)
            known.add(payload["offset"], payload["text"])
        elif event in [end.name for end in _ENDS]:
            self._arrived(chat)

    def _arrived(self, chat: ChatId) -> None:
        """Forget an answer that no other server is writing now, and wake those waiting for that."""
        self._arriving.pop(chat, None)
        for ended in self._ends.get(chat, ()):
            ended.set()


def _follows(first: JsonObject, later: JsonObject) -> bool:
    """True for two pieces of the same text of the same answer."""
    one, other = first["payload"], later["payload"]
    return (first["event"], one["message_id"]) == (later["event"], other["message_id"])


def _as_json(audience: Audience) -> Any:
    if audience is EVERYBODY:
        return None
    return [*audience] if isinstance(audience, OwnedName) else audience


def _audience(told: Any) -> Audience:
    if told is None:
        return EVERYBODY
    return OwnedName(*told) if isinstance(told, list) else PersonId(told)

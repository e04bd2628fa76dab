"""One request of a client, until its answer is saved."""

import asyncio
import logging
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from smart_context.base.errors import SmartContextError
from smart_context.base.values import JsonObject, PersonId
from smart_context.chat.clients import client_history
from smart_context.chat.messages import ChatId, Message, MessageId
from smart_context.gateway.requests.outgoing import Outgoing, kept_units, outgoing
from smart_context.gateway.turns.chats import ChatFinder, FoundChat
from smart_context.gateway.turns.document import (
    Followed,
    RecordingPlan,
    RequestRecorder,
    new_document_id,
)
from smart_context.gateway.turns.incoming import Incoming
from smart_context.gateway.turns.news import AnswerNews
from smart_context.gateway.turns.outcome import (
    Outcome,
    TurnAborted,
    brought_back,
    note_sent,
)
from smart_context.gateway.turns.pending_saves import PendingSaves
from smart_context.gateway.turns.stored_answers import answers_of, issued_answers, put_answers
from smart_context.host.events.events import PIPELINE_END, Emit
from smart_context.host.request.client_request import ClientRequest, ReceiptKind
from smart_context.host.request.request import Request
from smart_context.host.turn import Turn
from smart_context.host.turns.pipeline import Pipeline
from smart_context.host.turns.turns import Turns
from smart_context.llm.echoes import Echoes, EchoStream
from smart_context.storage.ports import Chats

Headers = list[tuple[bytes, bytes]]

_ASIDE_TEXT = "An aside of the client."

_FIRST_S = 0.01
"""How long storing waits for sending, since both need the processor."""

_LIVE_CHARACTERS = 64 << 10
"""Longest piece of an answer that is shown before the answer is saved."""

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExchangeParts:
    """The parts that exchanges share.

    Attributes:
        store: The chats.
        chats: Finds how requests change chats.
        pipeline: Runs the phases of a turn.
        finder: Finds the chats of requests.
        emit: Sends events to pages.
        pending_saves: Answers that are being saved.
        turns: Is told of chats that are being answered.
    """

    store: Chats
    chats: RequestRecorder
    pipeline: Pipeline
    finder: ChatFinder
    emit: Emit
    pending_saves: PendingSaves
    turns: Turns


class Exchange:
    """A request and its answer.

    Args:
        parts: The parts that exchanges share.
        incoming: The request.
        chat: Its chat; `None` for an aside without one.
        person: Who asks.
        endpoint: The provider's address, for the receipt; empty if we answer.
        model: The model that is asked.
        echoes: Our keys, which are not stored or shown if the provider repeats them.

    Attributes:
        turn: The pipeline's turn.
    """

    def __init__(
        self,
        parts: ExchangeParts,
        incoming: Incoming,
        chat: FoundChat | None,
        *,
        person: PersonId,
        endpoint: str,
        model: str,
        echoes: Echoes,
    ) -> None:
        self._parts = parts
        self._echoes = echoes
        self._live = EchoStream(echoes)
        self._is_live = True
        self._incoming = incoming
        self._chat = chat
        self._person = person
        self._model = model
        self._endpoint = endpoint
        self._followed: Followed | None = None
        self._news: AnswerNews | None = None
        self._writing: asyncio.Task[None] | None = None
        self._unwritten: RecordingPlan | None = None
        self._sent: Outgoing | None = None
        self._out = incoming.item_count
        self._ending: asyncio.Future[None] | None = None
        self._answering = ExitStack()
        self.turn: Turn | None = None

    async def begin(self) -> Outgoing:
        """Record the request in its chat, and decide what is sent.

        Raises:
            SmartContextError: If the chat can't be written.
            TurnAborted: If a plugin stops the turn.
        """
        incoming, chat = self._incoming, self._chat
        if chat is None or not incoming.units:
            return self._as_it_came()
        if incoming.is_aside:
            self.turn = self._aside(chat)
            self._sent = self._as_it_came()
            return self._sent
        return await self._taken_up(chat)

    def _as_it_came(self) -> Outgoing:
        incoming = self._incoming
        every = range(len(incoming.units))
        return outgoing(incoming.kind, incoming.body, incoming.units, every, brought_back={})

    async def _taken_up(self, chat: FoundChat) -> Outgoing:
        """The body to send; all of the client's if there is no question."""
        incoming = self._incoming
        self._answering.enter_context(self._parts.turns.answering_client(ChatId(chat.id)))
        plan = await self._parts.chats.plan(incoming, chat, self._model)
        if plan.goes_on:
            followed = self._followed = plan.foreseen()
        else:
            followed = self._followed = await plan.write()
        self._news = AnswerNews(self._parts.emit, followed)
        if followed.question is None:
            return self._as_it_came()
        self.turn = await self._turn(followed, followed.question)
        self._unwritten = plan if plan.goes_on else None
        if incoming.is_off or incoming.is_held:
            self._sent = self._as_it_came()
        else:
            self._sent = await self._narrowed(self.turn, followed)
        self._out = self._sent.count
        self._start_writing()
        return self._sent

    def _start_writing(self) -> None:
        """Store the question while the provider answers, unless it is stored already."""
        plan, self._unwritten = self._unwritten, None
        if plan is not None:
            self._writing = asyncio.create_task(self._write(plan))
        elif self._news is not None:
            self._news.begin()

    async def _write(self, plan: RecordingPlan) -> None:
        """Store new messages while the provider answers.

        If the disk refuses, saving the answer reports it.
        """
        ending = self._parts.pending_saves.begin(self._incoming.key)
        try:
            await asyncio.sleep(_FIRST_S)
            await plan.record()
        except SmartContextError as error:
            _logger.warning("chat %s: the question is not saved: %s", plan.chat.id, error)
        finally:
            ending.set_result(None)
        if self._news is not None:
            self._news.begin()

    def headers(self) -> Headers:
        """Headers of the answer; see `answer_headers`."""
        chat_id = self._chat.id if self._chat else ""
        return answer_headers(chat_id, self.turn, self._incoming.item_count, str(self._out))

    def arrived(self, text: str) -> None:
        """Send new text of the answer to pages; after a huge piece they get the rest at the end."""
        self._is_live = self._is_live and len(text) <= _LIVE_CHARACTERS
        if self._news is not None and self._is_live:
            self._news.arrived(self._live.feed(text))

    def ends(self) -> None:
        """The client sees the end now, and may send its next request before it is saved."""
        if self._followed is not None and self._ending is None:
            self._ending = self._parts.pending_saves.begin(self._incoming.key)

    async def finish(self, outcome: Outcome) -> None:
        """Save the answer as far as it has arrived, and the receipt."""
        try:
            turn = await self._saved(outcome)
        finally:
            self._answering.close()
            if self._ending is not None:
                self._ending.set_result(None)
        if turn is not None:
            await self._parts.pipeline.conclude(turn)
            if self._news is not None:
                self._news.arrived(self._live.last() if self._is_live else "")
                self._news.end(turn)

    async def _saved(self, outcome: Outcome) -> Turn | None:
        """Save the answer; returns the turn to conclude."""
        turn, gathered = self.turn, outcome.gathered
        if turn is None:
            return None
        await asyncio.to_thread(gathered.clean, self._echoes)
        if self._sent is not None:
            await asyncio.to_thread(note_sent, turn, self._sent, self._echoes)
        turn.usage = gathered.usage
        turn.error = self._echoes.error(outcome.error) or gathered.error
        turn.error_code = outcome.error_code
        turn.stopped = outcome.is_stopped
        if self._followed is None:
            await self._parts.pipeline.publish(PIPELINE_END, turn)
            return None
        if self._writing is None:
            self._start_writing()  # it ended before anything was sent
        if self._writing is not None:
            await asyncio.wait([self._writing])
        turn.response = gathered.first.text or turn.response
        answers = answers_of(gathered, self._followed, turn, model=self._model)
        await self._save(turn, answers)
        if not turn.error:
            rows = issued_answers(gathered, turn, answers)
            await self._parts.finder.note(self._incoming.key, *rows)
        return turn

    async def _turn(self, followed: Followed, question: Message) -> Turn:
        place = next(
            index for index, message in enumerate(followed.messages) if message is question
        )
        history = await client_history(followed.messages[:place])
        turn = Turn(
            id=new_document_id(),
            chat_id=followed.chat_id,
            person=self._person,
            question=question,
            answer_id=followed.answer_id,
            request=Request(message=question.text, history=tuple(history)),
            streaming=self._incoming.is_stream,
        )
        kind: ReceiptKind = "held by the provider" if self._incoming.is_held else "turn"
        turn.client = self._client(kind, followed.messages[place + 1 :])
        return turn

    def _aside(self, chat: FoundChat) -> Turn:
        question = Message(id=MessageId(""), role="user", content=_ASIDE_TEXT)
        turn = Turn(
            id=new_document_id(),
            chat_id=ChatId(chat.id),
            person=self._person,
            question=question,
            answer_id=MessageId(""),
            request=Request(message=""),
        )
        turn.client = self._client("aside")
        return turn

    def _client(self, kind: ReceiptKind, following: Sequence[Message] = ()) -> ClientRequest:
        return ClientRequest(
            client=self._incoming.client,
            endpoint=self._endpoint,
            kind=kind,
            model=self._model,
            following=tuple(following),
        )

    async def _narrowed(self, turn: Turn, followed: Followed) -> Outgoing:
        await self._parts.pipeline.prepare(turn)
        if turn.aborted:
            raise TurnAborted(turn.abort_reason)
        incoming, ids = self._incoming, followed.ids
        return outgoing(
            incoming.kind,
            incoming.body,
            incoming.units,
            kept_units(incoming.units, ids, {message.id for message in turn.history}),
            brought_back=brought_back(turn.history, ids, incoming.question),
            system=turn.system_prompt.strip(),
        )

    async def _save(self, turn: Turn, answers: Sequence[JsonObject]) -> None:
        try:
            await put_answers(self._parts.store, turn.chat_id, answers)
        except SmartContextError as error:
            _logger.warning("chat %s: the answer is not saved: %s", turn.chat_id, error)
            turn.error = turn.error or f"The answer could not be saved: {error}"


def answer_headers(chat_id: str, turn: Turn | None, received: int, sent: str) -> Headers:
    """Headers of an answer: its chat and turn, and how many messages were received and sent.

    What is empty is left out.
    """
    values = {
        "chat": chat_id,
        "receipt": turn.id if turn else "",
        "in": str(received),
        "out": sent,
    }
    return [(f"x-smart-context-{k}".encode(), v.encode()) for k, v in values.items() if v]

"""A request of a client as the source of a turn: its list, and how its answer is kept."""

import asyncio
import logging
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, field
from typing import Protocol

from smart_context.base.config import EndpointSettings
from smart_context.base.errors import SmartContextError
from smart_context.base.values import PersonId
from smart_context.chat.clients import client_history
from smart_context.chat.ids import new_message_id
from smart_context.chat.messages import ChatId, Message, MessageId
from smart_context.gateway.answers.gathered import GatheredAnswer
from smart_context.gateway.requests.outgoing import Outgoing
from smart_context.gateway.turns.answer_headers import Headers, answer_headers
from smart_context.gateway.turns.answer_messages import answers_of, issued_answers
from smart_context.gateway.turns.document import RecordedRequest, RequestRecorder
from smart_context.gateway.turns.finding import ChatFinder, ChatOfRequest
from smart_context.gateway.turns.fitting import ChosenUnits, whole_list
from smart_context.gateway.turns.incoming import Incoming
from smart_context.gateway.turns.provider_request import ProviderRequest, note_sent
from smart_context.gateway.turns.saving import PendingSaves, QuestionSaving
from smart_context.host.events.events import PIPELINE_END
from smart_context.host.request.request import Request
from smart_context.host.turn import ClientRequest, ReceiptKind, Turn
from smart_context.host.turns.arriving import AnswerNews
from smart_context.host.turns.turns import Turns
from smart_context.llm.echoes import RepeatedKeys, RepeatedKeysStream
from smart_context.llm.models import NOTHING_USED

_ASIDE_TEXT = "An aside of the client."

_LIVE_CHARACTERS = 64 << 10
"""The maximum length of a piece of an answer that is shown before the answer is saved."""

SAVED_WITHIN_S = 5.0
"""Maximum time that the end of an answer waits until it is saved."""

_logger = logging.getLogger(__name__)


@dataclass(slots=True)
class Outcome:
    """The result of a request so far."""

    # the answer, as far as it has arrived
    gathered: GatheredAnswer = field(default_factory=GatheredAnswer)
    error: str = ""  # why it failed, for people; empty if it did not
    error_code: int = 0  # the HTTP status, if there was one
    is_stopped: bool = False  # True if the client disconnected, or the server stopped


class TurnAborted(Exception):
    """A plugin has stopped the turn; the text is its reason."""


class AnswerSink(Protocol):
    """The way of an answer to its client."""

    outcome: Outcome

    async def give(self, source: "ClientSource") -> None:
        """Ask for the answer, and pass on everything of it but the end."""

    async def end(self) -> None:
        """Pass on the end, which tells the client that the answer is saved."""


@dataclass(frozen=True, slots=True)
class ClientChats:
    """Finds the chats of clients, records requests in them, and waits until answers are saved."""

    recorder: RequestRecorder  # records requests and answers in chats
    finder: ChatFinder  # finds the chats of requests
    pending_saves: PendingSaves  # answers that are being saved


@dataclass(slots=True)
class AnsweringClient:
    """A question of the chat, which is answered."""

    question: QuestionSaving
    news: AnswerNews
    keys: RepeatedKeysStream  # removes our keys from texts for pages
    _is_live: bool = field(default=True, init=False)

    def arrived(self, text: str) -> None:
        """Send new text to pages; after a huge piece they get the rest at the end."""
        self._is_live = self._is_live and len(text) <= _LIVE_CHARACTERS
        if self._is_live:
            self.news.arrived(self.keys.feed(text))

    def end(self, turn: Turn) -> None:
        """Tell pages that the answer is saved, or has failed."""
        self.news.arrived(self.keys.last() if self._is_live else "")
        self.news.end(turn)


@dataclass(eq=False)
class ClientSource:
    """The source of a client's turn.

    Attributes:
        turn: The turn, if it has a receipt; `None` before it begins.
        request: The request to the provider.
    """

    turns: Turns  # runs all turns
    chats: ClientChats
    incoming: Incoming
    chat: ChatOfRequest | None  # its chat; `None` for an aside without one
    _: KW_ONLY
    person: PersonId  # the person who asks
    endpoint: EndpointSettings | None  # the provider's, with the model; `None` if we answer
    model: str
    echoes: RepeatedKeys  # our keys, which are not stored or shown if the provider repeats them
    sink: AnswerSink
    turn: Turn | None = field(default=None, init=False)
    failure: Exception | None = field(default=None, init=False)
    _answering: AnsweringClient | None = field(default=None, init=False)  # `None` for an aside
    _chosen: ChosenUnits | None = field(default=None, init=False)  # `None`: it is sent as it came
    _saving: asyncio.Future[None] | None = field(default=None, init=False)
    _is_over: asyncio.Event = field(default_factory=asyncio.Event, init=False)
    _ending: asyncio.Task[None] | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        is_aside = self.chat is None or self.chat.is_aside
        self.chat_id = ChatId("" if self.chat is None or is_aside else self.chat.id)
        self._pipeline = self.turns.parts.pipeline
        self.request = ProviderRequest(self.incoming, self.endpoint, self._pipeline.completion)

    async def run(self) -> None:
        """Answer the client; raises the `failure` if nothing could be sent."""
        await self.turns.run(self)
        if self._ending is not None:
            await self._ending

    async def begin(self) -> Turn:
        """Record the request in its chat, unless that can be done while it is answered.

        Raises:
            SmartContextError: If the chat can't be read or written.
        """
        chat, units = self.chat, self.incoming.units
        if not units:
            return self._aside(Request(message=""))
        if self.chat_id and chat is not None and (turn := await self._record(chat)):
            self.turn = turn
            return turn
        request, ids = whole_list(units)
        turn = self._aside(request)
        if chat is not None:
            self.turn = turn
        if not self.incoming.is_held:
            self._chosen = ChosenUnits(turn, ids)
        return turn

    async def ask(self, _turn: Turn) -> None:
        """Let the sink ask for the answer and pass it on; its end waits until it is saved."""
        try:
            await self.sink.give(self)
        finally:
            self._ending = asyncio.create_task(self._end())

    async def prepared(self) -> Outgoing:
        """The request to send, with the messages that plugins choose.

        Raises:
            TurnAborted: If a plugin stops the turn.
        """
        turn, incoming = self.turn, self.incoming
        if turn is not None and self._answering and not (incoming.is_off or incoming.is_held):
            await self._pipeline.prepare(turn)
            if turn.aborted:
                raise TurnAborted(turn.abort_reason)
        sent = await self.request.first(self._chosen)
        if self._answering is not None:
            self._answering.question.start()
        return sent

    def headers(self) -> Headers:
        """The headers of the answer; see `answer_headers`."""
        chat_id = self.chat.id if self.chat else ""
        return answer_headers(chat_id, self.turn, self.incoming.item_count, self.request.count)

    def arrived(self, text: str) -> None:
        """Send new text of the answer to pages."""
        if self._answering is not None:
            self._answering.arrived(text)

    def ends(self) -> None:
        """Note that the client sees the end, and may send its next request before it is saved."""
        if self._saving is None and self._answering is not None:
            self._saving = self.chats.pending_saves.begin(self.incoming.key)

    async def save(self, turn: Turn) -> None:
        """Save the answer as far as it has arrived; then the client's next request may begin."""
        try:
            await self._save(turn, self.sink.outcome.gathered)
        except SmartContextError as error:
            _logger.warning("chat %s: the answer is not saved: %s", turn.chat_id, error)
            turn.error = turn.error or f"The answer could not be saved: {error}"
        finally:
            self.close()

    async def conclude(self, turn: Turn) -> None:
        """Tell plugins that the turn is over."""
        if self._answering is not None:
            await self._pipeline.conclude(turn)
        elif self.turn is not None:
            await self._pipeline.publish(PIPELINE_END, turn)

    def close(self) -> None:
        """Let the client's next request begin."""
        if self._saving is not None and not self._saving.done():
            self._saving.set_result(None)

    def tell_the_end(self, turn: Turn) -> None:
        """Tell pages how the turn ended, and let the client see the end."""
        if self._answering is not None:
            self._answering.end(turn)
        self._is_over.set()

    async def _end(self) -> None:
        """End the answer once it is saved, or after `SAVED_WITHIN_S`."""
        with suppress(TimeoutError):
            async with asyncio.timeout(SAVED_WITHIN_S):
                await self._is_over.wait()
        await self.sink.end()

    async def _record(self, chat: ChatOfRequest) -> Turn | None:
        """Record the request in its chat; `None` if it holds no question."""
        incoming = self.incoming
        plan = await self.chats.recorder.plan(incoming, chat, self.model)
        followed = plan.foreseen() if plan.goes_on else await plan.write()
        if followed.question is None:
            return None
        turn = await self._turn(followed, followed.question)
        news = AnswerNews(self.turns.parts.emit, followed.chat_id, followed.answer_id)
        unwritten = plan if plan.goes_on else None
        question = QuestionSaving(unwritten, news, self.chats.pending_saves, incoming.key)
        self._answering = AnsweringClient(question, news, RepeatedKeysStream(self.echoes))
        if not incoming.is_held:
            self._chosen = ChosenUnits(turn, followed.ids)
        return turn

    async def _turn(self, followed: RecordedRequest, question: Message) -> Turn:
        place = next(
            index for index, message in enumerate(followed.messages) if message is question
        )
        history = await client_history(followed.messages[:place])
        turn = Turn(
            id=new_message_id(),
            chat_id=followed.chat_id,
            person=self.person,
            question=question,
            answer_id=followed.answer_id,
            request=Request(message=question.text, history=tuple(history)),
            streaming=self.incoming.is_stream,
        )
        kind: ReceiptKind = "held by the provider" if self.incoming.is_held else "turn"
        turn.client = self._client(kind, followed.messages[place + 1 :])
        return turn

    def _aside(self, request: Request) -> Turn:
        turn = Turn(
            id=new_message_id(),
            chat_id=ChatId(self.chat.id if self.chat else ""),
            person=self.person,
            question=Message(id=MessageId(""), role="user", content=_ASIDE_TEXT),
            answer_id=MessageId(""),
            request=request,
        )
        turn.client = self._client("aside")
        return turn

    def _client(self, kind: ReceiptKind, following: Sequence[Message] = ()) -> ClientRequest:
        return ClientRequest(
            client=self.incoming.client,
            endpoint=self.endpoint.base_url if self.endpoint else "",
            kind=kind,
            model=self.model,
            following=tuple(following),
        )

    async def _save(self, turn: Turn, gathered: GatheredAnswer) -> None:
        if self.incoming.kind == "responses":
            for held in (gathered.response, gathered.conversation):
                if held := self.echoes.text(held):
                    await self.chats.finder.note_held(self.incoming.key, held)
        if self.turn is None:
            return
        await self._note(turn, self.sink.outcome)
        if self._answering is None:
            self.chats.finder.note_aside(turn.chat_id, " ".join(gathered.first.said.split()))
            return
        await self._answering.question.settled()  # it begins here if nothing was sent
        turn.response = gathered.first.said or turn.response
        answers = answers_of(gathered, turn, model=self.model)
        await self.chats.recorder.put(turn.chat_id, answers)
        if not turn.error:
            rows = issued_answers(gathered, turn, answers)
            await self.chats.finder.note(self.incoming.key, *rows)

    async def _note(self, turn: Turn, outcome: Outcome) -> None:
        """Note in the turn the requests that were sent, and the outcome of the answer."""
        gathered = outcome.gathered
        await asyncio.to_thread(gathered.clean, self.echoes)
        for sent in self.request.all_sent:
            await asyncio.to_thread(note_sent, turn, sent, self.echoes)
        if gathered.usage is not None and not gathered.error:
            await self.request.learn_counts(gathered.usage.prompt_tokens)
        turn.usage = gathered.usage
        turn.error = self.echoes.error(outcome.error or turn.error) or gathered.error
        turn.error_code = outcome.error_code or turn.error_code
        if not turn.error:
            await self._pipeline.completion.keep_guess(turn.window, self.endpoint)
        used = gathered.usage or (NOTHING_USED if turn.error else None)
        turn.usages = (*[NOTHING_USED for _ in turn.bodies[1:]], used) if turn.bodies else ()
        turn.stopped = outcome.is_stopped

"""One request of a client, until its answer is saved."""

import asyncio
import logging
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import KW_ONLY, dataclass, field

from smart_context.base.config import EndpointSettings
from smart_context.base.errors import SmartContextError
from smart_context.base.values import JsonObject, PersonId
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

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The result of a request."""

    gathered: GatheredAnswer  # the answer, as far as it has arrived
    error: str = ""  # why it failed, for people; empty if it did not
    error_code: int = 0  # the HTTP status, if there was one
    is_stopped: bool = False  # True if the client disconnected, or the server stopped


class TurnAborted(Exception):
    """A plugin has stopped the turn; the text is its reason."""


@dataclass(frozen=True, slots=True)
class ClientChats:
    """Finds the chats of clients, records requests in them, and waits until answers are saved."""

    recorder: RequestRecorder  # records requests and answers in chats
    finder: ChatFinder  # finds the chats of requests
    pending_saves: PendingSaves  # answers that are being saved


@dataclass(frozen=True, slots=True)
class PassThrough:
    """A request whose answer is not stored."""

    turn: None = None


@dataclass(frozen=True, slots=True)
class AsideRequest:
    """A request outside of the chat: it has a receipt, but never enters the chat."""

    turn: Turn


@dataclass(slots=True)
class AnsweringClient:
    """A question of the chat, which is answered."""

    turn: Turn
    question: QuestionSaving
    news: AnswerNews
    keys: RepeatedKeysStream  # removes our keys from texts for pages
    _is_live: bool = field(default=True, init=False)

    def arrived(self, text: str) -> None:
        """Send new text to pages; after a huge piece they get the rest at the end."""
        self._is_live = self._is_live and len(text) <= _LIVE_CHARACTERS
        if self._is_live:
            self.news.arrived(self.keys.feed(text))

    def end(self) -> None:
        """Tell pages that the answer is saved, or has failed."""
        self.news.arrived(self.keys.last() if self._is_live else "")
        self.news.end(self.turn)


@dataclass(eq=False)
class Exchange:
    """A request and its answer."""

    turns: Turns  # the turns of the page, which go through the same phases
    chats: ClientChats
    incoming: Incoming
    chat: ChatOfRequest | None  # its chat; `None` for an aside without one
    _: KW_ONLY
    person: PersonId  # the person who asks
    endpoint: EndpointSettings | None  # the provider's, with the model; `None` if we answer
    model: str
    echoes: RepeatedKeys  # our keys, which are not stored or shown if the provider repeats them
    _state: PassThrough | AsideRequest | AnsweringClient = field(
        default_factory=PassThrough, init=False
    )
    _closing: ExitStack = field(default_factory=ExitStack, init=False)
    _has_ended: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        self._pipeline = self.turns.parts.pipeline
        self.request = ProviderRequest(self.incoming, self.endpoint, self._pipeline.completion)

    @property
    def turn(self) -> Turn | None:
        """The pipeline's turn; `None` if there is none, or it has not begun yet."""
        return self._state.turn

    async def begin(self) -> Outgoing:
        """Record the request in its chat, and decide which messages are sent.

        Raises:
            SmartContextError: If the chat can't be written.
            TurnAborted: If a plugin stops the turn.
        """
        chosen = await self._choose() if self.incoming.units else None
        sent = await self.request.first(None if self.incoming.is_held else chosen)
        if isinstance(self._state, AnsweringClient):
            self._state.question.start()
        return sent

    def headers(self) -> Headers:
        """The headers of the answer; see `answer_headers`."""
        chat_id = self.chat.id if self.chat else ""
        return answer_headers(chat_id, self.turn, self.incoming.item_count, self.request.count)

    def arrived(self, text: str) -> None:
        """Send new text of the answer to pages."""
        if isinstance(self._state, AnsweringClient):
            self._state.arrived(text)

    def ends(self) -> None:
        """Note that the client sees the end, and may send its next request before it is saved."""
        if not self._has_ended and isinstance(self._state, AnsweringClient):
            self._has_ended = True
            saving = self.chats.pending_saves.begin(self.incoming.key)
            self._closing.callback(saving.set_result, None)

    async def finish(self, outcome: Outcome) -> None:
        """Save the answer as far as it has arrived, and the receipt."""
        state = self._state
        with self._closing:
            if self.incoming.kind == "responses":
                for held in (outcome.gathered.response, outcome.gathered.conversation):
                    if held := self.echoes.text(held):
                        await self.chats.finder.note_held(self.incoming.key, held)
            if isinstance(state, AsideRequest):
                await self._note(state.turn, outcome)
                answer = " ".join(outcome.gathered.first.said.split())
                self.chats.finder.note_aside(state.turn.chat_id, answer)
                await self._pipeline.publish(PIPELINE_END, state.turn)
            elif isinstance(state, AnsweringClient):
                await self._save_answer(state, outcome)
        if isinstance(state, AnsweringClient):
            await self._pipeline.conclude(state.turn)
            state.end()

    async def _choose(self) -> ChosenUnits | None:
        """The units of the client's list to send; `None` for all, since it holds no question."""
        if self.chat is None or self.chat.is_aside:
            request, ids = whole_list(self.incoming.units)
            turn = self._aside(self.chat.id if self.chat else "", request)
            if self.chat is not None:
                self._state = AsideRequest(turn)
            return ChosenUnits(turn, ids)
        return await self._record(self.chat)

    async def _record(self, chat: ChatOfRequest) -> ChosenUnits | None:
        """Record the request in its chat, and let plugins choose; `None` as in `_choose`."""
        incoming = self.incoming
        self._closing.enter_context(self.turns.answering_client(ChatId(chat.id)))
        plan = await self.chats.recorder.plan(incoming, chat, self.model)
        followed = plan.foreseen() if plan.goes_on else await plan.write()
        if followed.question is None:
            return None
        turn = await self._turn(followed, followed.question)
        news = AnswerNews(self.turns.parts.emit, followed.chat_id, followed.answer_id)
        unwritten = plan if plan.goes_on else None
        question = QuestionSaving(unwritten, news, self.chats.pending_saves, incoming.key)
        self._state = AnsweringClient(turn, question, news, RepeatedKeysStream(self.echoes))
        if not (incoming.is_off or incoming.is_held):
            await self._pipeline.prepare(turn)
            if turn.aborted:
                raise TurnAborted(turn.abort_reason)
        return ChosenUnits(turn, followed.ids)

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

    def _aside(self, chat_id: str, request: Request) -> Turn:
        question = Message(id=MessageId(""), role="user", content=_ASIDE_TEXT)
        turn = Turn(
            id=new_message_id(),
            chat_id=ChatId(chat_id),
            person=self.person,
            question=question,
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

    async def _save_answer(self, state: AnsweringClient, outcome: Outcome) -> None:
        turn, gathered = state.turn, outcome.gathered
        await self._note(turn, outcome)
        await state.question.settled()  # it begins here if nothing was sent
        turn.response = gathered.first.said or turn.response
        answers = answers_of(gathered, turn, model=self.model)
        await self._save(turn, answers)
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
        turn.error = self.echoes.error(outcome.error) or gathered.error
        turn.error_code = outcome.error_code
        used = gathered.usage or (NOTHING_USED if turn.error else None)
        turn.usages = (*[NOTHING_USED for _ in turn.bodies[1:]], used) if turn.bodies else ()
        turn.stopped = outcome.is_stopped

    async def _save(self, turn: Turn, answers: Sequence[JsonObject]) -> None:
        try:
            await self.chats.recorder.put(turn.chat_id, answers)
        except SmartContextError as error:
            _logger.warning("chat %s: the answer is not saved: %s", turn.chat_id, error)
            turn.error = turn.error or f"The answer could not be saved: {error}"

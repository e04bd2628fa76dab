"""One request of a client, until its answer is saved."""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial
from typing import Any

from smart_context.base.config import EndpointSettings
from smart_context.base.errors import ModelFailed, SmartContextError, TooLong
from smart_context.base.times import utc_stamp
from smart_context.base.values import JsonObject, PersonId
from smart_context.chat.clients import client_history
from smart_context.chat.ids import new_message_id
from smart_context.chat.messages import ChatId, Message, MessageId
from smart_context.gateway.answers import Choice, Gathered
from smart_context.gateway.following import ISSUED
from smart_context.gateway.identity import IssuedAnswer, answer_of
from smart_context.gateway.requests.outgoing import (
    Outgoing,
    in_speaking_order,
    kept_units,
    outgoing,
)
from smart_context.gateway.turns.document import (
    Followed,
    RecordingPlan,
    RequestRecorder,
)
from smart_context.gateway.turns.fitting import (
    countable,
    request_of_units,
    tokens_of,
    within_window,
)
from smart_context.gateway.turns.incoming import ChatFinder, FoundChat, Incoming
from smart_context.host.events.events import PIPELINE_END, Emit
from smart_context.host.request.request import Request, added_by_client, request_body
from smart_context.host.request.speaking_order import order_wanted
from smart_context.host.request.tokens import prompt_tokens
from smart_context.host.request.window import Window
from smart_context.host.turn import ClientRequest, ReceiptKind, Turn
from smart_context.host.turns.arriving import AnswerNews
from smart_context.host.turns.pipeline import Pipeline
from smart_context.host.turns.transcript import NOTHING_CAME, notice_of, stored_answer
from smart_context.host.turns.turns import Turns
from smart_context.llm.echoes import Echoes, EchoStream
from smart_context.llm.models import NOTHING_USED


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The result of a request."""

    gathered: Gathered  # the answer, as far as it arrived
    error: str = ""  # why it failed, for people; empty if it did not
    error_code: int = 0  # the HTTP status, where there was one
    is_stopped: bool = False  # the client went away, or the server stopped


class TurnAborted(Exception):
    """A plugin has stopped the turn; the text is its reason."""


def brought_back(
    history: Sequence[Message], ids: Sequence[str], question: int
) -> dict[int, list[Message]]:
    """The messages that the client did not send, by the unit that they precede."""
    places = {message_id: place for place, message_id in enumerate(ids)}
    back: dict[int, list[Message]] = {}
    waiting: list[Message] = []
    for message in history:
        place = places.get(message.id)
        if place is None:
            waiting.append(message)
        elif waiting:
            back[place], waiting = waiting, []
    if waiting:
        back.setdefault(question, []).extend(waiting)
    return back


def note_sent(turn: Turn, sent: Outgoing, echoes: Echoes) -> None:
    """Note in a turn what was sent once more, for the receipt; without our keys."""
    values, fields = sent.values(), sent.fields
    if echoes.are_in(sent.text):
        values, fields = echoes.value(list(values)), echoes.value(fields)
    turn.sent = tuple([value for value in values if isinstance(value, dict)])
    body = request_body(fields, values, sent.list_name) if sent.list_name else fields
    turn.bodies = (*turn.bodies, body)
    turn.added = added_by_client(fields, turn.system_prompt.strip())


async def finished(work: Any) -> None:
    """Wait for work to end, even if the caller is cancelled meanwhile."""
    task = asyncio.ensure_future(work)
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        raise


def answers_of(gathered: Gathered, turn: Turn, *, model: str) -> list[JsonObject]:
    """The messages that store an answer: the first choice, then the others."""
    first, *others = [gathered.choices[n] for n in sorted(gathered.choices)] or [Choice()]
    content = first.content() or ("" if turn.error else (notice_of(turn, NOTHING_CAME),))
    answer = stored_answer(turn, content, created_at=utc_stamp())

    def issued(choice: Choice) -> JsonObject:
        early = {choice.ending: True} if choice.ending and not turn.stopped else {}
        return {**answer.extra, ISSUED: gathered.model or model, **early}

    rest = [
        replace(
            answer,
            id=new_message_id(),
            content=other.content(),
            error="",
            error_code=0,
            extra=issued(other),
        )
        for other in others
    ]
    answer = replace(answer, extra=issued(first))
    return [message.to_dict() for message in (answer, *rest)]


def issued_answers(
    gathered: Gathered, turn: Turn, answers: Sequence[JsonObject]
) -> list[IssuedAnswer]:
    """The rows by which later requests find the chat."""
    choices = [gathered.choices[number] for number in sorted(gathered.choices)]
    return [
        answer_of(
            " ".join(choice.said.split()),
            chat=turn.chat_id,
            message=answer["id"],
            question=turn.question.id,
            calls=choice.call_ids,
            response=gathered.response,
        )
        for choice, answer in zip(choices, answers, strict=False)
    ]


Headers = list[tuple[bytes, bytes]]

_ASIDE_TEXT = "An aside of the client."

_FIRST_S = 0.01
"""How long storing waits for sending, since both need the processor."""

_LIVE_CHARACTERS = 64 << 10
"""Longest piece of an answer that is shown before the answer is saved."""

PATIENCE_S = 2.0
"""Longest that a request waits until the key's earlier answers are saved."""

_logger = logging.getLogger(__name__)


class PendingSaves:
    """Answers that have ended for the client but are not saved yet, by key.

    A client may send its next request at once; that one waits until they are saved.
    """

    def __init__(self) -> None:
        self._saving: dict[str, set[asyncio.Future[None]]] = defaultdict(set)

    def begin(self, key: str) -> asyncio.Future[None]:
        """Register an answer that has ended; whoever saves it sets the result."""
        ending: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._saving[key].add(ending)
        ending.add_done_callback(self._saving[key].discard)
        return ending

    async def settled(self, key: str) -> None:
        """Wait until the answers of a key are saved, but not for long."""
        if waiting := self._saving[key]:
            await asyncio.wait([*waiting], timeout=PATIENCE_S)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExchangeParts:
    """The parts that exchanges share."""

    chats: RequestRecorder  # records requests and answers in chats
    pipeline: Pipeline  # runs the phases of a turn
    finder: ChatFinder  # finds the chats of requests
    emit: Emit  # sends events to pages
    pending_saves: PendingSaves  # answers that are being saved
    turns: Turns  # is told of chats that are being answered


@dataclass(eq=False)
class Question:
    """The question on its way into the chat, which goes on while the provider answers."""

    parts: ExchangeParts  # the parts that exchanges share
    plan: RecordingPlan | None  # stores the question; `None` if it is stored already
    news: AnswerNews  # is told once the answer has its place in the chat
    key: str  # the client's key, whose next request waits for this
    _writing: asyncio.Task[None] | None = field(default=None, init=False)

    def start(self) -> None:
        """Begin to store it; further calls change nothing."""
        if self.plan is None:
            self.news.begin()
        elif self._writing is None:
            self._writing = asyncio.create_task(self._write(self.plan))

    async def stored(self) -> None:
        """Wait until it is stored, or the disk has refused it; saving the answer reports that."""
        self.start()
        if self._writing is not None:
            await asyncio.wait([self._writing])

    async def _write(self, plan: RecordingPlan) -> None:
        ending = self.parts.pending_saves.begin(self.key)
        try:
            await asyncio.sleep(_FIRST_S)
            await plan.record()
        except SmartContextError as error:
            _logger.warning("chat %s: the question is not saved: %s", plan.chat.id, error)
        finally:
            ending.set_result(None)
        self.news.begin()


@dataclass(frozen=True, slots=True)
class PassedOn:
    """Nothing of it is kept."""


@dataclass(frozen=True, slots=True)
class Aside:
    """A request beside the chat: it has a receipt, and never enters the chat."""

    turn: Turn


@dataclass(frozen=True, slots=True)
class WithoutQuestion:
    """The chat follows the client's list, which ends with no question."""

    news: AnswerNews


@dataclass(frozen=True, slots=True)
class Answering:
    """A question of the chat, which is answered."""

    followed: Followed
    news: AnswerNews
    turn: Turn
    question: Question


State = PassedOn | Aside | WithoutQuestion | Answering


@dataclass(eq=False)
class Exchange:
    """A request and its answer."""

    parts: ExchangeParts  # the parts that exchanges share
    incoming: Incoming
    chat: FoundChat | None  # its chat; `None` for an aside without one
    _: KW_ONLY
    person: PersonId  # who asks
    endpoint: EndpointSettings | None  # the provider's, with the model; `None` if we answer
    model: str
    echoes: Echoes  # our keys, which are not stored or shown if the provider repeats them
    _is_live: bool = field(default=True, init=False)
    _state: State = field(default_factory=PassedOn, init=False)
    # what is asked, and the ids of the units in it; `None` if nothing of it may be changed
    _asked: tuple[Request, Sequence[str]] | None = field(default=None, init=False)
    _all_sent: list[Outgoing] = field(default_factory=list, init=False)  # the refused first
    _was_shortened: bool = field(default=False, init=False)  # after a refusal
    _closing: ExitStack = field(default_factory=ExitStack, init=False)
    _has_ended: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        self._live = EchoStream(self.echoes)

    @property
    def turn(self) -> Turn | None:
        """The pipeline's turn; `None` if there is none, or not yet."""
        return self._state.turn if isinstance(self._state, Aside | Answering) else None

    async def begin(self) -> Outgoing:
        """Record the request in its chat, and decide what is sent.

        Raises:
            SmartContextError: If the chat can't be written.
            TurnAborted: If a plugin stops the turn.
        """
        incoming, chat = self.incoming, self.chat
        if not incoming.units:
            return self._as_it_came()
        if chat is None or chat.is_aside:
            request, ids = request_of_units(incoming.units)
            if not incoming.is_held:
                self._asked = request, ids
            if chat is not None:
                self._state = Aside(self._aside(chat, request))
            return await self._sent()
        return await self._recorded(chat)

    def _as_it_came(self) -> Outgoing:
        incoming = self.incoming
        every = range(len(incoming.units))
        return outgoing(incoming.kind, incoming.body, incoming.units, every, brought_back={})

    async def _recorded(self, chat: FoundChat) -> Outgoing:
        """The body to send; all of the client's if there is no question."""
        incoming = self.incoming
        self._closing.enter_context(self.parts.turns.answering_client(ChatId(chat.id)))
        plan = await self.parts.chats.plan(incoming, chat, self.model)
        followed = plan.foreseen() if plan.goes_on else await plan.write()
        news = AnswerNews(self.parts.emit, followed.chat_id, followed.answer_id)
        self._state = WithoutQuestion(news)
        if followed.question is None:
            return self._as_it_came()
        turn = await self._turn(followed, followed.question)
        unwritten = plan if plan.goes_on else None
        question = Question(self.parts, unwritten, news, incoming.key)
        self._state = Answering(followed, news, turn, question)
        if not (incoming.is_off or incoming.is_held):
            await self._narrow(turn)
        if not incoming.is_held:
            self._asked = turn.request, followed.ids
        sent = await self._sent()
        question.start()
        return sent

    async def _sent(self) -> Outgoing:
        """The body to send, within the window of its model as far as that is known for certain."""
        completion = self.parts.pipeline.completion
        window = None if self.incoming.is_off else completion.certain_window(self.endpoint)
        return await self._within(window)

    async def _within(self, window: Window | None) -> Outgoing:
        if self._asked is None:
            sent = self._as_it_came()
        else:
            chosen, ids = self._asked
            order = self.parts.pipeline.completion.known.order(self.endpoint)
            asked = replace(chosen, is_of_client=True, order=order)
            request, sent = await within_window(asked, window, partial(self._made, ids))
            if request is not asked:
                self._asked = request, ids
                if self.turn is not None:
                    self.turn.shorten_to(request)
        self._all_sent.append(sent)
        return sent

    async def after_refusal(self, failure: ModelFailed) -> Outgoing | None:
        """The request to ask once more, after the provider has said why it refuses this one.

        It is shortened if it was too long, or has its messages in the order that is wanted; `None`
        if that is not why, or nothing can be done.
        """
        if self._asked is None or self.endpoint is None:
            return None
        known, order = self.parts.pipeline.completion.known, order_wanted(failure)
        if failure.too_long and not (self.incoming.is_off or self._was_shortened):
            return await self._shortened(failure.too_long, self.endpoint)
        if order > known.order(self.endpoint):
            await known.learn_order(self.endpoint, order)
            return await self._sent()
        return None

    async def _shortened(self, too_long: TooLong, endpoint: EndpointSettings) -> Outgoing | None:
        """The request without the oldest messages that don't fit; `None` if that is no less."""
        completion = self.parts.pipeline.completion
        refused = self._all_sent[-1]
        if too_long.asked:
            await self._learn_counts(too_long.asked)
        tokens = await asyncio.to_thread(tokens_of, refused, completion.counter(endpoint.model))
        await completion.known.learn(endpoint, too_long, tokens)
        window = completion.fitting_window(endpoint)
        if window is None or too_long == TooLong():
            return None
        sent = await self._within(window)
        if sent.text == refused.text:
            self._all_sent.pop()
            return None
        self._was_shortened = True
        if self.turn is not None:
            self.turn.refused_above = window.tokens
        return sent

    async def _learn_counts(self, counted: int) -> None:
        """Learn from the tokens that the provider counted in what it was sent last."""
        if self.endpoint is None or self._asked is None or not self._all_sent:
            return
        values, added = countable(self._all_sent[-1])
        if values:
            known = self.parts.pipeline.completion.known
            count = known.counter(self.endpoint.model)
            await asyncio.to_thread(prompt_tokens, values, count)  # remembers each text's count
            known.learn_counts(self.endpoint, values, added, counted)

    def headers(self) -> Headers:
        """Headers of the answer; see `answer_headers`."""
        chat_id = self.chat.id if self.chat else ""
        came = self.incoming.item_count
        out = self._all_sent[-1].count if self._all_sent else came
        return answer_headers(chat_id, self.turn, came, str(out))

    def arrived(self, text: str) -> None:
        """Send new text of the answer to pages; after a huge piece they get the rest at the end."""
        self._is_live = self._is_live and len(text) <= _LIVE_CHARACTERS
        if self._is_live and isinstance(self._state, WithoutQuestion | Answering):
            self._state.news.arrived(self._live.feed(text))

    def ends(self) -> None:
        """The client sees the end now, and may send its next request before it is saved."""
        if not self._has_ended and isinstance(self._state, WithoutQuestion | Answering):
            self._has_ended = True
            saving = self.parts.pending_saves.begin(self.incoming.key)
            self._closing.callback(saving.set_result, None)

    async def finish(self, outcome: Outcome) -> None:
        """Save the answer as far as it has arrived, and the receipt."""
        state = self._state
        with self._closing:
            if self.incoming.kind == "responses":
                for held in (outcome.gathered.response, outcome.gathered.conversation):
                    if held := self.echoes.text(held):
                        await self.parts.finder.note_held(self.incoming.key, held)
            if isinstance(state, Aside):
                await self._note(state.turn, outcome)
                answer = " ".join(outcome.gathered.first.said.split())
                self.parts.finder.note_aside(state.turn.chat_id, answer)
                await self.parts.pipeline.publish(PIPELINE_END, state.turn)
            elif isinstance(state, Answering):
                await self._save_answer(state, outcome)
        if isinstance(state, Answering):
            await self.parts.pipeline.conclude(state.turn)
            state.news.arrived(self._live.last() if self._is_live else "")
            state.news.end(state.turn)

    async def _save_answer(self, state: Answering, outcome: Outcome) -> None:
        turn, gathered = state.turn, outcome.gathered
        await self._note(turn, outcome)
        await state.question.stored()  # it begins here if nothing was sent
        turn.response = gathered.first.said or turn.response
        answers = answers_of(gathered, turn, model=self.model)
        await self._save(turn, answers)
        if not turn.error:
            rows = issued_answers(gathered, turn, answers)
            await self.parts.finder.note(self.incoming.key, *rows)

    async def _note(self, turn: Turn, outcome: Outcome) -> None:
        """Note in the turn what was sent, and how the answer ended."""
        gathered = outcome.gathered
        await asyncio.to_thread(gathered.clean, self.echoes)
        for sent in self._all_sent:
            await asyncio.to_thread(note_sent, turn, sent, self.echoes)
        if gathered.usage is not None and not gathered.error:
            await self._learn_counts(gathered.usage.prompt_tokens)
        turn.usage = gathered.usage
        turn.error = self.echoes.error(outcome.error) or gathered.error
        turn.error_code = outcome.error_code
        used = gathered.usage or (NOTHING_USED if turn.error else None)
        turn.usages = (*[NOTHING_USED for _ in turn.bodies[1:]], used) if turn.bodies else ()
        turn.stopped = outcome.is_stopped

    async def _turn(self, followed: Followed, question: Message) -> Turn:
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

    def _aside(self, chat: FoundChat, request: Request) -> Turn:
        question = Message(id=MessageId(""), role="user", content=_ASIDE_TEXT)
        turn = Turn(
            id=new_message_id(),
            chat_id=ChatId(chat.id),
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

    async def _narrow(self, turn: Turn) -> None:
        await self.parts.pipeline.prepare(turn)
        if turn.aborted:
            raise TurnAborted(turn.abort_reason)

    def _made(self, ids: Sequence[str], request: Request) -> Outgoing:
        """The body with what a request chooses, in the order that the provider wants."""
        incoming = self.incoming
        if incoming.is_off:
            made = self._as_it_came()
        else:
            made = outgoing(
                incoming.kind,
                incoming.body,
                incoming.units,
                kept_units(incoming.units, ids, {message.id for message in request.history}),
                brought_back=brought_back(request.history, ids, incoming.question),
                system=request.system_prompt.strip(),
            )
        return in_speaking_order(made, request.order)

    async def _save(self, turn: Turn, answers: Sequence[JsonObject]) -> None:
        try:
            await self.parts.chats.put(turn.chat_id, answers)
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

"""A message of a page as the source of a turn: its question, and how its answer is kept."""

import asyncio
import logging
import secrets
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field, replace
from datetime import UTC, datetime

from smart_context.base.errors import ChatBusy, CommandFailed, SmartContextError
from smart_context.base.threads import run_uncancelled
from smart_context.base.times import utc_stamp
from smart_context.base.values import JsonObject, PersonId
from smart_context.base.waiting import waited_for
from smart_context.chat.documents.document import Since, since_message
from smart_context.chat.ids import new_message_id
from smart_context.chat.messages import Arrived, ChatId, Message, MessageId
from smart_context.host.events.events import Emit
from smart_context.host.models import HistoryBuilder, choice_in, choose
from smart_context.host.request.request import Request, attached_to
from smart_context.host.tasks import TaskOwner
from smart_context.host.turn import Turn
from smart_context.host.turns import transcript
from smart_context.host.turns.arriving import AnswerNews, ArrivingAnswer
from smart_context.host.turns.driving import noting_failures
from smart_context.host.turns.pipeline import Pipeline
from smart_context.host.turns.unsaved import UnsavedAnswers
from smart_context.llm.models import hearing_waits
from smart_context.llm.offline.stored import stored_answer
from smart_context.storage.ports import AnswerClaimed, AnswerJournal, Storage

_KEPT = "The server keeps it and saves it as soon as it can."

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnParts:
    """The parts that every turn needs."""

    storage: Storage  # of all people; a turn uses the part of its person
    unsaved: UnsavedAnswers  # keeps answers that the disk refused
    pipeline: Pipeline  # takes a turn through its phases
    build_history: HistoryBuilder  # makes a history from stored messages
    emit: Emit  # tells clients
    system_prompt: str  # the system prompt of each turn, which plugins may change
    after: Callable[[Turn], None]  # called when a turn is over and clients were told
    # owns the tasks, and ends them
    tasks: TaskOwner = field(default_factory=lambda: TaskOwner("turns", is_waited_for=True))
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)  # returns the current time, in UTC

    def now(self) -> str:
        """The current time, in the form that messages have."""
        return utc_stamp(self.clock())


@dataclass(eq=False)
class PageSource:
    """The source of a page's turn; see `Turns.take`."""

    parts: TurnParts
    chat_id: ChatId
    write_question: Callable[[JsonObject], Message]
    _: KW_ONLY
    person: PersonId
    since: Since
    streaming: bool
    model: str
    what_fits: bool
    answer: ArrivingAnswer = field(init=False)  # the answer so far
    failure: Exception | None = field(default=None, init=False)
    _created_at: str = field(init=False)
    _turn: Turn | None = field(default=None, init=False)
    _asking: asyncio.Task[None] | None = field(default=None, init=False)
    _stop_requested: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        self._storage = self.parts.storage.for_person(self.person)
        news = AnswerNews(self.parts.emit, self.chat_id, new_message_id())
        journal = self.parts.storage.answers.journal(self.chat_id, news.message_id)
        self.answer = ArrivingAnswer(news, journal, self.streaming)
        self._created_at = self.parts.now()

    @property
    def message_ids(self) -> list[MessageId]:
        """The ids of question and answer; only the answer's before the question is saved."""
        question = [self._turn.question.id] if self._turn else []
        return [*question, self.answer.news.message_id]

    def stop(self) -> None:
        """Stop asking the model; the text so far is kept."""
        self._stop_requested = True
        if self._asking is not None:
            self._asking.cancel()

    async def begin(self) -> Turn:
        """Save the question and the place of its answer, and make the turn."""
        await self.parts.unsaved.save(self.chat_id)
        left = await _claimed(self.answer.journal)
        place = transcript.answer_place(
            self.answer.news.message_id,
            self._created_at,
            is_extracted=self.parts.pipeline.has_no_model,
        )

        questions: list[Message] = []
        choices: list[str] = []
        brought: list[str] = []

        def write(document: JsonObject) -> None:
            if left is not None:
                transcript.restore_partial_answer(document, left)
            transcript.end_unfinished(document)
            choices[:] = [self.model or choice_in(document)]
            questions[:] = [self.write_question(document)]
            brought[:] = [stored_answer(document, questions[0].text)]
            transcript.append(document, place)

        await self._storage.chats.update(self.chat_id, write, since=self.since)
        choose(choices[0])
        await run_uncancelled(self.answer.journal.reserve)
        question = questions[0]
        turn = self._turn = Turn(
            id=secrets.token_hex(4),
            chat_id=self.chat_id,
            person=self.person,
            question=question,
            answer_id=place.id,
            request=Request(
                message=question.text,
                files=question.files,
                system_prompt=self.parts.system_prompt,
            ),
            streaming=self.streaming,
        )
        turn.sends_what_fits = self.what_fits
        turn.stored_answer = brought[0]
        self.answer.news.begin()
        _logger.info("turn %s begins in chat %s", turn.id, turn.chat_id)
        return turn

    async def ask(self, turn: Turn) -> None:
        """Ask the model until it has answered or the user stops it."""
        await self._ask_until_stopped(turn)
        if turn.response is not None and not (turn.error or turn.aborted):
            await self.parts.pipeline.post_process(turn)

    async def save(self, turn: Turn) -> None:
        """Save the answer; one that the disk refuses is kept until it is saved."""
        answer = transcript.answer_of(
            turn, arrived=self.answer.text_after_steps, created_at=self._created_at
        )
        try:
            await self._storage.chats.update(
                turn.chat_id,
                lambda document: transcript.put(document, answer),
                since=since_message(answer.id),
                creates=False,
            )
        except CommandFailed as gone:
            turn.error = turn.error or "The chat was deleted before its answer was complete."
            self.failure = self.failure or gone
            self.answer.journal.finish()
            self.answer.tell_unsaved("")
        except SmartContextError as error:
            turn.error = turn.error or f"The answer could not be saved: {error} {_KEPT}"
            self.failure = self.failure or error
            self.answer.tell_unsaved(turn.error)
            self.parts.unsaved.keep(turn.chat_id, answer, self.answer.journal, turn.error)
        else:
            self.answer.journal.finish()
            self.answer.tell_unsaved("")

    async def conclude(self, turn: Turn) -> None:
        """Tell plugins that the turn is over; an answer that they change is saved again."""
        saved = turn.response
        await self.parts.pipeline.conclude(turn)
        if turn.response != saved and not turn.error:
            await self.save(turn)

    def close(self) -> None:
        """Leave the journal for a repair."""
        self.answer.journal.close()

    def tell_the_end(self, turn: Turn) -> None:
        """Tell clients how the turn ended."""
        outcome = "failed" if turn.error else "stopped" if turn.stopped else "finished"
        _logger.info("turn %s %s: %d characters", turn.id, outcome, self.answer.length)
        self.answer.news.end(turn)
        self.parts.after(turn)

    async def _ask_until_stopped(self, turn: Turn) -> None:
        """Ask in a separate task, so that a stop ends only the request."""
        self._asking = self.parts.tasks.spawn(self._ask_model(turn))
        if self._stop_requested:
            self._asking.cancel()
        await asyncio.wait([self._asking])
        turn.stopped = self._asking.cancelled() and not turn.error
        if turn.stopped:
            turn.response = self.answer.text_after_steps or None

    async def _ask_model(self, turn: Turn) -> None:
        with noting_failures(self, turn):
            turn.request = await self._with_history(turn)
            with hearing_waits(self.answer.tell_wait), waited_for():
                await self.parts.pipeline.ask(turn, self.answer.heard)

    async def _with_history(self, turn: Turn) -> Request:
        """The request with the messages up to the question, and the texts attached to that."""
        question = turn.question
        stored = await self._storage.chats.messages(self.chat_id)
        places = [place for place, message in enumerate(stored) if message.id == question.id]
        asked = stored[: places[0] + 1] if places else (*stored, question)
        built = await self.parts.build_history(asked, files=self._storage.blobs)
        sent = next((message for message in built if message.id == question.id), question)
        return replace(
            turn.request,
            history=tuple(message for message in built if message.id != question.id),
            message=sent.text,
            attached_text=attached_to(sent, question.text),
        )


async def _claimed(journal: AnswerJournal) -> Arrived | None:
    """Claim the chat's next answer; returns the unfinished answer of a killed process, if any.

    Raises:
        ChatBusy: If another process is answering.
    """
    try:
        return await run_uncancelled(journal.claim)
    except AnswerClaimed:
        raise ChatBusy(
            "this chat is being answered by another server; wait for it, or stop it there"
        ) from None

"""Runs turns: one at a time per chat, saved before the model is asked and after it answered."""

import asyncio
import logging
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from smart_context.chat.answers.claim import AnswerClaimed
from smart_context.chat.answers.journal import ANSWER_SUFFIX, AnswerJournal, Arrived
from smart_context.chat.messages import ChatId, Message, MessageId
from smart_context.chat.store import ChatStore
from smart_context.errors import CommandFailed, ModelFailed, SmartContextError
from smart_context.host.events import (
    CHAT_FAILED,
    CHAT_FINISHED,
    CHAT_STARTED,
    CHAT_TOKEN,
    CHAT_TOOL,
    Event,
)
from smart_context.host.request.histories import HistoryBuilder
from smart_context.host.request.request import attached_to
from smart_context.host.tasks import TaskOwner
from smart_context.host.turn import Turn
from smart_context.host.turns import transcript
from smart_context.host.turns.pipeline import Pipeline
from smart_context.host.turns.unsaved import UnsavedAnswers
from smart_context.threads import to_end
from smart_context.values import JsonObject

Emit = Callable[[Event[Any], Mapping[str, Any]], None]

STOP_TIMEOUT_S = 10.0
_KEPT = "The server keeps it and saves it as soon as it can."

_logger = logging.getLogger(__name__)


@dataclass(slots=True, kw_only=True, eq=False)
class Answering:
    """A turn that is under way.

    Attributes:
        chat_id: Its chat.
        message_id: The id of the answer.
        streaming: Whether clients get it piece by piece.
        created_at: When it began.
        asked: The stored messages up to the question.
        journal: Keeps what has arrived through a crash.
        pieces: What has arrived of the answer.
        length: How many characters that is.
        settled: How many of the pieces belong to steps of the turn, not to its answer.
        steps: How many steps of the turn are journalled and told.
        failure: Why the turn failed, for the caller.
    """

    chat_id: ChatId
    message_id: MessageId
    streaming: bool
    created_at: str
    journal: AnswerJournal
    asked: tuple[Message, ...] = ()
    pieces: list[str] = field(default_factory=list)
    length: int = 0
    settled: int = 0
    steps: int = 0
    turn: Turn | None = None
    failure: SmartContextError | None = None
    asking: asyncio.Task[None] | None = None
    task: asyncio.Task[None] | None = None
    stop_requested: bool = False

    @property
    def text(self) -> str:
        """What has arrived."""
        return "".join(self.pieces)

    @property
    def answer(self) -> str:
        """What has arrived since the last step."""
        return "".join(self.pieces[self.settled :])

    def stop(self) -> None:
        """Ask no more; what has arrived is kept."""
        self.stop_requested = True
        if self.asking is not None:
            self.asking.cancel()


class Turns:
    """Starts, stops and saves turns.

    Args:
        store: Where chats are kept.
        pipeline: Takes a turn through its phases.
        build_history: Makes a history from the stored messages.
        emit: Tells clients.
        system_prompt: What each turn begins with; plugins may change it.
        after: Called when a turn is over and told.
        clock: The time now, in UTC.
    """

    def __init__(
        self,
        *,
        store: ChatStore,
        pipeline: Pipeline,
        build_history: HistoryBuilder,
        emit: Emit,
        system_prompt: str = "",
        after: Callable[[Turn], None] = lambda _turn: None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._store = store
        self._pipeline = pipeline
        self._build_history = build_history
        self._emit = emit
        self._system_prompt = system_prompt
        self._after = after
        self._clock = clock
        self._tasks = TaskOwner("turns")
        self._unsaved = UnsavedAnswers(store)
        self._under_way: dict[ChatId, Answering] = {}

    def under_way(self, chat_id: ChatId) -> Answering | None:
        """The turn that a chat is having; `None` when it is quiet."""
        return self._under_way.get(chat_id)

    async def save_unsaved(self, chat_id: ChatId) -> None:
        """Save the chat's last answer, if the disk has refused it.

        Raises:
            SmartContextError: If it still does.
        """
        await self._unsaved.save(chat_id)

    def now(self) -> str:
        """The time as messages carry it."""
        return self._clock().strftime("%Y-%m-%dT%H:%M:%SZ")

    def new_message(
        self,
        text: str,
        files: Sequence[JsonObject] = (),
        links: Sequence[JsonObject] = (),
    ) -> Message:
        """A user's message that is not stored yet."""
        return Message(
            id=_new_id(),
            role="user",
            content=text,
            created_at=self.now(),
            files=tuple(files),
            links=tuple(links),
        )

    async def take(
        self, chat_id: ChatId, ask: Callable[[JsonObject], Message], *, streaming: bool
    ) -> list[MessageId]:
        """Take one turn; goes on in the background if the caller goes away.

        Args:
            chat_id: The chat.
            ask: Changes the chat's document so that the question is its last message, and gives
                the question.
            streaming: Whether clients get the answer piece by piece.

        Returns:
            The ids of question and answer, when the turn is over and saved.

        Raises:
            CommandFailed: If the chat is having a turn already.
            SmartContextError: Why the turn failed; what there is of it is saved.
        """
        if chat_id in self._under_way:
            raise CommandFailed("this chat is still being answered; stop that first, or wait")
        message_id = _new_id()
        answering = Answering(
            chat_id=chat_id,
            message_id=message_id,
            streaming=streaming,
            created_at=self.now(),
            journal=AnswerJournal(self._store.place(chat_id, ANSWER_SUFFIX), message_id),
        )
        self._under_way[chat_id] = answering
        answering.task = self._tasks.spawn(self._run(answering, ask))
        await asyncio.shield(answering.task)
        if answering.failure is not None:
            raise answering.failure
        return _ids(answering)

    async def stop(self, chat_id: ChatId) -> bool:
        """Stop a chat's turn and wait until what had arrived is saved; whether there was one."""
        answering = self._under_way.get(chat_id)
        if answering is None or answering.task is None:
            return False
        answering.stop()
        await asyncio.wait([answering.task], timeout=STOP_TIMEOUT_S)
        return True

    async def close(self, timeout_s: float) -> None:
        """Stop all turns, saving what had arrived, within the time given."""
        tasks = [answering.task for answering in self._under_way.values() if answering.task]
        for answering in self._under_way.values():
            answering.stop()
        if tasks:
            await asyncio.wait(tasks, timeout=timeout_s)
        await self._tasks.close()
        await self._unsaved.close()

    async def _run(self, answering: Answering, ask: Callable[[JsonObject], Message]) -> None:
        try:
            turn = answering.turn = await self._begin(answering, ask)
        except SmartContextError as error:
            answering.failure = error
            return
        finally:
            if answering.turn is None:
                answering.journal.close()
                del self._under_way[answering.chat_id]
        try:
            await self._go_through(answering, turn)
        except BaseException:
            turn.error = turn.error or transcript.INTERRUPTED
            answering.journal.close()
            raise
        finally:
            del self._under_way[answering.chat_id]
            self._tell_the_end(answering, turn)

    async def _begin(self, answering: Answering, ask: Callable[[JsonObject], Message]) -> Turn:
        """Save the question and the place of its answer."""
        await self._unsaved.save(answering.chat_id)
        left = await _claimed(answering.journal)
        questions: list[Message] = []

        def write(document: JsonObject) -> None:
            if left is not None:
                transcript.put_back(document, left)
            transcript.end_unfinished(document)
            questions[:] = [ask(document)]
            transcript.append(document, self._answer(answering, generating=True))

        await self._store.update(answering.chat_id, write)
        question = questions[0]
        turn = Turn(
            id=secrets.token_hex(4),
            chat_id=answering.chat_id,
            question=question,
            answer_id=answering.message_id,
            message=question.text,
            original_message=question.text,
            system_prompt=self._system_prompt,
            streaming=answering.streaming,
        )
        stored = await self._store.messages(answering.chat_id)
        places = [at for at, message in enumerate(stored) if message.id == question.id]
        answering.asked = stored[: places[0] + 1] if places else (*stored, question)
        self._emit(CHAT_STARTED, {"chat_id": answering.chat_id, "message_id": answering.message_id})
        _logger.info("turn %s begins in chat %s", turn.id, turn.chat_id)
        return turn

    async def _go_through(self, answering: Answering, turn: Turn) -> None:
        answering.asking = self._tasks.spawn(self._ask(answering, turn))
        if answering.stop_requested:
            answering.asking.cancel()
        await asyncio.wait([answering.asking])
        turn.stopped = answering.asking.cancelled() and not turn.error
        if turn.stopped:
            turn.response = answering.answer or None
        if turn.response is not None and not (turn.error or turn.aborted):
            await self._pipeline.post_process(turn)
        await self._save(answering, turn)
        saved = turn.response
        await self._pipeline.conclude(turn)
        if turn.response != saved and not turn.error:
            await self._save(answering, turn)

    async def _ask(self, answering: Answering, turn: Turn) -> None:
        try:
            built = await self._build_history(answering.asked)
            turn.history = [message for message in built if message.id != turn.question.id]
            sent = next((m for m in built if m.id == turn.question.id), turn.question)
            turn.message, turn.attached = sent.text, attached_to(sent, turn.question.text)
            await self._pipeline.ask(
                turn,
                lambda text: self._arrived(answering, text),
                lambda: self._stepped(answering, turn),
            )
        except SmartContextError as error:
            turn.error = str(error)
            turn.error_code = (error.status or 0) if isinstance(error, ModelFailed) else 0
            answering.failure = error
        except Exception:
            _logger.exception("turn %s failed", turn.id)
            turn.error = "The turn failed unexpectedly; the log says more. Try again."
            answering.failure = CommandFailed(turn.error)

    def _arrived(self, answering: Answering, text: str) -> None:
        answering.pieces.append(text)
        answering.journal.append(text)
        offset, answering.length = answering.length, answering.length + len(text)
        if answering.streaming:
            self._emit(
                CHAT_TOKEN,
                {
                    "chat_id": answering.chat_id,
                    "message_id": answering.message_id,
                    "offset": offset,
                    "text": text,
                },
            )

    def _stepped(self, answering: Answering, turn: Turn) -> None:
        answering.settled = len(answering.pieces)
        new = turn.steps[answering.steps :]
        answering.steps = len(turn.steps)
        answering.journal.step(new)
        for step in new:
            if step["type"] == "tool_call":
                news = {"chat_id": answering.chat_id, "message_id": answering.message_id}
                self._emit(CHAT_TOOL, {**news, "call": step})

    async def _save(self, answering: Answering, turn: Turn) -> None:
        message = self._answer(answering, turn)
        try:
            await self._store.update(
                turn.chat_id, lambda document: transcript.put(document, message)
            )
        except SmartContextError as error:
            turn.error = turn.error or f"The answer could not be saved: {error} {_KEPT}"
            answering.failure = answering.failure or error
            self._unsaved.keep(turn.chat_id, message, answering.journal)
        else:
            answering.journal.finish()

    def _answer(
        self, answering: Answering, turn: Turn | None = None, *, generating: bool = False
    ) -> Message:
        """The answer as it is stored."""
        is_stopped = turn is not None and turn.stopped
        return Message(
            id=answering.message_id,
            role="assistant",
            content="" if turn is None else _content(turn, answering.answer),
            created_at=answering.created_at,
            generating=generating,
            error=turn.error if turn else "",
            error_code=turn.error_code if turn else 0,
            extra={"stopped": True} if is_stopped else {},
        )

    def _tell_the_end(self, answering: Answering, turn: Turn) -> None:
        outcome = "failed" if turn.error else "stopped" if turn.stopped else "finished"
        _logger.info("turn %s %s: %d characters", turn.id, outcome, answering.length)
        if turn.error:
            self._emit(CHAT_FAILED, {"chat_id": turn.chat_id, "error": turn.error})
        else:
            self._emit(CHAT_FINISHED, {"chat_id": turn.chat_id, "message_ids": _ids(answering)})
        self._after(turn)


async def _claimed(journal: AnswerJournal) -> Arrived | None:
    """What a killed process left of its answer in the chat; the next answer is ours.

    Raises:
        CommandFailed: If another process is answering.
    """
    try:
        return await to_end(journal.claim)
    except AnswerClaimed:
        raise CommandFailed(
            "this chat is being answered by another server; wait for it, or stop it there"
        ) from None


def _content(turn: Turn, arrived: str) -> str | tuple[Mapping[str, Any], ...]:
    """What is stored of an answer: its text, after the steps that led to it."""
    text = arrived if turn.error else turn.response or ""
    notice = () if text or turn.error else _notice(turn)
    if not turn.steps:
        return notice or text
    return (*turn.steps, *notice, *([{"type": "text", "text": text}] if text else ()))


def _notice(turn: Turn) -> tuple[Mapping[str, Any], ...]:
    """What stands in place of an answer that never came."""
    text = turn.abort_reason or "Stopped before an answer came."
    return ({"type": "info", "text": text},)


def _ids(answering: Answering) -> list[MessageId]:
    question = [answering.turn.question.id] if answering.turn else []
    return [*question, answering.message_id]


def _new_id() -> MessageId:
    return MessageId(secrets.token_hex(6))

"""An answer as it arrives: journalled, sent to clients, kept until it is saved."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from smart_context.base.values import JsonObject
from smart_context.chat.messages import ChatId, MessageId, Part
from smart_context.host.events.events import (
    CHAT_FAILED,
    CHAT_FINISHED,
    CHAT_READING,
    CHAT_STARTED,
    CHAT_THOUGHT,
    CHAT_TOKEN,
    CHAT_TOOL,
    CHAT_UNSAVED,
    CHAT_WAITING,
    CHAT_WAS_THOUGHT,
    Emit,
    Event,
)
from smart_context.host.turn import Turn
from smart_context.host.turns.rounds import AnswerListeners
from smart_context.llm.models import ReadingProgress
from smart_context.storage.ports import AnswerJournal


@dataclass(slots=True)
class AnswerNews:
    """Sends events about an answer; text waits until the answer's place is stored."""

    emit: Emit
    chat_id: ChatId
    message_id: MessageId
    _waiting: list[str] = field(default_factory=list, init=False)
    _length: int = field(default=0, init=False)
    _has_begun: bool = field(default=False, init=False)

    def begin(self) -> None:
        """Announce that the answer has its place in the chat; further calls do nothing."""
        if not self._has_begun:
            self._has_begun = True
            self.tell(CHAT_STARTED)
            self.arrived("")

    def arrived(self, text: str) -> None:
        """Announce more text of the answer, or keep it until `begin`."""
        self._waiting.append(text)
        if not self._has_begun:
            return
        text = "".join(self._waiting)
        self._waiting.clear()
        offset, self._length = self._length, self._length + len(text)
        if text:
            self.tell(CHAT_TOKEN, offset=offset, text=text)

    def tell(self, event: Event[Any], **news: object) -> None:
        """Send an event that names the answer."""
        self.emit(event, {"chat_id": self.chat_id, "message_id": self.message_id, **news})

    def tell_unsaved(self, problem: str) -> None:
        """Tell clients why the answer is not saved; an empty reason tells that it is."""
        self.emit(CHAT_UNSAVED, {"chat_id": self.chat_id, "problem": problem})

    def end(self, turn: Turn) -> None:
        """Announce that the answer is saved or has failed."""
        if turn.error:
            self.emit(CHAT_FAILED, {"chat_id": self.chat_id, "error": turn.error})
        else:
            ids = [turn.question.id, turn.answer_id]
            self.emit(CHAT_FINISHED, {"chat_id": self.chat_id, "message_ids": ids})


@dataclass(slots=True)
class ArrivingAnswer:
    """The text of one answer so far."""

    news: AnswerNews
    journal: AnswerJournal
    streaming: bool  # True if clients get it piece by piece
    length: int = field(default=0, init=False)
    # why it is not wholly saved, as clients were told; empty if it is
    problem: str = field(default="", init=False)
    _pieces: list[str] = field(default_factory=list, init=False)
    _pieces_in_steps: int = field(default=0, init=False)
    _known_steps: int = field(default=0, init=False)
    _reading: ReadingProgress | None = field(default=None, init=False)
    _reading_since: float = field(default=0.0, init=False)

    @property
    def heard(self) -> AnswerListeners:
        """The listeners that take the pieces of the answer."""
        return AnswerListeners(
            text=self._add_text,
            steps=self._add_steps,
            thought=self._tell_thought,
            reading=self._tell_reading,
            was_thought=self._take_back,
        )

    @property
    def so_far(self) -> JsonObject:
        """The answer so far, for a page that has missed its pieces."""
        shown: JsonObject = {"message_id": self.news.message_id, "text": self.text}
        if self._reading is None:
            return shown
        return {**shown, "reading": _told(self._reading, time.monotonic() - self._reading_since)}

    @property
    def text(self) -> str:
        """The whole text so far."""
        return "".join(self._pieces)

    @property
    def text_after_steps(self) -> str:
        """The text since the last step."""
        return "".join(self._pieces[self._pieces_in_steps :])

    def _add_text(self, text: str) -> None:
        self._reading = None
        self._pieces.append(text)
        self.journal.append(text)
        if self.streaming:
            self.news.arrived(text)
        self.length += len(text)
        self.tell_unsaved(self.journal.problem)

    def _tell_thought(self, text: str) -> None:
        """Show clients the model's thoughts; once complete, they are stored as a step."""
        self._reading = None
        self.news.tell(CHAT_THOUGHT, text=text)

    def _tell_reading(self, reading: ReadingProgress, seconds: float) -> None:
        """Tell clients the tokens that the model reads before it answers, and its progress."""
        self._reading = reading
        self._reading_since = time.monotonic() - seconds
        self.news.tell(CHAT_READING, **_told(reading, seconds))

    def _take_back(self, text: str) -> None:
        """Tell clients that the last text they show was a thought; it becomes a step."""
        if self.streaming:
            since = self.length - len(text)
            self.news.tell(CHAT_WAS_THOUGHT, since=since, until=self.length)

    def tell_wait(self, seconds: float) -> None:
        """Tell clients that the model is busy, and when it is asked again."""
        self.news.tell(CHAT_WAITING, seconds=round(seconds, 1))

    def _add_steps(self, steps: Sequence[Part]) -> None:
        self._pieces_in_steps = len(self._pieces)
        new = steps[self._known_steps :]
        self._known_steps = len(steps)
        self.journal.step(new)
        for step in new:
            if step["type"] == "tool_call":
                self.news.tell(CHAT_TOOL, call=step)
        self.tell_unsaved(self.journal.problem)

    def tell_unsaved(self, problem: str) -> None:
        """Tell clients why the answer is not saved, or that it is, if that has changed."""
        if problem != self.problem:
            self.problem = problem
            self.news.tell_unsaved(problem)


def _told(reading: ReadingProgress, seconds: float) -> JsonObject:
    """The reading progress of a model for clients, with the seconds since it began."""
    return {"tokens": reading.tokens, "percent": reading.percent, "seconds": round(seconds, 1)}

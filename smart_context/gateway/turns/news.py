"""Sends a client's answer to pages while it arrives."""

from smart_context.gateway.turns.document import Followed
from smart_context.host.events.events import (
    CHAT_FAILED,
    CHAT_FINISHED,
    CHAT_STARTED,
    CHAT_TOKEN,
    Emit,
)
from smart_context.host.turn import Turn


class AnswerNews:
    """Sends events about an answer; text waits until the answer's place is stored.

    Args:
        emit: Sends events to pages.
        followed: The chat and its answer.
    """

    def __init__(self, emit: Emit, followed: Followed) -> None:
        self._emit = emit
        self._followed = followed
        self._waiting: list[str] = []
        self._length = 0
        self._has_begun = False

    def begin(self) -> None:
        """The answer has its place in the chat; further calls change nothing."""
        if self._has_begun:
            return
        self._has_begun = True
        chat_id, answer_id = self._followed.chat_id, self._followed.answer_id
        self._emit(CHAT_STARTED, {"chat_id": chat_id, "message_id": answer_id})
        self.arrived("")

    def arrived(self, text: str) -> None:
        """More of the answer has arrived."""
        self._waiting.append(text)
        if not self._has_begun:
            return
        text = "".join(self._waiting)
        self._waiting.clear()
        offset, self._length = self._length, self._length + len(text)
        if text:
            chat_id, answer_id = self._followed.chat_id, self._followed.answer_id
            place = {"chat_id": chat_id, "message_id": answer_id, "offset": offset}
            self._emit(CHAT_TOKEN, {**place, "text": text})

    def end(self, turn: Turn) -> None:
        """The answer is saved, or has failed."""
        chat_id = self._followed.chat_id
        if turn.error:
            self._emit(CHAT_FAILED, {"chat_id": chat_id, "error": turn.error})
        else:
            ids = [turn.question.id, turn.answer_id]
            self._emit(CHAT_FINISHED, {"chat_id": chat_id, "message_ids": ids})

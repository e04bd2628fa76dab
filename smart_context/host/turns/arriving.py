"""An answer as it arrives: journalled, sent to clients, kept until it is saved."""

from collections.abc import Sequence
from typing import Any

from smart_context.chat.messages import ChatId, MessageId, Part
from smart_context.host.events.events import (
    CHAT_THOUGHT,
    CHAT_TOKEN,
    CHAT_TOOL,
    CHAT_UNSAVED,
    Emit,
    Event,
)
from smart_context.storage.ports import AnswerJournal


class ArrivingAnswer:
    """The text of one answer so far.

    Args:
        chat_id: The chat.
        message_id: The id of the answer.
        journal: Keeps what has arrived through a crash.
        emit: Tells clients.
        streaming: Clients get it piece by piece.

    Attributes:
        problem: Why the disk does not hold all of it, as clients were told; empty if it does.
    """

    def __init__(
        self,
        chat_id: ChatId,
        message_id: MessageId,
        journal: AnswerJournal,
        emit: Emit,
        *,
        streaming: bool,
    ) -> None:
        self.chat_id = chat_id
        self.message_id = message_id
        self.journal = journal
        self.length = 0
        self.problem = ""
        self._emit = emit
        self._streaming = streaming
        self._pieces: list[str] = []
        self._pieces_in_steps = 0
        self._known_steps = 0

    @property
    def text(self) -> str:
        """All that has arrived."""
        return "".join(self._pieces)

    @property
    def text_after_steps(self) -> str:
        """What has arrived since the last step."""
        return "".join(self._pieces[self._pieces_in_steps :])

    def add_text(self, text: str) -> None:
        """Take the next piece."""
        self._pieces.append(text)
        self.journal.append(text)
        if self._streaming:
            self._tell(CHAT_TOKEN, offset=self.length, text=text)
        self.length += len(text)
        self.tell_unsaved(self.journal.problem)

    def tell_thought(self, text: str) -> None:
        """Show clients what the model thinks; it is kept once it is whole, as a step."""
        self._tell(CHAT_THOUGHT, text=text)

    def add_steps(self, steps: Sequence[Part]) -> None:
        """Take what the model did: all steps of the turn, which include the text so far."""
        self._pieces_in_steps = len(self._pieces)
        new = steps[self._known_steps :]
        self._known_steps = len(steps)
        self.journal.step(new)
        for step in new:
            if step["type"] == "tool_call":
                self._tell(CHAT_TOOL, call=step)
        self.tell_unsaved(self.journal.problem)

    def tell_unsaved(self, problem: str) -> None:
        """Tell clients why the disk does not hold the answer, or that it does, if that is news."""
        if problem != self.problem:
            self.problem = problem
            self._emit(CHAT_UNSAVED, {"chat_id": self.chat_id, "problem": problem})

    def _tell(self, event: Event[Any], **news: object) -> None:
        self._emit(event, {"chat_id": self.chat_id, "message_id": self.message_id, **news})

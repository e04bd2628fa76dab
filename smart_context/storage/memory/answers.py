"""The claims on chats' answers in memory, each with what has arrived."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from smart_context.chat.answers import Arrived
from smart_context.chat.ids import check_chat_id
from smart_context.chat.messages import ChatId, MessageId, Part
from smart_context.storage.memory.held import Held
from smart_context.storage.ports import AnswerClaimed

_KIND = "answer"


@dataclass(slots=True)
class _Journal:
    """What has arrived, and who is writing it; nobody after a close."""

    writer: object
    arrived: Arrived | None = None
    pieces: list[str] = field(default_factory=list)


class MemoryAnswers:
    """The journals beside the chats; satisfies `Answers`."""

    def __init__(self, held: Held) -> None:
        self._held = held

    def journal(self, chat_id: ChatId, message_id: MessageId) -> "MemoryJournal":
        """The journal of an answer, not yet claimed."""
        return MemoryJournal(self._held, check_chat_id(chat_id), message_id)

    def interrupted(self) -> Sequence[ChatId]:
        """The chats that have a journal which nobody is writing."""
        beside = self._held.beside.items()
        return [
            chat
            for chat, things in beside
            if (journal := things.get(_KIND)) is not None and journal.writer is None
        ]

    def arriving(self, chat_id: ChatId) -> Arrived | None:
        """What is in the journal of a chat's answer."""
        journal = self._held.beside[check_chat_id(chat_id)].get(_KIND)
        return _arrived(journal) if journal else None

    def take_over(self, chat_id: ChatId) -> "TakenOver | None":
        """Claim the answer of a chat to repair it; `None` if it is being written."""
        beside = self._held.beside[check_chat_id(chat_id)]
        journal = beside.setdefault(_KIND, _Journal(None))
        if journal.writer is not None:
            return None
        taken = TakenOver(beside, journal)
        journal.writer = taken
        return taken


class TakenOver:
    """A claimed journal that was left behind; satisfies `InterruptedAnswer`."""

    def __init__(self, beside: dict[object, object], journal: _Journal) -> None:
        self._beside = beside
        self._journal = journal
        self.arrived = _arrived(journal)

    def remove(self) -> None:
        """Remove it: the chat holds what there is."""
        if self._journal.writer is self:
            self._journal.writer = None
            self._beside.pop(_KIND, None)

    def release(self) -> None:
        """Let others claim the chat's answer; does nothing after `remove`."""
        if self._journal.arrived is None:
            self.remove()
        elif self._journal.writer is self:
            self._journal.writer = None


class MemoryJournal:
    """The pieces of one answer; satisfies `AnswerJournal`."""

    problem = ""

    def __init__(self, held: Held, chat: ChatId, message_id: MessageId) -> None:
        self._held = held
        self._chat = chat
        self._message_id = message_id
        self._is_over = False
        self._has_begun = False

    def claim(self) -> Arrived | None:
        """Keep others from answering in this chat; returns what was left of its last answer."""
        left = self._held.beside[self._chat].setdefault(_KIND, _Journal(self))
        if left.writer not in (None, self):
            raise AnswerClaimed(self._chat)
        left.writer = self
        return _arrived(left)

    def reserve(self) -> None:
        """Forget what was left."""
        if self._is_ours():
            self._begin()

    def append(self, text: str) -> None:
        """Write the next piece."""
        if text and self._is_written():
            self._kept().pieces.append(text)

    def step(self, parts: Sequence[Part]) -> None:
        """Write the parts that led to the answer; they replace the pieces so far."""
        if self._is_written():
            journal = self._kept()
            steps = journal.arrived.steps if journal.arrived else ()
            steps = (*steps, *(dict(part) for part in parts))
            journal.arrived = Arrived(self._message_id, "", steps)
            journal.pieces.clear()

    def flush(self) -> None:
        """Nothing is ever refused here."""

    def finish(self) -> None:
        """Remove the journal: the answer is in the chat."""
        self._is_over = True
        if self._is_ours():
            self._held.beside[self._chat].pop(_KIND, None)

    def close(self) -> None:
        """Stop journalling and leave what there is for the next start."""
        self._is_over = True
        if self._is_ours():
            journal = self._kept()
            journal.writer = None
            if journal.arrived is None:
                self._held.beside[self._chat].pop(_KIND, None)

    def _kept(self) -> _Journal:
        journal: _Journal = self._held.beside[self._chat][_KIND]
        return journal

    def _is_ours(self) -> bool:
        journal = self._held.beside[self._chat].get(_KIND)
        return journal is not None and journal.writer is self

    def _is_written(self) -> bool:
        """True if the next piece can be kept, which begins the journal."""
        if self._is_over:
            return False
        if not self._is_ours():
            journal = self._held.beside[self._chat].setdefault(_KIND, _Journal(self))
            if journal.writer not in (None, self):
                return False
            journal.writer = self
        if not self._has_begun:
            self._begin()
        return True

    def _begin(self) -> None:
        self._has_begun = True
        journal = self._kept()
        journal.arrived = Arrived(self._message_id, "")
        journal.pieces.clear()


def _arrived(journal: _Journal) -> Arrived | None:
    found = journal.arrived
    return found and found._replace(text="".join(journal.pieces))

"""What can be undone: the last choices of a user in each chat, in memory."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from cachetools import LRUCache

from smart_context.chat.messages import ChatId
from smart_context.plugin.choices.sidecar_files import ChatSidecar
from smart_context.plugin.choices.state import FilterState

MAX_STEPS = 100
MAX_CHATS = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One choice.

    Attributes:
        before: The side-car before the choice.
        after: The filter's state after it.
        public: The topics of the chat file before it; `None` if it was not about topics.
    """

    before: ChatSidecar
    after: FilterState
    public: tuple[Mapping[str, Any], ...] | None = None


class UndoSteps:
    """The last steps of each chat; the oldest steps and chats are forgotten."""

    def __init__(self) -> None:
        self._steps: LRUCache[ChatId, list[Step]] = LRUCache(MAX_CHATS)

    def record(self, chat_id: ChatId, before: ChatSidecar, after: FilterState) -> None:
        """Remember a choice."""
        self.push(chat_id, Step(before=before, after=after))

    def push(self, chat_id: ChatId, step: Step) -> None:
        """Remember a step."""
        self._steps[chat_id] = [*self._steps.get(chat_id, ()), step][-MAX_STEPS:]

    def pop(self, chat_id: ChatId) -> Step | None:
        """Remove and return the last step; `None` when there is none."""
        steps = self._steps.get(chat_id)
        return steps.pop() if steps else None

    def amend(self, chat_id: ChatId, public: tuple[Mapping[str, Any], ...]) -> None:
        """Add the topics of the chat file to the last step."""
        steps = self._steps.get(chat_id)
        if steps:
            steps[-1] = replace(steps[-1], public=public)

    def count(self, chat_id: ChatId) -> int:
        """The number of steps that can be undone."""
        return len(self._steps.get(chat_id, ()))

    def forget(self, chat_id: ChatId) -> None:
        """Forget the steps of a deleted chat."""
        self._steps.pop(chat_id, None)


def difference_in_words(now: FilterState, before: FilterState) -> str:
    """What a step back from one state to another changes; `nothing` if they are equal."""
    changes = {
        "the topics": now.edits != before.edits,
        "the filter": now.active_topics != before.active_topics
        or now.embedding_search != before.embedding_search,
        "pinned messages": now.pinned != before.pinned,
        "hidden messages": now.hidden != before.hidden,
        "the threshold": now.threshold != before.threshold,
        "the contexts": now.contexts != before.contexts,
        "the role": (now.role, now.role_targets) != (before.role, before.role_targets),
    }
    return next((words for words, has_changed in changes.items() if has_changed), "nothing")

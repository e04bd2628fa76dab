"""What can be undone: the last choices of a user in each chat."""

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from smart_context.chat.messages import ChatId
from smart_context.plugin.choices.sidecars import ChatSidecar
from smart_context.plugin.choices.state import FilterState

MAX_STEPS = 100
MAX_CHATS = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A choice: what was before it and after it.

    Attributes:
        before: What was kept next to the chat before it.
        after: The filter's state after it.
        public: The topics of the chat file; `None` if the choice was not about topics.
    """

    before: ChatSidecar
    after: FilterState
    public: tuple[Mapping[str, Any], ...] | None = None


class UndoSteps:
    """The last steps of each chat, in memory."""

    def __init__(self) -> None:
        self._steps: OrderedDict[ChatId, list[Step]] = OrderedDict()

    def push(self, chat_id: ChatId, step: Step) -> None:
        """Remember a step; the oldest ones are forgotten."""
        steps = self._steps.setdefault(chat_id, [])
        self._steps.move_to_end(chat_id)
        steps.append(step)
        del steps[:-MAX_STEPS]
        while len(self._steps) > MAX_CHATS:
            self._steps.popitem(last=False)

    def pop(self, chat_id: ChatId) -> Step | None:
        """The last step, which is forgotten; `None` when there is none."""
        steps = self._steps.get(chat_id)
        return steps.pop() if steps else None

    def amend(self, chat_id: ChatId, public: tuple[Mapping[str, Any], ...]) -> None:
        """The last step was about the topics, which were these."""
        steps = self._steps.get(chat_id)
        if steps:
            steps[-1] = replace(steps[-1], public=public)

    def count(self, chat_id: ChatId) -> int:
        """How many steps can be undone."""
        return len(self._steps.get(chat_id, ()))

    def forget(self, chat_id: ChatId) -> None:
        """The chat is gone."""
        self._steps.pop(chat_id, None)


def undone(now: FilterState, before: FilterState) -> str:
    """What a step back from one state to another changes, in words."""
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

"""The last choices of a user in each chat, kept in memory to be undone."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from cachetools import LRUCache

from smart_context.chat.messages import ChatId
from smart_context.plugin.choices.sidecar import ChatSidecar
from smart_context.plugin.choices.state import FilterState
from smart_context.topics.moves import Move, put_back
from smart_context.topics.values import Topic

MAX_STEPS = 100
MAX_CHATS = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicEdit:
    """An edit of a chat's topics.

    Attributes:
        before: The topics before it.
        after: The topics after it.
    """

    before: tuple[Topic, ...]
    after: tuple[Topic, ...]

    def undone(self, now: Sequence[Topic]) -> tuple[Topic, ...]:
        """The topics without the edit; those that were found since then stay."""
        if list(map(_shown, now)) == list(map(_shown, self.after)):
            return self.before
        old = {topic.label for topic in self.before}
        new = {topic.label for topic in self.after}
        label_of = {topic.id: topic.label for topic in self.before}
        renamed = {t.label: label_of[t.id] for t in self.after if t.id in label_of}
        kept = [
            replace(topic, label=renamed.get(topic.label, topic.label))
            for topic in now
            if topic.label in renamed or topic.label not in new - old
        ]
        labels = new | {topic.label for topic in kept}
        return (*kept, *(topic for topic in self.before if topic.label not in labels))


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicMoves:
    """Messages that an extraction moved between topics.

    Attributes:
        moves: The moves.
    """

    moves: tuple[Move, ...]

    def undone(self, now: Sequence[Topic]) -> tuple[Topic, ...]:
        """The topics with these messages where they were."""
        return put_back(now, self.moves)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One choice.

    Attributes:
        before: The side-car before the choice.
        after: The filter's state after it.
        topics: Its edit of the topics; `None` if it was not about topics.
    """

    before: ChatSidecar
    after: FilterState
    topics: TopicEdit | TopicMoves | None = None


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

    def amend(self, chat_id: ChatId, topics: TopicEdit) -> None:
        """Add the edit of the topics to the last step."""
        steps = self._steps.get(chat_id)
        if steps:
            steps[-1] = replace(steps[-1], topics=topics)

    def count(self, chat_id: ChatId) -> int:
        """The number of steps that can be undone."""
        return len(self._steps.get(chat_id, ()))

    def forget(self, chat_id: ChatId) -> None:
        """Forget the steps of a deleted chat."""
        self._steps.pop(chat_id, None)


def difference_in_words(now: FilterState, before: FilterState) -> str:
    """What undoing a step from `before` to `now` changes; `nothing` if they are equal."""
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


def _shown(topic: Topic) -> tuple[str, int, str]:
    return topic.label, topic.count, topic.id

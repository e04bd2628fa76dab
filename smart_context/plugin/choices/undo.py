"""The last choices of a user in each chat, kept in memory to be undone."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from cachetools import LRUCache

from smart_context.base.text.saying import said
from smart_context.base.text.scores import counted
from smart_context.base.values import OWNER, PersonId
from smart_context.chat.messages import ChatId, MessageId
from smart_context.plugin.choices.sidecars import ChatSidecar
from smart_context.plugin.choices.state import FilterState
from smart_context.topics.moves import Move, back_in, put_back
from smart_context.topics.values import Topic

MAX_STEPS = 100
MAX_CHATS = 64

UNKNOWN = "Last choice"
"""The words for a step whose own can't be made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicEdit:
    """An edit of a chat's topics."""

    before: tuple[Topic, ...]
    after: tuple[Topic, ...]

    def undone(self, now: Sequence[Topic]) -> tuple[Topic, ...]:
        """The topics without the edit; topics found since then stay."""
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
    """Messages that an extraction moved between topics."""

    moves: tuple[Move, ...]

    def undone(self, now: Sequence[Topic]) -> tuple[Topic, ...]:
        """The topics with these messages where they were."""
        return put_back(now, self.moves)


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """Messages that the user assigned to a topic, or to none."""

    before: tuple[Topic, ...]
    ids: frozenset[MessageId]
    words: str

    def undone(self, now: Sequence[Topic]) -> tuple[Topic, ...]:
        """The topics with these messages where they were."""
        return back_in(now, self.before, self.ids)


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """A summary or clearing that replaced messages of a chat."""

    message_id: MessageId
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoStep:
    """One choice."""

    before: ChatSidecar
    after: FilterState
    # its edit of the topics; `None` if it was not about topics
    topics: TopicEdit | TopicMoves | Assignment | None = None
    summary: Summary | None = None  # the summary that it made; `None` if it made none
    notes: tuple[str, ...] = ()  # the notes that it added to the chat's own context
    replaced: tuple[str, ...] = ()  # those that this context had before, while it was not sent

    @property
    def words(self) -> str:
        """A description of the step for users, such as `Cats renamed to Pets`."""
        return said(self._words, UNKNOWN)

    def _words(self) -> str:
        if self.summary is not None:
            return self.summary.words
        if isinstance(self.topics, Assignment):
            return self.topics.words
        if isinstance(self.topics, TopicMoves):
            return _moves_in_words(self.topics.moves)
        if self.notes:
            return f"{_listed(self.notes)} added"
        edit = _edit_in_words(self.topics) if self.topics is not None else ""
        return edit or _change_in_words(self.before.state, self.after)


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoPreview:
    """The steps of a chat that can be undone."""

    count: int = 0
    words: str = ""  # a description of the last step; empty if there is none
    moves: tuple[Move, ...] = ()  # the moves between topics, if these are the last step


class StepMemory:
    """The last steps of all people; the oldest chats are forgotten."""

    def __init__(self) -> None:
        self.steps: LRUCache[tuple[ChatId, PersonId], list[UndoStep]] = LRUCache(MAX_CHATS)

    def forget(self, chat_id: ChatId) -> None:
        """Forget the steps of a deleted chat."""
        for key in [key for key in self.steps if key[0] == chat_id]:
            self.steps.pop(key, None)


class UndoSteps:
    """One person's last steps in each chat; the oldest steps are forgotten."""

    def __init__(self, person: PersonId = OWNER, memory: StepMemory | None = None) -> None:
        self._person = person
        self._steps = (memory or StepMemory()).steps

    def record(self, chat_id: ChatId, before: ChatSidecar, after: FilterState) -> None:
        """Remember a choice."""
        self.push(chat_id, UndoStep(before=before, after=after))

    def push(self, chat_id: ChatId, step: UndoStep) -> None:
        """Remember a step."""
        key = self._key(chat_id)
        self._steps[key] = [*self._steps.get(key, ()), step][-MAX_STEPS:]

    def pop(self, chat_id: ChatId) -> UndoStep | None:
        """Remove and return the last step; `None` when there is none."""
        steps = self._steps.get(self._key(chat_id))
        return steps.pop() if steps else None

    def amend(
        self,
        chat_id: ChatId,
        topics: TopicEdit | Assignment | None = None,
        *,
        notes: tuple[str, ...] = (),
        replaced: tuple[str, ...] = (),
    ) -> None:
        """Add the edit of the topics, or the notes that were added, to the last step."""
        steps = self._steps.get(self._key(chat_id))
        if steps:
            steps[-1] = replace(steps[-1], topics=topics, notes=notes, replaced=replaced)

    def add_notes(self, chat_id: ChatId, now: ChatSidecar, notes: tuple[str, ...]) -> None:
        """Remember that notes were added to the chat's own context, which is attached."""
        self.push(chat_id, UndoStep(before=now, after=now.state, notes=notes))

    def drop_summary(self, chat_id: ChatId, message_id: MessageId) -> None:
        """Forget the step of a summary that was removed."""
        steps = self._steps.get(self._key(chat_id), ())
        kept = [s for s in steps if s.summary is None or s.summary.message_id != message_id]
        if len(kept) < len(steps):
            self._steps[self._key(chat_id)] = kept

    def undoable(self, chat_id: ChatId) -> UndoPreview:
        """The steps of a chat that can be undone."""
        steps = self._steps.get(self._key(chat_id))
        if not steps:
            return UndoPreview()
        moves = steps[-1].topics.moves if isinstance(steps[-1].topics, TopicMoves) else ()
        return UndoPreview(count=len(steps), words=steps[-1].words, moves=moves)

    def _key(self, chat_id: ChatId) -> tuple[ChatId, PersonId]:
        return chat_id, self._person


def difference_in_words(now: FilterState, before: FilterState) -> str:
    """The first part that undoing a step from `before` to `now` changes, or `nothing`."""
    changes = {
        "the topics": now.edits != before.edits,
        "the filter": now.active_topics != before.active_topics
        or now.embedding_search != before.embedding_search,
        "pinned messages": now.pinned != before.pinned,
        "hidden messages": now.hidden != before.hidden,
        "the threshold": now.threshold != before.threshold,
        "the contexts": now.contexts != before.contexts,
        "the recalls": now.recalls != before.recalls,
        "the role": (now.role, now.role_targets) != (before.role, before.role_targets),
    }
    return next((words for words, has_changed in changes.items() if has_changed), "nothing")


def _shown(topic: Topic) -> tuple[str, int, str]:
    return topic.label, topic.count, topic.id


def _moves_in_words(moves: Sequence[Move]) -> str:
    first = moves[0]
    count = counted(len(first.message_ids), "message")
    more = sum(len(move.message_ids) for move in moves[1:])
    where = f"moved from {first.origin.label} to {first.target.label}" if first.target else ""
    words = f"{count} {where}" if where else f"{count} left {first.origin.label}"
    return f"{words}, and {more:,} between other topics" if more else words


def _edit_in_words(edit: TopicEdit | TopicMoves) -> str:
    """The change of an edit to the topics, in words; empty if their names are the same."""
    if isinstance(edit, TopicMoves):
        return ""
    before = {topic.label: topic.id for topic in edit.before}
    after = {topic.label: topic.id for topic in edit.after}
    gone = [label for label in before if label not in after]
    new = [label for label in after if label not in before]
    if len(gone) == 1 and len(new) == 1 and before[gone[0]] == after[new[0]]:
        return f"{gone[0]} renamed to {new[0]}"
    counts = {topic.label: topic.count for topic in edit.before}
    grown = [topic.label for topic in edit.after if topic.count > counts.get(topic.label, 0)]
    if gone and grown:
        return f"{_listed(gone)} merged into {grown[0]}"
    if gone:
        return f"{_listed(gone)} deleted"
    return f"{_listed(new)} added" if new else ""


def _change_in_words(before: FilterState, after: FilterState) -> str:
    """The change of a step from `before` to `after`, in words."""
    if before.active_topics != after.active_topics:
        picked = [label for label in after.active_topics if label not in before.active_topics]
        left = [label for label in before.active_topics if label not in after.active_topics]
        if picked:
            return f"{_listed(picked)} picked"
        if left:
            return f"{_listed(left)} taken out" if after.active_topics else "Filter cleared"
    for name, words, undone in (
        ("pinned", "pinned", "unpinned"),
        ("hidden", "hidden", "shown again"),
        ("contexts", "attached", "detached"),
        ("recalls", "recalled", "no longer recalled"),
    ):
        old, new = getattr(before, name), getattr(after, name)
        if old == new:
            continue
        more, fewer = [i for i in new if i not in old], [i for i in old if i not in new]
        changed, verb = (more, words) if more else (fewer, undone)
        if changed:
            return f"{_named(name, changed)} {verb}"
    changes = {
        "Strictness changed": before.threshold != after.threshold,
        "Role changed": (before.role, before.role_targets) != (after.role, after.role_targets),
        "Filter switched off": before.embedding_search != after.embedding_search
        and after.embedding_search is False,
        "Filter switched on": before.embedding_search != after.embedding_search,
        "Files switched": before.file_tools != after.file_tools,
    }
    return next((words for words, has_changed in changes.items() if has_changed), UNKNOWN)


def _named(part: str, changed: Sequence[Any]) -> str:
    if part == "recalls":
        return _listed(recall.label for recall in changed)
    return _listed(changed) if part == "contexts" else counted(len(changed), "message")


def _listed(labels: Iterable[str]) -> str:
    """`A`, `A and B`, `A and 3 more`."""
    first, *others = labels
    if not others:
        return first
    return f"{first} and {others[0] if len(others) == 1 else f'{len(others):,} more'}"

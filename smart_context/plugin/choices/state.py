"""A user's choices for one chat: a frozen value with pure transitions.

It is stored next to the chat as `<chat_id>.filter.json`; see docs/filter.md.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeVar

from smart_context.base.errors import ChatIdInvalid, InvalidParams
from smart_context.base.values import OWNER, JsonObject, PersonId, text_in
from smart_context.chat.documents.choices import ACTIVE_TOPICS, FILE_TOOLS, HIDDEN, PINNED
from smart_context.chat.documents.document import MOST_MESSAGES
from smart_context.chat.ids import check_chat_id
from smart_context.chat.messages import ChatId, MessageId
from smart_context.plugin.choices.message_topics import MessageTopics, merged_topics
from smart_context.plugin.choices.topic_edits import MAX_LABEL_LENGTH, TopicEdits

MOST_REFERENCES = 2_000
"""The maximum number of messages that one recall refers to."""

LONGEST_LABEL = 120


class Reference(NamedTuple):
    """A message of another chat."""

    chat_id: ChatId
    message_id: MessageId


@dataclass(frozen=True, slots=True, kw_only=True)
class Recall:
    """Messages of other chats about something, attached to a chat."""

    id: str
    label: str
    max_tokens: int
    # the messages, best first; more than fit, since some may be deleted later
    references: tuple[Reference, ...]
    found: int  # the number of messages that the source had
    # where they came from, as the command got it
    source: Mapping[str, Any] = field(default_factory=dict)
    person: PersonId = OWNER  # the person who attached it: only messages that they may see are sent

    def to_dict(self) -> JsonObject:
        """The JSON object to store."""
        return {
            "id": self.id,
            "label": self.label,
            "max_tokens": self.max_tokens,
            "found": self.found,
            "source": dict(self.source),
            "person": self.person,
            "messages": [list(reference) for reference in self.references],
        }

    @classmethod
    def from_dict(cls, document: object) -> "Recall | None":
        """The recall from its JSON object; `None` if it is damaged."""
        match document:
            case {
                "id": str(id_),
                "label": str(label),
                "max_tokens": int(most),
                "messages": [*messages],
                **others,
            }:
                references = tuple(filter(None, map(_reference, messages[:MOST_REFERENCES])))
                found, source = others.get("found"), others.get("source")
                return cls(
                    id=id_,
                    label=label[:LONGEST_LABEL],
                    max_tokens=most,
                    references=references,
                    found=max(found if isinstance(found, int) else 0, len(references)),
                    source=source if isinstance(source, dict) else {},
                    person=PersonId(str(others.get("person", OWNER))),
                )
            case _:
                return None


def _reference(entry: object) -> Reference | None:
    match entry:
        case [str(chat), str(message)]:
            try:
                return Reference(check_chat_id(chat), MessageId(message))
            except ChatIdInvalid:
                return None
        case _:
            return None


T = TypeVar("T", bound=str)

MAX_LABELS = 64
MAX_CONTEXTS = 32
MAX_RECALLS = 16
MAX_TARGETS = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterState:
    """A user's choices for one chat."""

    # the selected labels, in the order in which they were picked
    active_topics: tuple[str, ...] = ()
    embedding_search: bool | None = None  # the similarity switch; `None` until the user touches it
    pinned: tuple[MessageId, ...] = ()  # messages that are always in
    hidden: tuple[MessageId, ...] = ()  # messages that are always out; never pinned, too
    # names of the contexts that go with each message, in the order of attaching
    contexts: tuple[str, ...] = ()
    # what is recalled from other chats with each message, in the order of attaching
    recalls: tuple[Recall, ...] = ()
    threshold: float | None = None  # the chat's own threshold; `None` until the user sets it
    edits: TopicEdits = field(default_factory=TopicEdits)
    role: str = ""  # the role that shapes the chat's turns; empty for none
    role_targets: tuple[str, ...] = ()  # files and folders of the vault that its turns are about
    # True if the model may look into notes where the settings allow it; `None` until the user
    # chooses: then it may if there are any
    file_tools: bool | None = None

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> "FilterState":
        """The state from its JSON object; values of a wrong kind are ignored."""
        switch, files = document.get("embedding_search"), document.get(FILE_TOOLS)
        pinned = dict.fromkeys(_strings(document.get(PINNED)))
        return cls(
            active_topics=_strings(document.get(ACTIVE_TOPICS))[:MAX_LABELS],
            embedding_search=switch if isinstance(switch, bool) else None,
            pinned=tuple(map(MessageId, pinned)),
            hidden=tuple(MessageId(i) for i in _strings(document.get(HIDDEN)) if i not in pinned),
            contexts=_strings(document.get("contexts"))[:MAX_CONTEXTS],
            recalls=_recalls(document.get("recalls")),
            threshold=_threshold(document.get("threshold")),
            edits=TopicEdits.from_dict(document.get("edits")),
            role=text_in(document.get("role")),
            role_targets=_strings(document.get("role_targets"))[:MAX_TARGETS],
            file_tools=files if isinstance(files, bool) else None,
        )

    def to_dict(self) -> dict[str, Any]:
        """The JSON object to store."""
        written = {
            "version": 1,
            ACTIVE_TOPICS: list(self.active_topics),
            "embedding_search": self.embedding_search,
            PINNED: list(self.pinned),
            HIDDEN: list(self.hidden),
            "contexts": list(self.contexts),
        }
        if self.recalls:
            written["recalls"] = [recall.to_dict() for recall in self.recalls]
        if self.threshold is not None:
            written["threshold"] = self.threshold
        if self.edits != TopicEdits():
            written["edits"] = self.edits.to_dict()
        if self.role:
            written["role"] = self.role
        if self.role_targets:
            written["role_targets"] = list(self.role_targets)
        if self.file_tools is not None:
            written[FILE_TOOLS] = self.file_tools
        return written

    def select(self, labels: Iterable[str]) -> "FilterState":
        """Select these topics and no others; an empty list clears the filter.

        The same topics in another order are the same choice, and keep their order.

        Raises:
            ValueError: If a label is empty or too long, or there are too many.
        """
        unique = tuple(dict.fromkeys(label.strip() for label in labels))
        if len(unique) > MAX_LABELS:
            raise ValueError(f"topics: expected at most {MAX_LABELS} labels, found {len(unique)}")
        for label in unique:
            if not 0 < len(label) <= MAX_LABEL_LENGTH:
                raise ValueError(
                    f"topics: a label has 1 to {MAX_LABEL_LENGTH} characters, found {len(label)}"
                )
        if set(unique) == set(self.active_topics):
            return self
        return replace(self, active_topics=unique)

    def switch(self, *, enabled: bool) -> "FilterState":
        """Set the similarity switch; switching it off clears the selection."""
        kept = self.active_topics if enabled else ()
        return replace(self, embedding_search=enabled, active_topics=kept)

    def pin(self, ids: Iterable[MessageId]) -> "FilterState":
        """Always keep these messages in, regardless of the filter."""
        if set(ids := tuple(ids)) <= set(self.pinned):
            return self
        released = self.release(ids)
        return replace(released, pinned=tuple(dict.fromkeys((*released.pinned, *ids))))

    def hide(self, ids: Iterable[MessageId]) -> "FilterState":
        """Always keep these messages out, regardless of the filter."""
        if set(ids := tuple(ids)) <= set(self.hidden):
            return self
        released = self.release(ids)
        return replace(released, hidden=tuple(dict.fromkeys((*released.hidden, *ids))))

    def release(self, ids: Iterable[MessageId]) -> "FilterState":
        """Unpin these messages, and no longer hide them."""
        gone = frozenset(ids)
        return replace(
            self,
            pinned=tuple(i for i in self.pinned if i not in gone),
            hidden=tuple(i for i in self.hidden if i not in gone),
        )

    def set_threshold(self, threshold: float | None) -> "FilterState":
        """Set the chat's threshold; `None` uses that of the settings.

        Raises:
            ValueError: If it is not from -1 to 1.
        """
        if threshold is not None and _threshold(threshold) is None:
            raise ValueError(f"threshold: expected a number from -1 to 1, found {threshold}")
        return replace(self, threshold=threshold)

    def attach(self, key: str) -> "FilterState":
        """Attach a named context after the others, once.

        Raises:
            ValueError: If there are too many.
        """
        attached = tuple(dict.fromkeys((*self.contexts, key)))
        if len(attached) > MAX_CONTEXTS:
            raise ValueError(
                f"key: expected at most {MAX_CONTEXTS} contexts in a chat; detach one first"
            )
        return replace(self, contexts=attached)

    def detach(self, key: str) -> "FilterState":
        """Detach a named context."""
        return replace(self, contexts=tuple(k for k in self.contexts if k != key))

    def recall(self, recall: Recall) -> "FilterState":
        """Attach a recall after the others, or in place of the one with its id.

        Raises:
            ValueError: If there are too many.
        """
        attached = {each.id: each for each in self.recalls} | {recall.id: recall}
        if len(attached) > MAX_RECALLS:
            raise ValueError(f"expected at most {MAX_RECALLS} recalls in a chat; forget one first")
        return replace(self, recalls=tuple(attached.values()))

    def forget_recall(self, recall_id: str) -> "FilterState":
        """Detach a recall."""
        return replace(self, recalls=tuple(r for r in self.recalls if r.id != recall_id))

    def take_role(self, name: str, targets: Iterable[str] = ()) -> "FilterState":
        """Set the role and the files that its turns are about; an empty name removes it.

        Raises:
            ValueError: If there are too many files.
        """
        unique = tuple(dict.fromkeys(target for target in targets if target.strip()))
        if len(unique) > MAX_TARGETS:
            raise ValueError(f"targets: expected at most {MAX_TARGETS}, found {len(unique)}")
        return replace(self, role=name, role_targets=unique if name else ())

    def with_role(self, name: str | None) -> "FilterState":
        """A copy of the state with another role; the state itself for `None` or its own role."""
        return self if name in {None, self.role} else self.take_role(name or "")

    def with_messages(self, messages: MessageTopics) -> "FilterState":
        """The state with other facts about the topics of single messages."""
        return replace(self, edits=replace(self.edits, messages=messages))

    def offer_files(self, *, on: bool) -> "FilterState":
        """Allow or forbid the model to read files of the vault."""
        return replace(self, file_tools=on)


def merged(base: FilterState, theirs: FilterState, ours: FilterState) -> FilterState:
    """A state with the changes of both sides, part by part; ours where both changed a part.

    Args:
        base: The state that both sides started from.
    """
    if base == theirs:
        return ours
    messages = merged_topics(base.edits.messages, theirs.edits.messages, ours.edits.messages)
    base, theirs, ours = (state.with_messages(messages) for state in (base, theirs, ours))
    mine = {
        name: getattr(ours, name)
        for part in _PARTS
        if any(getattr(ours, name) != getattr(base, name) for name in part)
        for name in part
    }
    released = {*base.pinned, *base.hidden} - {*ours.pinned, *ours.hidden}
    dropped = {*base.contexts} - {*ours.contexts}
    contexts = dict.fromkeys((*theirs.contexts, *_added(base.contexts, ours.contexts)))
    return (
        replace(
            theirs,
            **mine,
            contexts=tuple(k for k in contexts if k not in dropped),
            recalls=_merged_recalls(base.recalls, theirs.recalls, ours.recalls),
        )
        .release(released)
        .pin(_added(base.pinned, ours.pinned))
        .hide(_added(base.hidden, ours.hidden))
    )


_PARTS = (
    ("active_topics", "embedding_search"),
    ("threshold",),
    ("edits",),
    ("role", "role_targets"),
    ("file_tools",),
)
"""Fields that change together; pins, contexts and recalls are merged one by one."""


def _merged_recalls(
    base: Iterable[Recall], theirs: Iterable[Recall], ours: Iterable[Recall]
) -> tuple[Recall, ...]:
    before = {recall.id: recall for recall in base}
    mine = {recall.id: recall for recall in ours}
    changed = {id_: recall for id_, recall in mine.items() if before.get(id_) != recall}
    kept = {recall.id: recall for recall in theirs} | changed
    return tuple(recall for id_, recall in kept.items() if id_ in mine or id_ not in before)


def _added(before: Iterable[T], after: Iterable[T]) -> list[T]:
    known = set(before)
    return [each for each in after if each not in known]


def check_threshold(threshold: float | None) -> None:
    """Refuse an invalid threshold.

    Raises:
        InvalidParams: If it is not from -1 to 1.
    """
    try:
        FilterState().set_threshold(threshold)
    except ValueError as error:
        raise InvalidParams(str(error)) from error


def _threshold(value: object) -> float | None:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    return float(value) if -1 <= value <= 1 else None


def _recalls(value: object) -> tuple[Recall, ...]:
    found = filter(None, map(Recall.from_dict, value if isinstance(value, list) else ()))
    return tuple({recall.id: recall for recall in found}.values())[:MAX_RECALLS]


def _strings(value: object) -> tuple[str, ...]:
    """The texts among the first `MOST_MESSAGES` entries of a list, each once; none if no list."""
    entries = value[:MOST_MESSAGES] if isinstance(value, list) else []
    return tuple(dict.fromkeys(entry for entry in entries if isinstance(entry, str) and entry))

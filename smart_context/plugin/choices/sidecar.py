"""What is stored beside a chat for the filter: the user's choices, and the topics' members."""

import operator
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from smart_context.base.asking import person_tag
from smart_context.base.values import PersonId
from smart_context.plugin.choices.state import FilterState
from smart_context.storage.ports import Document
from smart_context.topics.stored import from_assignments, seen_in
from smart_context.topics.values import Topic

FILTER = "filter"
MEMBERS = "topics"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatSidecar:
    """The state and the topics that are stored next to one chat.

    Attributes:
        topics: The topics with their messages: the current ones, and those that extraction no
            longer finds but the user still has selected or deleted.
        seen: The last message that was read for them; empty if unknown.
        away: The topics of messages that are only in other versions of the chat.
    """

    state: FilterState = field(default_factory=FilterState)
    topics: tuple[Topic, ...] = ()
    seen: str = ""
    away: tuple[Topic, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class StoredSidecar:
    """The side-car with the documents that it was read from, or written to."""

    sidecar: ChatSidecar
    filter: Document  # a person's choices
    members: Document  # the topics' members
    # the choices whose edits of the topics count, those being the chat's; for the owner of the
    # installation, the same as `filter`
    edits: Document

    @property
    def documents(self) -> tuple[Document, ...]:
        """All of them, in the order of `document_names`."""
        own = () if self.edits is self.filter else (self.edits,)
        return self.filter, self.members, *own


def document_names(person: PersonId) -> tuple[str, ...]:
    """The names of a person's documents beside a chat."""
    tag = person_tag(person)
    return (f"{FILTER}-{tag}", MEMBERS, FILTER) if tag else (FILTER, MEMBERS)


def read_sidecar(documents: Sequence[Document], last: StoredSidecar | None = None) -> StoredSidecar:
    """The side-car in these documents; the same object as last time if they have not changed."""
    if last is not None and all(map(operator.is_, documents, last.documents)):
        return last
    filter_, members, edits = documents[0], documents[1], documents[-1]
    edits = edits if len(documents) > 2 else filter_  # noqa: PLR2004 - see `document_names`
    state = FilterState.from_dict(filter_.value)
    if edits is not filter_:
        state = replace(state, edits=FilterState.from_dict(edits.value).edits)
    sidecar = ChatSidecar(
        state=state,
        topics=from_assignments(members.value),
        seen=seen_in(members.value),
        away=from_assignments(members.value, "away"),
    )
    return StoredSidecar(sidecar, filter_, members, edits)

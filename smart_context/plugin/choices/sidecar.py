"""What is stored beside a chat for the filter: the user's choices, and the topics' members."""

from dataclasses import dataclass, field

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
        state: The user's choices.
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
    filter: Document
    members: Document


def read_sidecar(
    filter_: Document, members: Document, last: StoredSidecar | None = None
) -> StoredSidecar:
    """The side-car in these documents; the same object as last time if they have not changed."""
    if last is not None and filter_ is last.filter and members is last.members:
        return last
    sidecar = ChatSidecar(
        state=FilterState.from_dict(filter_.value),
        topics=from_assignments(members.value),
        seen=seen_in(members.value),
        away=from_assignments(members.value, "away"),
    )
    return StoredSidecar(sidecar, filter_, members)

"""A chat as a turn finds it, and the decision which of its messages are sent."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from smart_context.chat.messages import (
    ChatId,
    Message,
    MessageId,
)
from smart_context.plugin.choices.sidecars import ChatSidecar
from smart_context.plugin.selection.window_budget import over_budget
from smart_context.relevance.select import Selection
from smart_context.topics.stored import stored_sticky_ids
from smart_context.topics.values import Topic


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatView:
    """A chat as the filter sees it."""

    chat_id: ChatId
    # all its stored messages, oldest first, without the one being sent
    messages: tuple[Message, ...]
    history: tuple[Message, ...]  # the messages that would be sent without a filter, oldest first
    topics: tuple[Mapping[str, Any], ...]  # the public topics of the chat file that count
    sidecar: ChatSidecar
    more_topics: int = 0  # the number of topics that don't count
    more_follow: bool = False  # True if the message being sent is stored already
    # True if another program keeps the chat; it keeps to the model's window itself
    is_of_client: bool = False
    # True if the provider held the history of the last request, so nothing was left out
    is_held: bool = False
    model: str = ""  # the chat's own model; empty for that of the settings
    sticky_ids: frozenset[MessageId] = field(init=False)  # messages with standing instructions

    def __post_init__(self) -> None:
        object.__setattr__(self, "sticky_ids", stored_sticky_ids(list(self.topics)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The messages of a chat that a turn sends, and why."""

    messages: tuple[Message, ...]  # in context, chronological
    selection: Selection
    candidates: tuple[Message, ...]  # the messages that were decided about, chronological
    problem: str = ""  # why the filter could not be applied, for people; empty if it was
    is_cut: bool = False  # True if messages were left out that don't fit into the window

    def without(self, left_out: Collection[MessageId]) -> "Decision":
        """The decision without messages that do not fit into the model's window."""
        gone = frozenset(left_out)
        if gone.isdisjoint(self.selection.kept):
            return self
        return replace(
            self,
            messages=tuple(message for message in self.messages if message.id not in gone),
            selection=over_budget(self.selection, self.candidates, gone),
            is_cut=True,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicGuess:
    """The topics that a text being written is clearly about."""

    topics: tuple[str, ...] = ()  # the labels: none, one, or two
    elsewhere: Topic | None = None  # its topic if that is clearly not a picked one, else `None`

"""What several storages in memory share, as several processes share a folder."""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from itertools import count
from typing import Any, NamedTuple

from smart_context.base.values import PersonId
from smart_context.chat.documents.document import OWNED_BY, Version, ownership_of
from smart_context.chat.messages import ChatId

Watcher = Callable[[ChatId, object, bool], None]
"""Called with a chat that changed, whose change it was, and whether it was the chat itself."""


class HeldChat(NamedTuple):
    """A version of a chat, and when it was written, in ns since 1970."""

    version: Version
    mtime_ns: int

    @property
    def size(self) -> int:
        """What it takes to remember it, in bytes: nothing more, as it is held already."""
        return 0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HeldDeletion:
    """A chat in the trash, and what stood beside it."""

    name: str
    id: ChatId
    deleted_at: str
    chat: HeldChat
    beside: dict[Hashable, Any]

    @property
    def person(self) -> PersonId:
        """Whose the chat was."""
        return ownership_of(self.chat.version.other.get(OWNED_BY)).person


@dataclass(slots=True, kw_only=True)
class Held:
    """All that is stored."""

    chats: dict[ChatId, HeldChat] = field(default_factory=dict)
    # what stands beside each chat, by kind and name
    beside: dict[ChatId, dict[Hashable, Any]] = field(default_factory=lambda: defaultdict(dict))
    trash: list[HeldDeletion] = field(default_factory=list)  # the deleted chats, the newest last
    # what the vault has as a whole, by kind and key
    of_vault: dict[tuple[str, str, str], Any] = field(default_factory=dict)
    blobs: dict[str, Any] = field(default_factory=dict)  # the attached files, by key
    watchers: list[Watcher] = field(default_factory=list)  # called after each change
    # numbers that were not given yet
    numbers: "count[int]" = field(default_factory=lambda: count(1))

    def state(self, chat: ChatId, beside: Iterable[str]) -> str:
        """When a chat was written, and the revisions of documents beside it."""
        documents = self.beside[chat]
        known = (documents.get(("document", name)) for name in beside)
        return " ".join(map(str, [self.chats[chat].mtime_ns, *(d and d.revision for d in known)]))

    def tell(self, chat: ChatId, by: object, *, is_chat: bool) -> None:
        """Tell all watchers of a change."""
        for watcher in [*self.watchers]:
            watcher(chat, by, is_chat)

"""The ports of storage: small interfaces, each the size that its users need.

The adapter `files/` stores data in the memory folder, `postgres/` in a database. Every adapter
keeps the promises in `tests/storage/contract/`, which also tests a storage in memory;
`docs/extending.md` explains how to write one.

No path goes through a port. Methods that are not async block: their users call them in threads.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter

from smart_context.base.caches import Caches
from smart_context.base.shared import SharedValue
from smart_context.base.values import OWNER, JsonObject, PersonId
from smart_context.chat.documents.document import Since, whole
from smart_context.chat.documents.lineage import ANYBODY
from smart_context.chat.files.attached_file import AttachedFile
from smart_context.chat.listed.rows import ChatRow, DeletedChat
from smart_context.chat.listed.search import MOST_HITS, ChatHit
from smart_context.chat.messages import Arrived, ChatId, Message, MessageId, Part
from smart_context.llm.models import Matrix

T = TypeVar("T")

Revision = Hashable
"""An opaque state of something stored; equal states mean that nothing has changed."""

ChangeListener = Callable[[ChatId], None]
"""Called in the event loop with the chat that changed; its errors are only logged."""

Floats = NDArray[np.float32]

Stored = tuple[list[str], Matrix]
"""Keys, and their vectors as rows: shape (n, d)."""


KEPT_S = 7 * 24 * 3600
"""Seconds that an unused file is kept after it was last attached or sent."""


class Conflict(Exception):
    """Somebody else has changed the stored object; read it again."""


class AnswerClaimed(Exception):
    """Another process is writing an answer in this chat."""


class StorageFaults(NamedTuple):
    """The faults of stored chats."""

    unreadable: Sequence[tuple[ChatId, str]]  # the chats that can't be read, each with the reason
    set_aside: Sequence[str]  # the names under which damaged documents were set aside


class NearMessage(NamedTuple):
    """A message of some chat, near to the query."""

    chat_id: ChatId
    revision: str  # the chat's revision, as `ChatList.revisions` returns it
    key: str  # the key of the message's vector
    cosine: float  # the cosine similarity to the query


class ChatList(Protocol):
    """The list of chats, and the search in them; raises `StoreFailed` if they can't be listed."""

    async def rows(self, person: PersonId) -> list[ChatRow]:
        """The chats that a person owns or that are shared, newest first.

        A damaged chat has a row, too, for the owner of the installation.
        """

    async def revisions(self, person: PersonId, *beside: str) -> Mapping[ChatId, str]:
        """The state of each chat that a person may use; equal texts mean that nothing has changed.

        Reads only chats that have changed. The texts can be stored, and compared after a restart.

        Args:
            beside: The names of documents of the chats whose changes count, too.
        """

    async def search(self, person: PersonId, query: str, limit: int = MOST_HITS) -> list[ChatHit]:
        """The messages and titles that contain all words of the query, newest chats first.

        Ignores case, width and composition of characters.

        Args:
            query: The words. An empty query finds nothing.
            limit: The maximum number of hits; at most 20 of them in one chat.
        """

    async def nearest(
        self, person: PersonId, model: str, query: Floats, limit: int, without: ChatId
    ) -> list[NearMessage] | None:
        """The messages that are nearest in meaning, nearest first, of those that have vectors.

        Leaves out private chats.

        Args:
            model: The model that made the vectors.
            query: Shape (d,).
            without: A chat that is left out.

        Returns:
            `None` if this storage can't search by meaning, or there are few messages; read the
            vectors instead.
        """

    async def faults(self) -> StorageFaults:
        """The chats that can't be read, and the damaged documents that were set aside."""


class ChatChanges(Protocol):
    """Reports of changes, each once, by this process and by others."""

    def on_change(self, listener: ChangeListener) -> Callable[[], None]:
        """Call `listener` after each stored change of any chat, including its deletion.

        Changes by other programs are reported while `watch` runs.

        Returns:
            A function that removes the listener; it may be called twice.
        """

    def on_sidecar_change(self, listener: ChangeListener) -> Callable[[], None]:
        """Call `listener` after a document of a chat changed, while `watch` runs.

        A report may come without a change.

        Returns:
            A function that removes the listener; it may be called twice.
        """

    async def watch(self) -> None:
        """Report changes by other programs until cancelled."""


class ChatTrash(Protocol):
    """The deleted chats; every method raises `StoreFailed` when storage refuses.

    A deleted chat is in the trash of its owner, even if it was shared.
    """

    async def listed(self, person: PersonId) -> tuple[list[DeletedChat], int]:
        """A person's deleted chats, newest first, at most `MOST_LISTED`, and the number of all."""

    async def ids(self, person: PersonId) -> frozenset[ChatId]:
        """The ids of all of a person's deleted chats, without a limit."""

    async def person_of(self, chat_id: ChatId) -> PersonId | None:
        """The owner of the chat that was last deleted under an id, or `None`."""

    async def purge(self, chat_id: ChatId, deletion: str = "") -> int:
        """Remove a deleted chat for ever; returns the number of deletions removed.

        Args:
            deletion: One of its deletions; all by default.

        Raises:
            CommandFailed: It is not in the trash.
        """

    async def empty(self, person: PersonId, until: str = "") -> int:
        """Remove a person's deleted chats for ever; returns the number of deletions removed.

        Args:
            until: Only deletions up to this time, ISO 8601 in UTC; an empty text sets no limit.
        """


class ChatParts(Protocol):
    """The parts that accompany the chats of a vault: their list, changes and trash."""

    @property
    def listing(self) -> ChatList:
        """The list of chats, and the search in them."""

    @property
    def changes(self) -> ChatChanges:
        """Reports changes of chats."""

    @property
    def trash(self) -> ChatTrash:
        """The deleted chats."""


class Chats(ChatParts, Protocol):
    """The chats of one vault.

    The owner of a chat is recorded in its document (`chat/documents/ownership.py`). `save` never
    changes it; lists, searches and the trash use it.

    Every method raises `ChatIdInvalid` for a bad id and `StoreFailed` when storage refuses. Those
    that read a damaged document set it aside and raise `ChatUnreadable`. Callers get copies.
    """

    async def load(self, chat_id: str, *, reader: str = ANYBODY) -> JsonObject:
        """The document of a chat; `{"messages": []}` if the chat does not exist.

        Args:
            reader: The caller, such as a client's id. A later `save` by the same reader is
                compared with what that reader has loaded, so its versions are remembered;
                `NEVER_SAVES` for a caller that won't save.
        """

    async def messages(self, chat_id: str) -> tuple[Message, ...]:
        """The messages, oldest first; unchanged ones are the same objects as before."""

    async def snapshot(self, chat_id: str, *keys: str) -> tuple[tuple[Message, ...], JsonObject]:
        """The messages, oldest first, and other keys of the document, from one version.

        Copies only the named keys, since branches can be large; without names, all keys.
        """

    async def value(self, chat_id: str, key: str) -> Any:
        """The value of one of the document's other keys; `None` if it is missing.

        Cheap in chats with large documents: only that value is copied.
        """

    async def exists(self, chat_id: str) -> bool:
        """True if the chat is stored."""

    async def save(
        self, chat_id: str, document: Mapping[str, Any], *, reader: str = ANYBODY
    ) -> JsonObject:
        """Store a whole document that a client loaded earlier and changed.

        Changes made since the client loaded it are kept: new messages, edits, and the keys that
        the client did not touch. A message that is missing from `document` is deleted if the
        version that the client started from had it and nobody edited it since. A document without
        `messages` leaves the messages alone.

        Args:
            chat_id: The chat; made when it does not exist.
            reader: The caller, as for `load`.

        Returns:
            The document that is now stored.

        Raises:
            InvalidParams: `document` is not JSON, or its `messages` is not a list.
        """

    async def update(
        self,
        chat_id: str,
        change: Callable[[JsonObject], None],
        *,
        since: Since = whole,
        creates: bool = True,
    ) -> JsonObject:
        """Change the newest document, with no other change of this process in between.

        Args:
            change: Called once, in the event loop, with a copy that it changes in place. If it
                raises or changes nothing, nothing is written.
            since: Returns the position of the first message that `change` needs. The document that
                it gets begins there, so that a change at the end of a long chat is cheap.
            creates: Make the chat if it does not exist.

        Returns:
            The document that is now stored, with other programs' changes, from that message on.

        Raises:
            CommandFailed: There is no such chat, and `creates` is false.
            InvalidParams: The changed document is not JSON.
        """

    async def rename(self, chat_id: str, title: str) -> str:
        """Give the chat a title of 1 to 200 characters; the result has single spaces.

        Raises:
            InvalidParams: The title is empty or too long.
            CommandFailed: There is no such chat.
        """

    async def delete(self, chat_id: str) -> None:
        """Move the chat, and all that belongs to it, to the trash.

        Raises:
            CommandFailed: There is no such chat.
        """

    async def restore(self, chat_id: str, deletion: str = "") -> None:
        """Restore a deleted chat, by default the last under this id, with all that belonged to it.

        Raises:
            CommandFailed: It is not in the trash, or a chat with this id exists again.
        """

    async def close(self) -> None:
        """Remove the listeners, and store what makes the next start fast."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A JSON object as it was stored."""

    # the object, not to be changed; empty if it is missing or damaged
    value: JsonObject = field(default_factory=dict)
    revision: Revision | None = None  # its state; `None` if it is missing
    is_damaged: bool = False  # True if the stored bytes are not a JSON object


class ChatDocuments(Protocol):
    """JSON objects of a chat, by name; they are deleted and restored with it.

    Every method raises `StoreFailed` when storage refuses; the old object is intact.
    """

    async def read(
        self, chat_id: str, *names: str, known: Sequence[Document] = ()
    ) -> tuple[Document, ...]:
        """The objects of these names.

        Args:
            chat_id: The chat; need not exist.
            names: Lower-case letters, digits, `-` and `_`.
            known: The objects last read or written, in the order of `names`; one that has not
                changed since is returned itself.

        Raises:
            ChatIdInvalid: The id is bad.
            ValueError: A name is bad.
        """

    async def replace(
        self,
        chat_id: str,
        name: str,
        value: Mapping[str, Any],
        *,
        expected: Revision | None,
        keeps_copy: bool = False,
    ) -> Document:
        """Replace an object if its revision is still the expected one.

        Args:
            chat_id: The chat; need not exist.
            name: As for `read`.
            expected: The revision that `value` was made from; `None` for no object.
            keeps_copy: Keep a copy of the replaced object under another name.

        Raises:
            Conflict: The object has another revision; nothing was changed.
            ChatIdInvalid: The id is bad.
            ValueError: The name is bad.
        """


class VaultDocuments(Protocol):
    """JSON objects of the vault as a whole, by kind and key. Blocks.

    Every method raises `StoreFailed` when storage refuses, and `read` also for a damaged object.
    The kind is a plain lower-case word; it is empty for objects that exist once in a vault. The key
    is any text; an empty key names nothing.
    """

    def read(self, kind: str, key: str) -> JsonObject | None:
        """The object; `None` if there is none."""

    def write(self, kind: str, key: str, value: Mapping[str, Any]) -> str:
        """Store an object in place of the previous one; returns its place, for users.

        Raises:
            ValueError: The key is too long.
        """

    def add(self, kind: str, key: str, value: Mapping[str, Any]) -> bool:
        """Store an object unless there is one; True if it was stored.

        If several processes add one at the same time, just one succeeds.

        Raises:
            ValueError: The key is too long.
        """

    def delete(self, kind: str, key: str) -> bool:
        """Delete an object; True if there was one."""

    def keys(self, kind: str) -> list[str]:
        """The keys of a kind, sorted."""


class Log(Protocol):
    """An append-only list of lines.

    Every method raises `StoreFailed` when storage refuses; the earlier lines are intact.
    """

    async def append(self, *lines: bytes) -> Revision | None:
        """Add lines, all or none; no line holds a line break.

        Returns:
            The new state, as `revision` returns it.
        """

    async def revision(self) -> Revision | None:
        """The state of the log; `None` if it is empty."""

    async def lines(self) -> list[bytes]:
        """The kept lines, oldest first, without empty ones."""

    async def since(self, place: int) -> tuple[list[bytes], int]:
        """The lines that were added since a place, and the place to go on from.

        Args:
            place: 0, or the place from an earlier call. In a log with limits it may become invalid.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The limits of a log; its oldest lines are dropped."""

    lines: int  # the number of lines that are kept when some are dropped
    slack: int  # extra lines before some are dropped, so that most appends only append
    bytes: int  # the most bytes; a quarter of them is freed at once


class Logs(Protocol):
    """The logs of one vault."""

    def beside(self, chat_id: ChatId, name: str, limits: Limits) -> Log:
        """A log of a chat; it is deleted and restored with the chat."""

    def of_vault(self, kind: str, key: str) -> Log:
        """A log of the vault as a whole, which several processes may add to."""


class ChatVectors(Protocol):
    """The vectors of one chat's messages by one model. Blocks; one call at a time."""

    has_additions: bool  # True if vectors were added since the last `replace`

    def read(self) -> Stored:
        """The stored vectors; none if they are missing or damaged."""

    def replace(self, keys: Sequence[str], vectors: Matrix) -> None:
        """Store these vectors in place of all others.

        Raises:
            StoreFailed: Storage refuses; the old vectors are intact.
        """

    def append(self, keys: Sequence[str], vectors: Matrix) -> None:
        """Add vectors; the cost doesn't depend on the number of stored ones.

        Raises:
            OSError, StoreFailed: Storage refuses.
        """


class Vectors(Protocol):
    """The vectors of chats' messages."""

    def of(self, chat_id: ChatId, model: str) -> ChatVectors:
        """The vectors of a chat by a model; those of another model are ignored, and replaced."""


def no_vectors() -> Stored:
    """No keys and no vectors."""
    return [], np.zeros((0, 0), dtype=np.float32)


class Blobs(Protocol):
    """The attached files of messages, each stored once; satisfies `AttachmentResolver`."""

    async def put(self, name: str, content: bytes) -> AttachedFile:
        """Store a file.

        Raises:
            CommandFailed: It is empty, too large, or holds neither text nor an image.
            StoreFailed: Storage refuses.
        """

    async def info(self, key: str) -> AttachedFile | None:
        """A file's name, type and size; `None` when it is gone."""

    async def read(self, id: str) -> str | None:  # noqa: A002  the seed's name
        """The text of a file; `None` when it has no text, or is gone."""

    async def content(self, key: str) -> bytes | None:
        """All of a file; `None` when it is gone."""

    async def data_uri(self, key: str) -> str | None:
        """An image as a `data:` address for a model; `None` for other files and large images."""

    async def keep(self, key: str) -> None:
        """Note that a file is used again, so that it is not removed as unused."""


class AnswerJournal(Protocol):
    """Stores the pieces of one answer as they arrive, so that a killed process loses few or none.

    Pieces that storage refuses are kept and tried again with the next piece; the answer goes on.
    """

    @property
    def problem(self) -> str:
        """The reason, for the user, why some pieces are not stored; empty if all are."""

    def claim(self) -> Arrived | None:
        """Keep other processes from answering in this chat until the journal is closed; blocks.

        Returns:
            The part of an answer that a killed process left. Store it: the first piece overwrites
            it.

        Raises:
            AnswerClaimed: Another process is answering.
        """

    def reserve(self) -> None:
        """Discard what a killed process left, and reserve room for the pieces; blocks."""

    def append(self, text: str) -> None:
        """Write the next piece."""

    def step(self, parts: Sequence[Part]) -> None:
        """Write the parts that led to the answer; they replace the pieces so far."""

    def flush(self) -> None:
        """Try again to write the pieces that were refused."""

    def finish(self) -> None:
        """Remove the journal: the answer is in the chat."""

    def close(self) -> None:
        """Stop journalling, and leave the journal for the next start."""


class InterruptedAnswer(Protocol):
    """An answer whose process has ended, claimed so that no other process repairs it."""

    @property
    def arrived(self) -> Arrived | None:
        """The part that its process left; `None` if that is of no use."""

    def remove(self) -> None:
        """Remove its journal: the chat holds all of it. Blocks."""

    def release(self) -> None:
        """Let others claim the chat's answer; does nothing after `remove`."""


class Answers(Protocol):
    """The claims on the chats' answers, each with its journal. Blocks."""

    def journal(self, chat_id: ChatId, message_id: MessageId) -> AnswerJournal:
        """The journal of an answer, not yet claimed."""

    def interrupted(self) -> Sequence[ChatId]:
        """The chats that have a journal that no process is writing."""

    def arriving(self, chat_id: ChatId) -> Arrived | None:
        """The content of the journal of a chat's answer, by any process, or `None`."""

    def take_over(self, chat_id: ChatId) -> InterruptedAnswer | None:
        """Claim the answer of a chat to repair it; `None` if a process is writing it.

        Raises:
            OSError: Storage refuses.
        """


ProcessListener = Callable[[JsonObject], None]
"""Called in the event loop with each message of another process, in its order."""


class Events(Protocol):
    """Messages to the other processes that share the storage, each once and in order."""

    @property
    def is_shared(self) -> bool:
        """True if there may be other processes."""

    def send(self, message: JsonObject) -> None:
        """Send a message soon; never blocks, and tries again until that succeeds."""

    async def listen(self, heard: ProcessListener, begun: Callable[[], None]) -> None:
        """Send the waiting messages, and receive those of others, until cancelled.

        Args:
            heard: Called with each message of the others.
            begun: Called once, when no message that is sent from then on can be missed.
        """

    async def settle(self) -> None:
        """Wait until the waiting messages are sent; a second at most."""


class Leases(Protocol):
    """Leases for work that only one process at a time may do; one ends 20 s after its process."""

    def held(self, name: str) -> AbstractAsyncContextManager[None]:
        """Hold a lease during the block; waits until it is free.

        Raises:
            StoreFailed: The lease can't be taken.
        """


class SharedRecords(Protocol):
    """Small values that all servers of a team share."""

    def of(self, name: str, adapter: TypeAdapter[T], empty: T) -> SharedValue[T]:
        """The value with a name; `empty` before its first change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Storage:
    """All storage of one vault; every part of the product gets the ports that it uses."""

    chats: Chats
    documents: ChatDocuments  # JSON objects of chats
    vault_documents: VaultDocuments  # JSON objects of the vault as a whole
    logs: Logs  # append-only lists of lines
    vectors: Vectors  # the vectors of chats' messages
    blobs: Blobs  # attached files of messages
    answers: Answers  # answers that are being written
    events: Events  # messages to the other processes
    leases: Leases  # for work that only one process at a time may do
    caches: Caches  # files that this machine can make again
    # removes what crashes left, and attached files that were not used for a week and that nothing
    # names. Takes the time in seconds since 1970, blocks, and returns the files' keys.
    clear_up: Callable[[float], Sequence[str]]
    close: Callable[[], None] = lambda: None  # closes all that is open. Blocks.
    # values that all servers share; `None` where they are in the user's folder
    records: SharedRecords | None = None
    # returns if the storage answers, else raises `StoreFailed`. Blocks for some seconds at most.
    check: Callable[[], None] = lambda: None
    # figures of its state, by name, each with its description
    figures: Callable[[], Mapping[str, tuple[str, float]]] = dict
    person: PersonId = OWNER  # the person whose share this is; the owner for the whole storage
    # gives one person's share; `None` where all belongs to one person
    of_person: Callable[[PersonId], "Storage"] | None = None

    def for_person(self, person: PersonId) -> "Storage":
        """A storage with only the chats, documents, logs, files and contexts that a person may use.

        Where there is one person, it is the whole storage. The person of a share can't be changed.
        Vectors and answers know no person: ask for the chat first, which is there only for its own.
        """
        return self if self.of_person is None else self.of_person(person)

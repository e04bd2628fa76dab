"""What the product asks of storage: small ports, each the size that its users need.

`files/` keeps what goes through them in the memory folder, `postgres/` in a database. What every
adapter promises is in `tests/storage/contract/`, which also holds a storage in memory to it;
`docs/extending.md` says how to write one.

No path goes through a port. Those that are not async block: their users call them in threads.
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
from smart_context.base.values import JsonObject, PersonId
from smart_context.chat.documents.document import Since, whole
from smart_context.chat.documents.lineage import ANYBODY
from smart_context.chat.files.attached_file import AttachedFile
from smart_context.chat.listed.rows import ChatRow, DeletedChat
from smart_context.chat.listed.search import MOST_HITS, ChatHit
from smart_context.chat.messages import Arrived, ChatId, Message, MessageId, Part
from smart_context.llm.models import Matrix

T = TypeVar("T")

Revision = Hashable
"""A state of something stored; equal ones mean that nothing has changed. Not to be looked into."""

ChangeListener = Callable[[ChatId], None]
"""Called in the event loop with the chat that changed; one that raises is only logged."""

Floats = NDArray[np.float32]

Stored = tuple[list[str], Matrix]
"""Keys, and their vectors as rows: shape (n, d)."""


KEPT_S = 7 * 24 * 3600
"""How long even an unused file is kept after it was last attached or sent."""


class Conflict(Exception):
    """Somebody else has replaced what was to be replaced; read it again."""


class AnswerClaimed(Exception):
    """Another process is writing an answer in this chat."""


class Faults(NamedTuple):
    """What is wrong with stored chats."""

    unreadable: Sequence[tuple[ChatId, str]]  # the chats that can't be read, each with the reason
    set_aside: Sequence[str]  # the names under which damaged documents were set aside


class NearMessage(NamedTuple):
    """A message of some chat, near to what was asked."""

    chat_id: ChatId
    revision: str  # the chat's, as `ChatList.revisions` gives it
    key: str  # that of the message's vector
    cosine: float  # that of the angle to the query


class ChatList(Protocol):
    """The list of chats, and the search in them; raises `StoreFailed` if they can't be listed."""

    async def rows(self, person: PersonId) -> list[ChatRow]:
        """The chats that a person has or that are shared, newest first.

        A damaged one has a row, too, for the owner of the installation.
        """

    async def revisions(self, person: PersonId, *beside: str) -> Mapping[ChatId, str]:
        """The state of each chat that a person may use; equal texts: nothing has changed.

        Reads only what has changed. The texts can be kept, and compared after a restart.

        Args:
            beside: The names of documents beside the chats whose changes count, too.
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

        None of private chats. `None`: this storage can't tell, or there are few messages; read the
        vectors instead.

        Args:
            model: What made the vectors.
            query: Shape (d,).
            without: A chat that is left out.
        """

    async def faults(self) -> Faults:
        """What can't be read, and what was set aside because of that."""


class ChatChanges(Protocol):
    """Events of change, each once, whoever made it."""

    def on_change(self, listener: ChangeListener) -> Callable[[], None]:
        """Call `listener` after each stored change of any chat, its deletion included.

        Other programs' changes are reported while `watch` runs.

        Returns:
            A function that ends this; calling it twice does no harm.
        """

    def on_sidecar_change(self, listener: ChangeListener) -> Callable[[], None]:
        """Call `listener` after a document beside a chat changed, while `watch` runs.

        A report may come without a change.

        Returns:
            A function that ends this; calling it twice does no harm.
        """

    async def watch(self) -> None:
        """Report what other programs change until cancelled."""


class ChatTrash(Protocol):
    """The deleted chats; every method raises `StoreFailed` when storage refuses.

    A deleted chat is in the trash of the person whose it was, also if it was shared.
    """

    async def listed(self, person: PersonId) -> tuple[list[DeletedChat], int]:
        """A person's deleted chats, newest first, at most `MOST_LISTED`, and the number of all."""

    async def ids(self, person: PersonId) -> frozenset[ChatId]:
        """The ids of all of a person's deleted chats, however many."""

    async def person_of(self, chat_id: ChatId) -> PersonId | None:
        """Whose the chat was that was last deleted under an id; `None` if there is none."""

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
            until: Only what was deleted by then, ISO 8601 in UTC; an empty text sets no limit.
        """


class ChatParts(Protocol):
    """What goes with the chats of a vault."""

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

    Whose a chat is stands in its document (`chat/documents/document.py`). `save` leaves that as it
    is; lists, searches and the trash go by it.

    Every method raises `ChatIdInvalid` for a bad id and `StoreFailed` when storage refuses. Those
    that read a damaged document set it aside and raise `ChatUnreadable`. Callers get copies.
    """

    async def load(self, chat_id: str, *, reader: str = ANYBODY) -> JsonObject:
        """The document; `{"messages": []}` for a chat that does not exist.

        Args:
            reader: The caller, such as a client's id. A later `save` by the same reader is
                compared with what that reader has loaded, so its versions are remembered;
                `NEVER_SAVES` for a caller that won't save.
        """

    async def messages(self, chat_id: str) -> tuple[Message, ...]:
        """The messages, oldest first; unchanged ones are the same objects as before."""

    async def snapshot(self, chat_id: str, *keys: str) -> tuple[tuple[Message, ...], JsonObject]:
        """The messages, oldest first, and other keys of the document, from one version.

        Only the keys that are named are copied, all without names: branches can be large.
        """

    async def value(self, chat_id: str, key: str) -> Any:
        """What the document has under one of its other keys; `None` for nothing.

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
            since: Gives the position of the first message that `change` needs. The document that
                it gets begins there, so that a change at the end of a long chat is cheap.
            creates: Make a chat that does not exist.

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
        """Move the chat, and what stands beside it, to the trash.

        Raises:
            CommandFailed: There is no such chat.
        """

    async def restore(self, chat_id: str, deletion: str = "") -> None:
        """Restore a deleted chat, by default the last under this id, with what stood beside it.

        Raises:
            CommandFailed: It is not in the trash, or a chat with this id exists again.
        """

    async def close(self) -> None:
        """Forget the listeners, and keep what makes the next start fast."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A JSON object as it was stored."""

    # the object; empty if there is none, or if it is damaged. Not to be changed.
    value: JsonObject = field(default_factory=dict)
    revision: Revision | None = None  # its state; `None` if there is none
    is_damaged: bool = False  # what is stored is no object


class ChatDocuments(Protocol):
    """JSON objects beside a chat, by name; they are deleted and restored with it.

    Every method raises `StoreFailed` when storage refuses; the old object is intact.
    """

    async def read(
        self, chat_id: str, *names: str, known: Sequence[Document] = ()
    ) -> tuple[Document, ...]:
        """The objects of these names.

        Args:
            chat_id: The chat; need not exist.
            names: Lower-case letters, digits, `-` and `_`.
            known: What was last read or written, in the order of `names`; an object that has not
                changed since is returned as it is.

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
        """Replace an object if its revision still is the expected one.

        Args:
            chat_id: The chat; need not exist.
            name: As for `read`.
            expected: The revision that `value` was made from; `None` for no object.
            keeps_copy: Keep what is replaced, beside it under a name of its own.

        Raises:
            Conflict: It is another; nothing was changed.
            ChatIdInvalid: The id is bad.
            ValueError: The name is bad.
        """


class VaultDocuments(Protocol):
    """JSON objects of the vault as a whole, by kind and key. Blocks.

    Every method raises `StoreFailed` when storage refuses, and `read` also for a damaged object.
    The kind is a plain lower-case word, and empty for an object that a vault has one of. The key
    is any text; an empty one names nothing.
    """

    def read(self, kind: str, key: str) -> JsonObject | None:
        """The object; `None` if there is none."""

    def write(self, kind: str, key: str, value: Mapping[str, Any]) -> str:
        """Store an object in place of the previous one; returns where it is, for users.

        Raises:
            ValueError: The key is too long.
        """

    def add(self, kind: str, key: str, value: Mapping[str, Any]) -> bool:
        """Store an object unless there is one; True if it was stored.

        Of several processes that add one at the same time, one does.

        Raises:
            ValueError: The key is too long.
        """

    def delete(self, kind: str, key: str) -> bool:
        """Delete an object; True if there was one."""

    def keys(self, kind: str) -> list[str]:
        """The keys of a kind, sorted."""


class Log(Protocol):
    """Lines that are only added.

    Every method raises `StoreFailed` when storage refuses; the earlier lines are intact.
    """

    async def append(self, *lines: bytes) -> Revision | None:
        """Add lines, all or none; none of them holds a line break.

        Returns:
            Its state then, as `revision` gives it.
        """

    async def revision(self) -> Revision | None:
        """Its state; `None` if there is nothing in it."""

    async def lines(self) -> list[bytes]:
        """The lines that are kept, oldest first, without empty ones."""

    async def since(self, place: int) -> tuple[list[bytes], int]:
        """The lines that were added since, and the place to go on from.

        Args:
            place: 0, or what an earlier call returned. In a log with limits it does not last.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a log keeps at most; its oldest lines are dropped."""

    lines: int  # the number of lines that stay when some are dropped
    slack: int  # further lines that are kept until then, so that most appends only append
    bytes: int  # the size; a quarter of it is freed at once


class Logs(Protocol):
    """The logs of one vault."""

    def beside(self, chat_id: ChatId, name: str, limits: Limits) -> Log:
        """A log beside a chat; it is deleted and restored with it."""

    def of_vault(self, kind: str, key: str) -> Log:
        """A log of the vault as a whole, which several processes may add to."""


class ChatVectors(Protocol):
    """The vectors of one chat's messages by one model. Blocks; one call at a time."""

    has_additions: bool  # vectors were added since they were last replaced as a whole

    def read(self) -> Stored:
        """The vectors as they were given; none if they are missing or damaged."""

    def replace(self, keys: Sequence[str], vectors: Matrix) -> None:
        """Store these in place of all.

        Raises:
            StoreFailed: Storage refuses; the old ones are intact.
        """

    def append(self, keys: Sequence[str], vectors: Matrix) -> None:
        """Add vectors; the cost doesn't depend on how many there are.

        Raises:
            OSError, StoreFailed: Storage refuses.
        """


class Vectors(Protocol):
    """The vectors of chats' messages."""

    def of(self, chat_id: ChatId, model: str) -> ChatVectors:
        """Those of a chat by a model; what another model made is not used, and replaced."""


def no_vectors() -> Stored:
    """No keys and no vectors."""
    return [], np.zeros((0, 0), dtype=np.float32)


class Blobs(Protocol):
    """The files that were attached to messages, each once; satisfies `AttachmentResolver`."""

    async def put(self, name: str, content: bytes) -> AttachedFile:
        """Store a file.

        Raises:
            CommandFailed: It is empty, too large, or holds neither text nor an image.
            StoreFailed: Storage refuses.
        """

    async def info(self, key: str) -> AttachedFile | None:
        """A file's name, type and size; `None` when it is gone."""

    async def read(self, id: str) -> str | None:  # noqa: A002  the seed's name
        """The text of a file; `None` when it has none, or is gone."""

    async def content(self, key: str) -> bytes | None:
        """All of a file; `None` when it is gone."""

    async def data_uri(self, key: str) -> str | None:
        """An image as a model takes it; `None` for anything else, and for one that is too large."""

    async def keep(self, key: str) -> None:
        """Note that a file is used again, so that it is not removed as unused."""


class AnswerJournal(Protocol):
    """The pieces of one answer as they arrive, of which a killed process loses none.

    What storage refuses is kept and tried again with the next piece; the answer goes on.
    """

    @property
    def problem(self) -> str:
        """Why storage does not hold all that has arrived, for the user; empty if it does."""

    def claim(self) -> Arrived | None:
        """Keep other processes from answering in this chat until the journal is closed; blocks.

        Returns:
            What a killed process left of its answer. Store it: the first piece overwrites it.

        Raises:
            AnswerClaimed: Another process is answering.
        """

    def reserve(self) -> None:
        """Forget what a killed process left, and take room for the pieces; blocks."""

    def append(self, text: str) -> None:
        """Write the next piece."""

    def step(self, parts: Sequence[Part]) -> None:
        """Write the parts that led to the answer; they replace the pieces so far."""

    def flush(self) -> None:
        """Try again to write what was refused before."""

    def finish(self) -> None:
        """Remove the journal: the answer is in the chat."""

    def close(self) -> None:
        """Stop journalling and leave what there is for the next start."""


class InterruptedAnswer(Protocol):
    """An answer that nobody is writing any more, claimed so that nobody else repairs it."""

    @property
    def arrived(self) -> Arrived | None:
        """What its process left of it; `None` if nothing of use."""

    def remove(self) -> None:
        """Remove its journal: the chat holds what there is. Blocks."""

    def release(self) -> None:
        """Let others claim the chat's answer; does nothing after `remove`."""


class Answers(Protocol):
    """The claims on the chats' answers, each with its journal. Blocks."""

    def journal(self, chat_id: ChatId, message_id: MessageId) -> AnswerJournal:
        """The journal of an answer, not yet claimed."""

    def interrupted(self) -> Sequence[ChatId]:
        """The chats that have a journal which nobody is writing."""

    def arriving(self, chat_id: ChatId) -> Arrived | None:
        """What is in the journal of a chat's answer, whoever writes it; `None` for nothing."""

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
        """Tell the others soon; never blocks, and tries again until they can be told."""

    async def listen(self, heard: ProcessListener, begun: Callable[[], None]) -> None:
        """Send what there is, and hear the others, until cancelled.

        Args:
            heard: Gets each message of the others.
            begun: Called once nothing that is sent from now on is missed.
        """

    async def settle(self) -> None:
        """Wait until what was sent has gone; a second at most."""


class Leases(Protocol):
    """Work that one process at a time may do; a lease ends 20 s after its process has."""

    def held(self, name: str) -> AbstractAsyncContextManager[None]:
        """Hold a lease during the block; waits until it is free.

        Raises:
            StoreFailed: It can't be had.
        """


class SharedRecords(Protocol):
    """Small values that all servers of a team share."""

    def of(self, name: str, adapter: TypeAdapter[T], empty: T) -> SharedValue[T]:
        """The value of a name; `empty` before its first change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Storage:
    """All storage of one vault; every part of the product gets the ports that it uses."""

    chats: Chats
    documents: ChatDocuments  # JSON objects beside chats
    vault_documents: VaultDocuments  # JSON objects of the vault as a whole
    logs: Logs  # lines that are only added
    vectors: Vectors  # the vectors of chats' messages
    blobs: Blobs  # what was attached to messages
    answers: Answers  # answers that are being written
    events: Events  # messages to the other processes
    leases: Leases  # work that one process at a time may do
    caches: Caches  # what this machine can make again
    # removes what crashes left, and attached files that nothing has named for a week. Takes the
    # time in seconds since 1970, blocks, and returns the files' keys.
    clear_up: Callable[[float], Sequence[str]]
    close: Callable[[], None] = lambda: None  # ends what it has open. Blocks.
    # what all servers share; `None` where that is in the user's folder
    records: SharedRecords | None = None
    # returns if it answers, raises `StoreFailed` if not. Blocks for some seconds at most.
    check: Callable[[], None] = lambda: None
    # what is known of its state, by name, each with what it is
    figures: Callable[[], Mapping[str, tuple[str, float]]] = dict

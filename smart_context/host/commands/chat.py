"""The commands `chat.*`: new, open, send, stop, regenerate, edit, versions, copy and fork."""

import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated, Any

from smart_context.base.config import VaultConfig
from smart_context.base.config.files import MOST_INSTRUCTIONS
from smart_context.base.errors import ChatBusy, CommandFailed, InvalidParams
from smart_context.base.text.names import storable
from smart_context.base.times import utc_stamp
from smart_context.base.values import JsonObject
from smart_context.chat.clients import is_of_client
from smart_context.chat.copies import (
    CONTINUED_FROM,
    FORKED_FROM,
    copied_entries,
    copy_of,
    entries_until,
)
from smart_context.chat.documents import branches
from smart_context.chat.documents.branches import Versions, branches_of, set_branches, versions_of
from smart_context.chat.documents.document import no_messages, set_value, since_unfinished
from smart_context.chat.documents.lineage import NEVER_SAVES
from smart_context.chat.ids import new_chat_id, new_message_id
from smart_context.chat.messages import INSTRUCTIONS, OFF_PICK, PRIVATE, SOURCE, ChatId, Message
from smart_context.host.access import FilesNamed, OwnChat
from smart_context.host.cluster import Cluster
from smart_context.host.commands.files import attached_files, attached_links
from smart_context.host.commands.registry import Caller, CommandRegistry
from smart_context.host.events.events import (
    CHAT_OPENED,
    CHAT_VERSION_SHOWN,
    ChatCopied,
    ChatShown,
    Event,
)
from smart_context.host.models import MODEL, MOST_CHARS
from smart_context.host.turns import transcript
from smart_context.host.turns.turns import Turns
from smart_context.llm.connections import endpoint_of_choice
from smart_context.llm.offers import Offers
from smart_context.storage.ports import Chats, Storage

MAX_MESSAGE_CHARS = 1_000_000


@dataclass(frozen=True, slots=True)
class ChatCommands:
    """The commands for one chat, and for making a chat of another."""

    storage: Storage
    turns: Turns
    repair: Callable[[ChatId], Awaitable[None]]
    tell_plugins: Callable[[Event[ChatShown], ChatShown], None]
    config: Callable[[], VaultConfig]
    cluster: Cluster
    offers: Offers

    def register(self, commands: CommandRegistry) -> None:
        """Register the commands."""
        commands.register_all(
            "chat",
            *(self.new, self.open, self.send, self.stop, self.regenerate, self.edit),
            *(self.set_instructions, self.set_model, self.set_private),
            *(self.list_versions, self.show_version),
        )

    async def new(self, caller: Caller) -> JsonObject:
        """Open a new chat and give its id; it is stored with its first message."""
        chat_id = new_chat_id()
        _open(caller, chat_id)
        return {"chat_id": chat_id}

    async def open(self, chat_id: ChatId, caller: Caller) -> JsonObject:
        """Make a chat the default of this client's commands.

        `answering` in the result is the answer that is under way with its text so far, so a page
        that missed pieces can go on from there; `null` when there is none. It has the `reading` of
        `chat.reading` while the model reads. `unsaved` says why the disk does not hold all of the
        last answer, if it does not.
        """
        await self.repair(chat_id)
        _open(caller, chat_id)
        self.tell_plugins(CHAT_OPENED, {"chat_id": chat_id, "person": caller.person})
        answering = self.turns.under_way(chat_id)
        answer = answering and answering.answer
        under_way = answer.so_far if answer else await self.cluster.answering(chat_id)
        opened: JsonObject = {"chat_id": chat_id, "answering": under_way}
        problem = self.turns.problem(chat_id)
        return {**opened, "unsaved": problem} if problem else opened

    async def send(
        self,
        message: str,
        caller: Caller,
        chat_id: ChatId | None = None,
        stream: bool = True,
        files: Annotated[list[dict[str, Any]] | None, FilesNamed] = None,
        links: list[dict[str, Any]] | None = None,
        off_pick: bool = False,
    ) -> JsonObject:
        """Ask the model, in a new chat by default; returns when the turn is over.

        Args:
            caller: Who asks, and the client that opens a new chat.
            stream: The answer comes piece by piece.
            files: Results of `POST /api/files` or `chat.attach_vault_file`.
            links: Each `{"url", "title"}`.
            off_pick: Question and answer don't belong to the topics that are picked.
        """
        text = _checked_text("message", message)
        blobs = self.storage.for_person(caller.person).blobs
        stored_files = await attached_files(blobs, files or [])
        stored_links = await attached_links(blobs, links or [])
        for file in stored_files:
            await blobs.keep(file["storage_key"])
        if chat_id is None:
            chat_id = new_chat_id()
            _open(caller, chat_id)

        def ask(document: JsonObject) -> Message:
            question = Message(
                id=new_message_id(),
                role="user",
                content=text,
                created_at=self.turns.now(),
                files=stored_files,
                links=stored_links,
                extra={OFF_PICK: True} if off_pick else {},
            )
            transcript.append(document, question)
            return question

        message_ids = await self.turns.take(
            chat_id, ask, person=caller.person, since=since_unfinished, streaming=stream
        )
        return {"chat_id": chat_id, "message_ids": message_ids}

    async def stop(self, chat_id: ChatId) -> JsonObject:
        """Stop the answer that is under way, or both of a comparison; what has arrived is kept."""
        stopped = await self.turns.stop(chat_id) or await self.cluster.stop(chat_id)
        return {"chat_id": chat_id, "stopped": stopped}

    async def regenerate(
        self,
        chat_id: ChatId,
        message_id: str,
        caller: Caller,
        stream: bool = True,
        text: str | None = None,
        model: str | None = None,
        what_fits: bool = False,
    ) -> JsonObject:
        """Answer a question again; the previous answer stays as a version, with all that followed.

        Args:
            message_id: The answer, or its question.
            stream: The new answer comes piece by piece.
            text: Ask this instead, with the same files; the previous question stays as a version.
            model: Ask this model, this once: as in `chat.set_model`.
            what_fits: Send less, down to what the model takes: after a request that was too long.
        """
        wanted = await self._known_model(model)
        asked = None if text is None else _checked_text("text", text)

        def ask(document: JsonObject) -> Message:
            return transcript.ask_again(document, message_id, text=asked, now=self.turns.now())

        message_ids = await self.turns.take(
            chat_id,
            ask,
            person=caller.person,
            streaming=stream,
            model=wanted,
            what_fits=what_fits,
        )
        return {"chat_id": chat_id, "message_ids": message_ids}

    async def list_versions(self, chat_id: ChatId, caller: Caller) -> JsonObject:
        """List the messages at which a chat has versions, and which version is current.

        A version is a message and all that followed it; `version` counts from 1, the oldest.
        `message_ids` are the first messages of all of them.
        """
        found = versions_of(await self._chats(caller).load(chat_id, reader=NEVER_SAVES))
        return {
            "chat_id": chat_id,
            "versions": [
                {**_as_object(message_id, versions), "message_ids": [*versions.heads]}
                for message_id, versions in found.items()
            ],
        }

    async def show_version(
        self, chat_id: ChatId, message_id: str, caller: Caller, version: int | None = None
    ) -> JsonObject:
        """Make another version current; the one that was stays, with all that followed it.

        Args:
            message_id: The first message of any of the versions; without `version` any message of
                the one that you want.
            version: Its number, from 1, the oldest.
        """
        if self.turns.is_answered(chat_id):
            raise ChatBusy("this chat is still being answered; stop that first, or wait")
        await self.repair(chat_id)
        shown: list[tuple[str, Versions]] = []

        def show(document: JsonObject) -> None:
            if is_of_client(document):
                raise CommandFailed(
                    "another program keeps the history of this chat; "
                    "choose the version there, or continue in a copy"
                )
            shown[:] = [
                branches.show_version(
                    document,
                    message_id,
                    version,
                    new_id=new_message_id,
                    now=self.turns.now(),
                )
            ]

        await self._chats(caller).update(chat_id, show, creates=False)
        self.tell_plugins(CHAT_VERSION_SHOWN, {"chat_id": chat_id, "person": caller.person})
        return {"chat_id": chat_id, **_as_object(*shown[0])}

    async def set_instructions(self, chat_id: OwnChat, text: str, caller: Caller) -> JsonObject:
        """Set what the model is told in each turn of a chat; an empty text takes it away.

        Args:
            text: At most 20,000 characters.
        """
        told = storable(text.strip())
        if len(told) > MOST_INSTRUCTIONS:
            raise InvalidParams(
                f"text: expected at most {MOST_INSTRUCTIONS:,} characters, found {len(told):,}"
            )
        await self._set(caller, chat_id, INSTRUCTIONS, told)
        return {"chat_id": chat_id, "instructions": told}

    async def set_private(
        self, chat_id: OwnChat, caller: Caller, private: bool = True
    ) -> JsonObject:
        """Keep other chats from recalling a chat, or let them again."""
        await self._set(caller, chat_id, PRIVATE, private)
        return {"chat_id": chat_id, "private": private}

    async def set_model(
        self, chat_id: OwnChat, caller: Caller, model: str | None = None
    ) -> JsonObject:
        """Choose the model that answers in a chat; without one, the default does again.

        Args:
            model: A connection and its model: `openai/gpt-4o`. A bare name is a model of the
                default connection, or of the one that offers it; `chat` and `fast` are those of
                the settings.
        """
        wanted = await self._known_model(model)

        def change(document: JsonObject) -> None:
            if is_of_client(document):
                raise CommandFailed("Another program keeps this chat, and chooses its model.")
            set_value(document, MODEL, wanted)

        await self._chats(caller).update(chat_id, change, since=no_messages)
        return {"chat_id": chat_id, "model": wanted}

    def _chats(self, caller: Caller) -> Chats:
        return self.storage.for_person(caller.person).chats

    async def _set(self, caller: Caller, chat_id: ChatId, key: str, value: object) -> None:
        def change(document: JsonObject) -> None:
            set_value(document, key, value)

        await self._chats(caller).update(chat_id, change, since=no_messages)

    async def _known_model(self, model: str | None) -> str:
        wanted, config = storable((model or "").strip()), self.config()
        is_short = len(wanted) <= MOST_CHARS
        if not wanted or (is_short and endpoint_of_choice(config, wanted) is not None):
            return wanted
        offered = await self.offers.choices(config, wanted) if is_short else []
        if len(offered) > 1:
            raise CommandFailed(
                f"Several connections have this model. Choose one: {', '.join(offered)}."
            )
        if not offered:
            raise CommandFailed(
                "No connected endpoint has this model. Choose a connection and one of its models, "
                "such as openai/gpt-4o; system.models lists them."
            )
        return offered[0]

    async def edit(self, chat_id: ChatId, message_id: str, text: str, caller: Caller) -> JsonObject:
        """Change what a message says, in place; a changed question is not asked again."""
        new_text = _checked_text("text", text)
        await self._chats(caller).update(
            chat_id, lambda document: transcript.change_text(document, message_id, new_text)
        )
        return {"chat_id": chat_id, "message_id": message_id}


def _as_object(message_id: str, versions: Versions) -> JsonObject:
    return {"message_id": message_id, "version": versions.current, "versions": versions.count}


def _open(caller: Caller, chat_id: ChatId) -> None:
    if caller.client is not None:
        caller.client.chat_id = chat_id


def _checked_text(name: str, text: str) -> str:
    if not text.strip():
        raise InvalidParams(f"{name}: expected some text, found none")
    if len(text) > MAX_MESSAGE_CHARS:
        raise InvalidParams(
            f"{name}: expected at most {MAX_MESSAGE_CHARS:,} characters, found {len(text):,}"
        )
    return storable(text)


@dataclass(frozen=True, slots=True)
class CopyCommands:
    """Makes chats of other chats."""

    storage: Storage
    tell_plugins: Callable[[ChatCopied], Awaitable[None]]  # lets them copy what they keep

    def register(self, commands: CommandRegistry) -> None:
        """Register the commands."""
        commands.register_all("memory", self.copy_chat, self.fork)

    async def copy_chat(self, chat_id: ChatId, caller: Caller) -> JsonObject:
        """Copy a chat with its versions into one of your own."""
        chats = self.storage.for_person(caller.person).chats
        document = await chats.load(chat_id, reader=NEVER_SAVES)
        copy = _titled(copy_of(document, document["messages"]), document, "copy")
        copied = [
            {**branch, "messages": copied_entries(branch["messages"], {})}
            for branch in branches_of(document)
        ]
        set_branches(copy, copied)
        copy[CONTINUED_FROM] = chat_id
        return await self._stored(chat_id, copy, caller)

    async def fork(
        self, chat_id: ChatId, message_id: str, caller: Caller, topics: list[str] | None = None
    ) -> JsonObject:
        """Go on from a message in a new chat, which has all up to it; `topics` are picked there.

        A tool call is copied with all its results.
        """
        chats = self.storage.for_person(caller.person).chats
        document = await chats.load(chat_id, reader=NEVER_SAVES)
        entries = entries_until(document, message_id)
        if not entries:
            raise CommandFailed(f"message {message_id[:80]!r} not found in chat {chat_id!r}")
        copy = _titled(copy_of(document, entries), document, "branch")
        at = utc_stamp()
        copy[FORKED_FROM] = {"chat_id": chat_id, "message_id": message_id, "at": at}
        return await self._stored(chat_id, copy, caller, topics)

    async def _stored(
        self, source: ChatId, copy: JsonObject, caller: Caller, topics: list[str] | None = None
    ) -> JsonObject:
        if not copy["messages"]:
            raise CommandFailed(f"chat {source!r} has no messages to continue from")
        made = new_chat_id()
        chats = self.storage.for_person(caller.person).chats
        await chats.save(made, copy, reader=secrets.token_hex(4))
        await self.tell_plugins(
            {"chat_id": made, "source": source, "topics": topics or [], "person": caller.person}
        )
        return {"chat_id": made, "messages": len(copy["messages"])}


def _titled(copy: JsonObject, document: JsonObject, kind: str) -> JsonObject:
    """The copy with a title that tells it from the other; one of a client goes on by its name."""
    title = document.get("title")
    if SOURCE in document or not isinstance(title, str) or not title:
        return copy
    return {**copy, "title": f"{title} ({kind})"}

"""Access to chats, files and contexts: decided here for commands, pages, files and events."""

import asyncio
from collections.abc import Callable, Collection, Iterable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Any, Literal, NamedTuple, Protocol

from smart_context.base.errors import (
    ChatIdInvalid,
    ChatUnreadable,
    CommandFailed,
    InvalidParams,
    SmartContextError,
)
from smart_context.base.values import NOBODY, OWNER, PersonId
from smart_context.chat.ids import placeholder_for, unknown_chat
from smart_context.chat.messages import ChatId
from smart_context.host.placeholders import Placeholders
from smart_context.storage.guarded.storage import SharedStorage

_SHOWN = 128

OwnedKind = Literal["chat", "file", "context", "client key"]


class OwnedName(NamedTuple):
    """Something that belongs to a person, whether it exists or not."""

    kind: OwnedKind  # the kind of thing
    name: str  # a chat's id, a file's storage key, a context's key, or the name of a client's key
    only_theirs: bool = False  # True if only its own person may do this, even if it is shared
    # whose thing of this name is meant, where each person has things of their own
    person: PersonId = NOBODY


class Everybody(Enum):
    """The audience of things without an owner."""

    EVERYBODY = "everybody"


EVERYBODY = Everybody.EVERYBODY

Audience = OwnedName | PersonId | Everybody
"""The receivers of an event: the people who may see something, one person, or everybody."""


class Access(Protocol):
    """Decides who may use what.

    Attributes:
        has_people: True if several people use the vault, and see only their own and shared things.
    """

    has_people: bool

    async def may_use(self, person: PersonId, owned: OwnedName) -> bool:
        """True if it is the person's or shared, or does not exist yet and they may create it.

        The answer is the same for another person's things and for things that can't exist, so it
        does not reveal which exist.
        """

    async def is_theirs(self, person: PersonId, owned: OwnedName) -> bool:
        """True if something that the person may use is their own, not shared by another."""

    def hearing(self, audience: Audience, people: AbstractSet[PersonId]) -> Collection[PersonId]:
        """The people of `people` who may get an event of this audience; must not block.

        It is called for each event, so its time should not grow with the number of people.
        """


class OwnerOnly:
    """The access of a server with one person, who owns everything."""

    has_people = False

    async def may_use(self, person: PersonId, owned: OwnedName) -> bool:  # noqa: ARG002 - all is theirs
        """True for the owner."""
        return person == OWNER

    async def is_theirs(self, person: PersonId, owned: OwnedName) -> bool:  # noqa: ARG002 - the same
        """True for the owner."""
        return person == OWNER

    def hearing(self, audience: Audience, people: AbstractSet[PersonId]) -> Collection[PersonId]:
        """The owner, or all people for an event to everybody."""
        if audience is EVERYBODY:
            return people
        reached = OWNER if isinstance(audience, OwnedName) else audience
        return people & {reached}


class PersonalAccess:
    """The access of a server for several people, who may share chats and contexts."""

    has_people = True

    def __init__(self, people: SharedStorage) -> None:
        self._people = people
        self._owners = people.owners

    async def may_use(self, person: PersonId, owned: OwnedName) -> bool:
        """True if it is the person's or shared, or does not exist yet and they may create it."""
        if person == NOBODY:
            return False
        if owned.kind == "chat":
            return await self._may_use_chat(person, owned.name)
        if owned.kind == "file":
            return await self._owners.has_file(person, owned.name)
        return True  # each person has separate contexts and keys

    async def is_theirs(self, person: PersonId, owned: OwnedName) -> bool:
        """True if something that the person may use is their own, not shared by another."""
        if owned.kind == "chat":
            whose = await self._owners.of_chat(owned.name)
            return whose is None or whose.person == person
        if owned.kind == "context":
            contexts = self._people.contexts_of(person)
            return await asyncio.to_thread(contexts.shared_by, owned.name) in {None, person}
        return True

    def hearing(self, audience: Audience, people: AbstractSet[PersonId]) -> Collection[PersonId]:
        """The people of `people` who may get an event of this audience."""
        reached = self._reached(audience)
        return people - {NOBODY} if reached is EVERYBODY else people & {reached}

    def _reached(self, audience: Audience) -> PersonId | Everybody | None:
        if not isinstance(audience, OwnedName):
            return audience
        if audience.kind == "chat":
            whose = self._owners.known(audience.name)
            if whose is None:
                return None
            return EVERYBODY if whose.is_shared else whose.person
        return EVERYBODY if audience.name in self._people.known_as_shared else audience.person

    async def _may_use_chat(self, person: PersonId, chat_id: str) -> bool:
        try:
            whose = await self._owners.of_chat(chat_id)
        except ChatIdInvalid:
            return True  # no chat can have this id; the command will refuse it
        except ChatUnreadable:
            return person == OWNER  # a damaged chat does not tell whose it is
        except SmartContextError:
            if person == OWNER:
                raise
            return False
        return whose is None or whose.may_use(person)


def unknown(owned: OwnedName) -> SmartContextError:
    """The error for something that a person may not see, the same as if it did not exist."""
    if owned.kind == "file":
        return InvalidParams("files: expected a result of POST /api/files, found an unknown key")
    name = owned.name[:_SHOWN]
    if owned.kind == "context":
        return CommandFailed(f"There is no context {name!r}.")
    if owned.kind == "client key":
        return CommandFailed(f"There is no key {name!r}; see: smart-context keys list")
    return unknown_chat(owned.name)


async def check_access(
    access: Access, person: PersonId, named: Iterable[OwnedName]
) -> Placeholders:
    """Refuse things that the person may not use.

    Returns:
        The placeholders for other people's chats.

    Raises:
        SmartContextError: The same error as for an unknown name; or, for a thing that is shared
            with the person, one that says that only its own person can do this.
    """
    placeholders: dict[str, str] = {}
    for owned in named:
        if not await access.may_use(person, owned):
            if owned.kind != "chat" or not access.has_people:
                raise unknown(owned)
            placeholders[owned.name] = placeholder_for(owned.name, person)
        elif owned.only_theirs and not await access.is_theirs(person, owned):
            raise CommandFailed(f"Only the person whose {owned.kind} it is can do this.")
    return Placeholders(placeholders)


@dataclass(frozen=True, slots=True)
class NamesOwned:
    """Marks the annotation of a command's parameter that names something owned."""

    # gives the things that a value names; never called with `None`
    owned: Callable[[Any], Iterable[OwnedName]]


def _chats(value: str | list[str]) -> Iterable[OwnedName]:
    return [
        OwnedName("chat", chat_id) for chat_id in ([value] if isinstance(value, str) else value)
    ]


def _own_chats(value: str | list[str]) -> Iterable[OwnedName]:
    return [owned._replace(only_theirs=True) for owned in _chats(value)]


def _files(value: object) -> Iterable[OwnedName]:
    """The files that a value names at any depth, since a key gives access to a file anywhere."""
    left = [value]
    while left:
        part = left.pop()
        if isinstance(part, list):
            left.extend(part)
        elif isinstance(part, dict):
            left.extend(part.values())
            if isinstance(key := part.get("storage_key"), str):
                yield OwnedName("file", key)


FilesNamed = NamesOwned(_files)
"""Marks a parameter with results of `POST /api/files`, or with messages that name such files."""

OwnChat = Annotated[ChatId, NamesOwned(_own_chats)]
"""A chat's id, for a command that only the chat's own person may give."""

OwnChats = Annotated[list[ChatId], NamesOwned(_own_chats)]
"""The ids of chats, for a command that only their own person may give."""

CHATS_BY_NAME = {"chat_id": NamesOwned(_chats), "chat_ids": NamesOwned(_chats)}
"""The parameters that are chats by their name, whatever their annotation."""

"""Who may see what: the one decision behind commands, pages, attached files and events."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Any, Literal, NamedTuple, Protocol

from smart_context.base.errors import CommandFailed, InvalidParams, SmartContextError
from smart_context.base.values import OWNER, PersonId

_SHOWN = 128

Kind = Literal["chat", "file", "context", "client key"]


class Owned(NamedTuple):
    """Something that belongs to a person, whether it exists or not.

    Attributes:
        kind: What it is.
        name: A chat's id, a file's storage key, a context's key, or the name of a client's key.
    """

    kind: Kind
    name: str


class Everybody(Enum):
    """The audience of what belongs to nobody."""

    EVERYBODY = "everybody"


EVERYBODY = Everybody.EVERYBODY

Audience = Owned | PersonId | Everybody
"""Who gets an event: those who may see something, one person, or everybody."""


class Access(Protocol):
    """Decides what is whose."""

    async def may_use(self, person: PersonId, owned: Owned) -> bool:
        """True if it is the person's, or nobody has it and they may make it.

        What is another's and what nobody can have get the same answer, so that the answer tells
        nobody what there is.
        """

    def hears(self, person: PersonId, audience: Audience) -> bool:
        """True if the person belongs to an event's audience; must not block."""


class OwnerOnly:
    """The access of a server with one person: everything is theirs, and nothing another's."""

    async def may_use(self, person: PersonId, owned: Owned) -> bool:  # noqa: ARG002 - all is theirs
        """True for the owner."""
        return person == OWNER

    def hears(self, person: PersonId, audience: Audience) -> bool:
        """True for the owner, and for everybody of what everybody gets."""
        reached = OWNER if isinstance(audience, Owned) else audience
        return reached is EVERYBODY or person == reached


def unknown(owned: Owned) -> SmartContextError:
    """The error for something that is not there for a person, whether or not it exists."""
    if owned.kind == "file":
        return InvalidParams("files: expected a result of POST /api/files, found an unknown key")
    name = owned.name[:_SHOWN]
    if owned.kind == "context":
        return CommandFailed(f"There is no context {name!r}.")
    if owned.kind == "client key":
        return CommandFailed(f"There is no key {name!r}; see: smart-context keys list")
    return CommandFailed(f"There is no chat {name!r}; it may have been deleted.")


async def check_access(access: Access, person: PersonId, named: Iterable[Owned]) -> None:
    """Refuse what is not the person's.

    Raises:
        SmartContextError: The error that an unknown name gets.
    """
    for owned in named:
        if not await access.may_use(person, owned):
            raise unknown(owned)


@dataclass(frozen=True, slots=True)
class Names:
    """Marks the annotation of a command's parameter that names something owned.

    Attributes:
        owned: What a value of the parameter names; gets no `None`.
    """

    owned: Callable[[Any], Iterable[Owned]]


def _chats(value: str | list[str]) -> Iterable[Owned]:
    return [Owned("chat", chat_id) for chat_id in ([value] if isinstance(value, str) else value)]


def _files(value: object) -> Iterable[Owned]:
    """The files that a value names, however deep: a key opens a file wherever it stands."""
    left = [value]
    while left:
        part = left.pop()
        if isinstance(part, list):
            left.extend(part)
        elif isinstance(part, dict):
            left.extend(part.values())
            if isinstance(key := part.get("storage_key"), str):
                yield Owned("file", key)


FilesNamed = Names(_files)
"""Marks a parameter with results of `POST /api/files`, or with messages that name such files."""

CHATS_BY_NAME = {"chat_id": Names(_chats), "chat_ids": Names(_chats)}
"""Parameters of these names are chats, whatever their annotation."""

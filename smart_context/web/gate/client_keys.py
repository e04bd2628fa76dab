"""The keys that clients of the API have: digests, in the user's folder. Everything here blocks."""

import re
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path

from pydantic import TypeAdapter

from smart_context.base.asking import person_tag
from smart_context.base.disk.files import SharedFile
from smart_context.base.disk.places import Place
from smart_context.base.errors import CommandFailed
from smart_context.base.shared import Shared
from smart_context.base.values import OWN_KEY, OWNER, PersonId

FILE_NAME = "client-keys.json"
KEY_BEGINNING = "sc-"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientKey:
    """A key, without the key itself."""

    digest: str  # what is compared
    created_at: int  # in seconds since 1970
    person: str = OWNER  # who made it, and who its requests come from


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientKeys:
    """All keys, by `full_name`."""

    keys: Mapping[str, ClientKey] = field(default_factory=dict)

    def of(self, person: PersonId) -> Mapping[str, ClientKey]:
        """A person's keys, by the names that they gave them."""
        return {short_name(name): key for name, key in self.keys.items() if key.person == person}

    def person_of(self, name: str) -> PersonId:
        """The person of a key, by its full name."""
        known = self.keys.get(name)
        return PersonId(known.person) if known else OWNER

    def name_of(self, key: str) -> str:
        """The name of a key; empty for one that is not known."""
        digest = key_digest(key)
        return next((name for name, known in self.keys.items() if known.digest == digest), "")


RECORD_OF_KEYS = TypeAdapter(ClientKeys)


class KeyFile:
    """Reads and changes the keys, which several servers and commands share.

    Args:
        folder: The user's folder for settings; made when something is first written.
        shared: Where the servers of a team keep the keys, in place of that folder.
        clock: The time in seconds since 1970.
    """

    def __init__(
        self,
        folder: Path,
        *,
        shared: Shared[ClientKeys] | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        place = Place(folder, (FILE_NAME,))
        own = SharedFile(place=place, adapter=RECORD_OF_KEYS, empty=ClientKeys())
        self._file: Shared[ClientKeys] = shared or own
        self._clock = clock

    def read(self) -> ClientKeys:
        """The keys; none when there is no file, or when it is damaged.

        Raises:
            StoreFailed: If it can't be read.
        """
        return self._file.read()[1]

    def new(self, name: str, person: PersonId = OWNER) -> str:
        """Make a key of a person; it is given out this once.

        Raises:
            CommandFailed: If the name is taken, or can't be one.
            StoreFailed: If it can't be written.
        """
        if not _NAME.fullmatch(name) or name == OWN_KEY:
            raise CommandFailed(
                f"{name!r} can't be a key's name. Use up to 64 letters, digits, '-' and '_', and "
                f"not {OWN_KEY!r}."
            )
        key = KEY_BEGINNING + secrets.token_urlsafe(32)
        made = ClientKey(digest=key_digest(key), created_at=int(self._clock()), person=person)
        kept_as = full_name(name, person)

        def change(record: ClientKeys) -> ClientKeys:
            if kept_as in record.keys:
                raise CommandFailed(
                    f"There is a key {name!r} already. Choose another name, or run: "
                    f"smart-context keys revoke {name}"
                )
            return replace(record, keys={**record.keys, kept_as: made})

        self._file.update(change)
        return key

    def revoke(self, name: str, person: PersonId = OWNER) -> None:
        """Remove a key.

        Raises:
            CommandFailed: If there is no such key.
            StoreFailed: If it can't be written.
        """
        kept_as = full_name(name, person)

        def change(record: ClientKeys) -> ClientKeys:
            if kept_as not in record.keys:
                raise CommandFailed(f"There is no key {name!r}; see: smart-context keys list")
            return replace(record, keys={k: v for k, v in record.keys.items() if k != kept_as})

        self._file.update(change)


def full_name(name: str, person: PersonId) -> str:
    """The name under which a person's key is kept: two people may call theirs the same."""
    tag = person_tag(person)
    return f"{name}@{tag}" if tag else name


def short_name(name: str) -> str:
    """The name that a key's person gave it, from its full name."""
    return name.partition("@")[0]


def is_of(name: str, person: PersonId) -> bool:
    """True if a key of this full name is a person's."""
    return name.partition("@")[2] == person_tag(person)


def key_digest(key: str) -> str:
    """The form in which a key is kept. It is random and long: no salt is needed."""
    return sha256(key.encode("utf-8", "replace")).hexdigest()

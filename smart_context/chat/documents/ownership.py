"""Whose a chat is: kept in its document, so that it goes wherever the chat goes. Pure."""

from collections.abc import Mapping
from typing import NamedTuple

from smart_context.base.values import OWNER, JsonObject, PersonId

OWNED_BY = "owned_by"
"""The key of a document's owner, `{"person", "shared"}`; a chat without it is `OWNER`'s."""


class Ownership(NamedTuple):
    """Whose a chat is."""

    person: PersonId = OWNER  # who made it: only they delete, rename and share it
    is_shared: bool = False  # all people may read it and write in it

    def may_use(self, person: PersonId) -> bool:
        """True if a person may read the chat and write in it."""
        return self.is_shared or person == self.person

    def value(self) -> JsonObject | None:
        """The value to store under `OWNED_BY`; `None` if nothing need be stored."""
        if self == Ownership():
            return None
        return {"person": self.person, **({"shared": True} if self.is_shared else {})}


def ownership_of(value: object) -> Ownership:
    """Whose a chat is, from the value under `OWNED_BY`; the owner's if it is damaged."""
    if not isinstance(value, Mapping):
        return Ownership()
    person, shared = value.get("person"), value.get("shared")
    named = PersonId(person) if isinstance(person, str) and person else OWNER
    return Ownership(named, shared is True)

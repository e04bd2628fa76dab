"""The owner of a chat, as its document names it. Pure."""

from collections.abc import Mapping
from typing import NamedTuple

from smart_context.base.values import OWNER, JsonObject, PersonId
from smart_context.chat.messages import INSTRUCTIONS, PRIVATE, SOURCE

OWNED_BY = "owned_by"
"""The key of a document's owner, `{"person", "shared"}`; a chat without it is `OWNER`'s."""

ITS_PERSONS = (
    *(OWNED_BY, "title", "folder", "pinned", "archived", PRIVATE),
    *(INSTRUCTIONS, "model", SOURCE, "created_at"),
)
"""The keys of a document that only the chat's owner may change, even if the chat is shared."""


class Ownership(NamedTuple):
    """The owner of a chat, and if it is shared."""

    person: PersonId = OWNER  # the owner, who alone may delete, rename and share it
    is_shared: bool = False  # all people may read it and write in it

    def may_use(self, person: PersonId) -> bool:
        """True if a person may read the chat and write in it."""
        return self.is_shared or person == self.person

    def value(self) -> JsonObject | None:
        """The value to store under `OWNED_BY`; `None` for the default, which is not stored."""
        if self == Ownership():
            return None
        return {"person": self.person, **({"shared": True} if self.is_shared else {})}


def ownership_of(value: object) -> Ownership:
    """The ownership in a value under `OWNED_BY`; `OWNER`'s, unshared, if the value is damaged."""
    person = value.get("person") if isinstance(value, Mapping) else None
    if not isinstance(value, Mapping) or not isinstance(person, str) or not person:
        return Ownership()
    return Ownership(PersonId(person), value.get("shared") is True)

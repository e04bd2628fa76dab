"""What a chat recalls from other chats: references to their messages, never copies.

A frozen value; it is stored with the user's other choices for the chat.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from smart_context.base.errors import ChatIdInvalid
from smart_context.base.values import OWNER, JsonObject, PersonId
from smart_context.chat.ids import check_chat_id
from smart_context.chat.messages import ChatId, MessageId

MOST_REFERENCES = 2_000
"""The most messages that one recall refers to."""

LONGEST_LABEL = 120


class Reference(NamedTuple):
    """A message of another chat."""

    chat_id: ChatId
    message_id: MessageId


@dataclass(frozen=True, slots=True, kw_only=True)
class Recall:
    """What was said elsewhere about something, attached to a chat."""

    id: str
    label: str
    max_tokens: int
    references: tuple[Reference, ...]  # the messages, best first; as many as could fit one day
    found: int  # the number of messages that there were
    # where they came from, as the command got it
    source: Mapping[str, Any] = field(default_factory=dict)
    person: PersonId = OWNER  # who attached it: only what they may see is sent

    def to_dict(self) -> JsonObject:
        """The JSON object to store."""
        return {
            "id": self.id,
            "label": self.label,
            "max_tokens": self.max_tokens,
            "found": self.found,
            "source": dict(self.source),
            "person": self.person,
            "messages": [list(reference) for reference in self.references],
        }

    @classmethod
    def from_dict(cls, document: object) -> "Recall | None":
        """The recall from its JSON object; `None` if it is damaged."""
        match document:
            case {
                "id": str(id_),
                "label": str(label),
                "max_tokens": int(most),
                "messages": [*messages],
                **others,
            }:
                references = tuple(filter(None, map(_reference, messages[:MOST_REFERENCES])))
                found, source = others.get("found"), others.get("source")
                return cls(
                    id=id_,
                    label=label[:LONGEST_LABEL],
                    max_tokens=most,
                    references=references,
                    found=max(found if isinstance(found, int) else 0, len(references)),
                    source=source if isinstance(source, dict) else {},
                    person=PersonId(str(others.get("person", OWNER))),
                )
            case _:
                return None


def _reference(entry: object) -> Reference | None:
    match entry:
        case [str(chat), str(message)]:
            try:
                return Reference(check_chat_id(chat), MessageId(message))
            except ChatIdInvalid:
                return None
        case _:
            return None

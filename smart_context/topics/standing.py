"""Finds standing instructions without a model: what a user says once and means for good."""

import re
from collections.abc import Sequence

from smart_context.chat.messages import Message, MessageId
from smart_context.topics.standing_phrases import PHRASES

_LONGEST, _BEGINNING = 600, 300
_PATTERN = re.compile("|".join(f"(?:{p})" for p in PHRASES).replace(" ", r"\s+"), re.IGNORECASE)


def standing_instructions(messages: Sequence[Message]) -> tuple[MessageId, ...]:
    """The user's messages that set something for the whole chat, chronological."""
    return tuple(
        message.id for message in messages if message.role == "user" and is_standing(message.text)
    )


def is_standing(text: str) -> bool:
    """Whether a user's text asks for something that holds until further notice.

    Of a long text only the beginning counts: what a pasted document demands is not meant.
    """
    return _PATTERN.search(text[:_BEGINNING] if len(text) > _LONGEST else text) is not None

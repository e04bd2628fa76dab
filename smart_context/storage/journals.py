"""An answer's journal as bytes: a line of JSON for its head, each piece and each step. Pure."""

import json

from smart_context.chat.messages import Arrived, MessageId, Part

ONLY_IN_MEMORY = "The end of this answer is only in memory: it is lost if the server ends now."
"""The notice for the user while storage refuses pieces; the reason follows it."""


def journal_line(value: object) -> bytes:
    """A piece of text, or `{"steps": [...]}`, as a line."""
    return f"{json.dumps(value, default=dict)}\n".encode()


def journal_head(message_id: MessageId) -> bytes:
    """The first line."""
    return journal_line({"message_id": message_id})


def parse_journal(content: bytes) -> Arrived | None:
    """The content of a journal; `None` if it is unusable."""
    values: list[object] = []
    for line in content.split(b"\n"):
        try:
            values.append(json.loads(line))
        except (ValueError, RecursionError):  # cut short
            break
    head = values[0] if values else None
    message_id = head.get("message_id") if isinstance(head, dict) else None
    if not isinstance(message_id, str) or not message_id:
        return None
    pieces: list[str] = []
    steps: list[Part] = []
    for value in values[1:]:
        if isinstance(value, str):
            pieces.append(value)
        elif isinstance(value, dict) and isinstance(value.get("steps"), list):
            pieces.clear()
            steps += [part for part in value["steps"] if isinstance(part, dict)]
    return Arrived(MessageId(message_id), "".join(pieces), tuple(steps))

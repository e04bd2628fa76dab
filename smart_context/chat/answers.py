"""What has arrived of an answer."""

from typing import NamedTuple

from smart_context.chat.messages import MessageId, Part


class Arrived(NamedTuple):
    """What has arrived of an answer: its message, its text after the steps, and the steps."""

    message_id: MessageId
    text: str
    steps: tuple[Part, ...] = ()

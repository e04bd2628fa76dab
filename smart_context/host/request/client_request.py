"""The request of another program, as a turn knows it."""

from dataclasses import dataclass
from typing import Literal

from smart_context.chat.messages import Message

ReceiptKind = Literal["turn", "aside", "held by the provider"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientRequest:
    """A request that came in through the gateway.

    Attributes:
        client: The program, as far as it is known.
        endpoint: The address that is asked; empty if we answer ourselves.
        kind: `turn`: the filter applies; `aside`: a task of the program's own, such as a title;
            `held by the provider`: the provider has the history, so nothing can be left out.
        model: The model that is asked.
        following: What follows the question, such as an agent's tool calls and their results so
            far; all of it goes.
    """

    client: str
    endpoint: str
    kind: ReceiptKind
    model: str
    following: tuple[Message, ...] = ()

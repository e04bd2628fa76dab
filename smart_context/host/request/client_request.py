"""The request of another program, as a turn knows it."""

from dataclasses import dataclass
from typing import Literal

from smart_context.chat.messages import Message

ReceiptKind = Literal["turn", "aside", "held by the provider"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientRequest:
    """A request that came in through the gateway."""

    client: str  # the program, as far as it is known
    endpoint: str  # the address that is asked; empty if we answer ourselves
    # `turn`: the filter applies; `aside`: a task of the program's own, such as a title; `held by
    # the provider`: the provider has the history, so nothing can be left out
    kind: ReceiptKind
    model: str  # the model that is asked
    # what follows the question, such as an agent's tool calls and their results so far; all of it
    # goes
    following: tuple[Message, ...] = ()

"""What a request is made of: its tokens by part."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from smart_context.chat.messages import Message
from smart_context.plugin.forecast.costs import PARTS, Costs
from smart_context.plugin.forecast.hidden_text import note_places, place, unseen_in
from smart_context.plugin.selection.selector import ChatView, Decision
from smart_context.values import CountTokens

PART_NAMES: Mapping[str, str] = {
    "system": "System prompt",
    "role": "Role",
    "contexts": "Notes",
    "attachments": "Attachments",
    "summary": "Summary",
    "history": "Messages",
    "message": "This message",
}
"""What people read for each part of a request, in the order in which they are sent."""

MAX_PLACES = 50
"""Most places with unseen characters that are listed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Portions:
    """Tokens of one request by part.

    Attributes:
        system: The system prompt without role and contexts, and system messages of the chat.
        role: The chat's role with its files.
        contexts: The named contexts.
        attachments: Files and links of messages.
        summary: Summaries that stand for older messages.
        history: All other messages.
        message: What is asked.
    """

    system: int = 0
    role: int = 0
    contexts: int = 0
    attachments: int = 0
    summary: int = 0
    history: int = 0
    message: int = 0

    @property
    def tokens(self) -> int:
        """All of them."""
        return sum(asdict(self).values())

    def to_dict(self) -> dict[str, int]:
        """By the parts' names, in the order in which they are sent."""
        return asdict(self)


def portions(
    view: ChatView, decision: Decision, costs: Costs, count_tokens: CountTokens
) -> Portions:
    """The tokens of the chat's part of a request: no role, no contexts and no message yet.

    Args:
        view: The chat.
        decision: What is sent of it.
        costs: Of the decision's candidates.
        count_tokens: Counts for the model that is asked.
    """
    is_in = decision.selection.reasons.is_in
    sums = np.bincount(costs.parts[is_in], weights=costs.tokens[is_in], minlength=len(PARTS))
    by_part = dict(zip(PARTS, map(int, sums), strict=True))
    attached = _attached(view, decision, costs, count_tokens)
    return Portions(
        system=by_part["system"],
        summary=by_part["summary"],
        history=max(by_part["history"] - attached, 0),
        attachments=attached,
    )


def places(
    decision: Decision, costs: Costs, system_prompt: str, message: str
) -> list[dict[str, object]]:
    """Where a request holds what people don't see, in the order in which it is sent."""
    is_in = decision.selection.reasons.is_in
    found = note_places(system_prompt)
    for position, unseen in costs.unseen.items():
        if is_in[position]:
            sender = decision.candidates[position]
            found += [place(_speaker(sender), one, sender.id) for one in unseen]
    found += [place("your message", one) for one in unseen_in(message)]
    return found[:MAX_PLACES]


def _attached(view: ChatView, decision: Decision, costs: Costs, count_tokens: CountTokens) -> int:
    """What the files and links add to the messages that carry them."""
    carriers = {
        message.id: position
        for position, message in enumerate(decision.candidates)
        if message.files or message.links
    }
    if not carriers:
        return 0
    is_in = decision.selection.reasons.is_in
    written = {m.id: m for m in view.messages if m.id in carriers}
    return sum(
        max(int(costs.tokens[position]) - count_tokens(written[message_id].text), 0)
        for message_id, position in carriers.items()
        if message_id in written and is_in[position] and _is_plain(decision.candidates, position)
    )


def _is_plain(candidates: Sequence[Message], position: int) -> bool:
    return candidates[position].role == "user"


def _speaker(message: Message) -> str:
    return {"user": "a message of yours", "assistant": "an answer"}.get(
        message.role, f"a {message.role} message"
    )

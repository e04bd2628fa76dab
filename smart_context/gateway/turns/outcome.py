"""How a request ended, and which messages were added to it."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from smart_context.chat.messages import Message
from smart_context.gateway.answers.gathered import Gathered
from smart_context.gateway.requests.outgoing import Outgoing
from smart_context.host.request.sent import added_by_client, request_body
from smart_context.host.turn import Turn
from smart_context.llm.echoes import Echoes


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The result of a request.

    Attributes:
        gathered: The answer, as far as it arrived.
        error: Why it failed, for people; empty if it did not.
        error_code: The HTTP status, where there was one.
        is_stopped: The client went away, or the server stopped.
    """

    gathered: Gathered
    error: str = ""
    error_code: int = 0
    is_stopped: bool = False


class TurnAborted(Exception):
    """A plugin has stopped the turn; the text is its reason."""


def brought_back(
    history: Sequence[Message], ids: Sequence[str], question: int
) -> dict[int, list[Message]]:
    """The messages that the client did not send, by the unit that they precede."""
    places = {message_id: place for place, message_id in enumerate(ids)}
    back: dict[int, list[Message]] = {}
    waiting: list[Message] = []
    for message in history:
        place = places.get(message.id)
        if place is None:
            waiting.append(message)
        elif waiting:
            back[place], waiting = waiting, []
    if waiting:
        back.setdefault(question, []).extend(waiting)
    return back


def note_sent(turn: Turn, sent: Outgoing, echoes: Echoes) -> None:
    """Note in a turn what was sent, for the receipt; without our keys."""
    values, fields = sent.values(), sent.fields
    if echoes.are_in(sent.text):
        values, fields = echoes.value(list(values)), echoes.value(fields)
    turn.sent = tuple([value for value in values if isinstance(value, dict)])
    turn.bodies = (request_body(fields, values, sent.list_name) if sent.list_name else fields,)
    turn.added = added_by_client(fields, turn.system_prompt.strip())


async def finished(work: Any) -> None:
    """Wait for work to end, even if the caller is cancelled meanwhile."""
    task = asyncio.ensure_future(work)
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        raise

"""How a request ended: what was sent of it, and the answers as the chat stores them."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from smart_context.base.times import utc_stamp
from smart_context.base.values import JsonObject
from smart_context.chat.ids import new_message_id
from smart_context.chat.messages import Message
from smart_context.gateway.answers.gathered import Choice, Gathered
from smart_context.gateway.following.matching import ISSUED
from smart_context.gateway.identity.issued import IssuedAnswer, answer_of
from smart_context.gateway.requests.outgoing import Outgoing
from smart_context.host.request.sent import added_by_client, request_body
from smart_context.host.turn import Turn
from smart_context.host.turns.transcript import NOTHING_CAME, notice_of, stored_answer
from smart_context.llm.echoes import Echoes


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The result of a request."""

    gathered: Gathered  # the answer, as far as it arrived
    error: str = ""  # why it failed, for people; empty if it did not
    error_code: int = 0  # the HTTP status, where there was one
    is_stopped: bool = False  # the client went away, or the server stopped


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


def answers_of(gathered: Gathered, turn: Turn, *, model: str) -> list[JsonObject]:
    """The messages that store an answer: the first choice, then the others."""
    first, *others = [gathered.choices[n] for n in sorted(gathered.choices)] or [Choice()]
    content = first.content() or ("" if turn.error else (notice_of(turn, NOTHING_CAME),))
    extra = {ISSUED: gathered.model or model}
    answer = stored_answer(turn, content, created_at=utc_stamp(), extra=extra)
    rest = [
        replace(answer, id=new_message_id(), content=other.content(), error="", error_code=0)
        for other in others
    ]
    return [message.to_dict() for message in (answer, *rest)]


def issued_answers(
    gathered: Gathered, turn: Turn, answers: Sequence[JsonObject]
) -> list[IssuedAnswer]:
    """The rows by which later requests find the chat."""
    choices = [gathered.choices[number] for number in sorted(gathered.choices)]
    return [
        answer_of(
            " ".join(choice.text.split()),
            chat=turn.chat_id,
            message=answer["id"],
            question=turn.question.id,
            calls=choice.call_ids,
            response=gathered.response,
        )
        for choice, answer in zip(choices, answers, strict=False)
    ]

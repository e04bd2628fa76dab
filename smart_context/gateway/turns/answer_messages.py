"""The messages that store a client's answer, and the rows by which later requests find the chat."""

from collections.abc import Sequence
from dataclasses import replace

from smart_context.base.times import utc_stamp
from smart_context.base.values import JsonObject
from smart_context.chat.ids import new_message_id
from smart_context.gateway.answers.gathered import Choice, GatheredAnswer
from smart_context.gateway.following.matching import ISSUED
from smart_context.gateway.identity.issued import IssuedAnswer, answer_of
from smart_context.host.turn import Turn
from smart_context.host.turns.transcript import NOTHING_CAME, notice_of, stored_answer


def answers_of(gathered: GatheredAnswer, turn: Turn, *, model: str) -> list[JsonObject]:
    """The messages that store an answer: the first choice, then the others."""
    first, *others = [gathered.choices[n] for n in sorted(gathered.choices)] or [Choice()]
    content = first.content() or ("" if turn.error else (notice_of(turn, NOTHING_CAME),))
    answer = stored_answer(turn, content, created_at=utc_stamp())

    def issued(choice: Choice) -> JsonObject:
        early = {choice.ending: True} if choice.ending and not turn.stopped else {}
        return {**answer.extra, ISSUED: gathered.model or model, **early}

    rest = [
        replace(
            answer,
            id=new_message_id(),
            content=other.content(),
            error="",
            error_code=0,
            extra=issued(other),
        )
        for other in others
    ]
    answer = replace(answer, extra=issued(first))
    return [message.to_dict() for message in (answer, *rest)]


def issued_answers(
    gathered: GatheredAnswer, turn: Turn, answers: Sequence[JsonObject]
) -> list[IssuedAnswer]:
    """The rows by which later requests find the chat."""
    choices = [gathered.choices[number] for number in sorted(gathered.choices)]
    return [
        answer_of(
            " ".join(choice.said.split()),
            chat=turn.chat_id,
            message=answer["id"],
            question=turn.question.id,
            calls=choice.call_ids,
            response=gathered.response,
        )
        for choice, answer in zip(choices, answers, strict=False)
    ]

"""Stores the answers of a client's turn in its chat."""

from collections.abc import Sequence

from smart_context.base.times import utc_stamp
from smart_context.base.values import JsonObject
from smart_context.chat.documents.parts import since_message
from smart_context.chat.ids import new_message_id
from smart_context.chat.messages import EXTRACTED, Message
from smart_context.gateway.answers.gathered import Choice, Gathered
from smart_context.gateway.following.documents import put_answer
from smart_context.gateway.following.matching import ISSUED
from smart_context.gateway.identity.issued import IssuedAnswer, answer_of
from smart_context.gateway.turns.document import Followed
from smart_context.host.turn import Turn
from smart_context.storage.ports import Chats

NOTHING_CAME = "Stopped before an answer came."


def answers_of(
    gathered: Gathered, followed: Followed, turn: Turn, *, model: str
) -> list[JsonObject]:
    """The messages that store an answer: the first choice, then the others."""
    first, *others = [gathered.choices[n] for n in sorted(gathered.choices)] or [Choice()]
    now = utc_stamp()
    extra = {
        ISSUED: gathered.model or model,
        **({"stopped": True} if turn.stopped else {}),
        **({EXTRACTED: True} if turn.is_extracted else {}),
    }
    answer = Message(
        id=followed.answer_id,
        role="assistant",
        content=first.content() or _notice(turn),
        created_at=now,
        error=turn.error,
        error_code=turn.error_code,
        extra=extra,
    )
    rest = [
        Message(
            id=new_message_id(),
            role="assistant",
            content=other.content(),
            created_at=now,
            extra=extra,
        )
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


async def put_answers(store: Chats, chat_id: str, answers: Sequence[JsonObject]) -> None:
    """Store a finished answer.

    Raises:
        SmartContextError: If the disk refuses, or the chat was deleted meanwhile.
    """
    answer, *others = answers
    now = utc_stamp()
    await store.update(
        chat_id,
        lambda document: put_answer(document, answer, others, new_id=new_message_id, now=now),
        since=since_message(answer["id"], and_before=1),
        creates=False,
    )


def _notice(turn: Turn) -> str | tuple[JsonObject, ...]:
    words = turn.abort_reason or NOTHING_CAME
    return "" if turn.error else ({"type": "info", "text": words},)

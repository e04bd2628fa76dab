"""A turn's changes of a chat document: pure, made under the chat's lock."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from smart_context.base.errors import CommandFailed
from smart_context.base.values import JsonObject
from smart_context.chat.documents.branches import branches_of, leave
from smart_context.chat.ids import new_message_id
from smart_context.chat.messages import (
    EXTRACTED,
    Arrived,
    Message,
    MessageId,
    Part,
    give_ids,
    messages_of,
)
from smart_context.host.turn import Turn

INTERRUPTED = "The answer was interrupted before it was complete. Ask again or regenerate it."

NOTHING_CAME = "Stopped before an answer came."

_OF_ONE_TURN = ("generating", "error", "error_code", "stopped", "cut_off", "filtered")


def answer_place(message_id: MessageId, created_at: str, *, is_extracted: bool = False) -> Message:
    """The placeholder of an answer that is not complete, or of a notice in its place."""
    return Message(
        id=message_id,
        role="assistant",
        content="",
        created_at=created_at,
        generating=True,
        extra={EXTRACTED: True} if is_extracted else {},
    )


def answer_of(turn: Turn, *, arrived: str, created_at: str) -> Message:
    """A turn's answer as it is stored; for a failed turn, the text that had arrived."""
    text = arrived if turn.error else turn.response or ""
    parts: list[Part] = [*turn.request.steps]
    if text:
        parts.append({"type": "text", "text": text})
    elif not turn.error:
        parts.append(notice_of(turn, NOTHING_CAME if turn.stopped else "The answer is empty."))
    is_text_alone = not turn.request.steps and (text or turn.error)
    return stored_answer(turn, text if is_text_alone else tuple(parts), created_at=created_at)


def stored_answer(
    turn: Turn,
    content: str | tuple[Part, ...],
    *,
    created_at: str,
    extra: Mapping[str, Any] | None = None,
) -> Message:
    """The message that stores a turn's answer and outcome."""
    return Message(
        id=turn.answer_id,
        role="assistant",
        content=content,
        created_at=created_at,
        error=turn.error,
        error_code=turn.error_code,
        extra={
            **(extra or {}),
            **({"stopped": True} if turn.stopped else {}),
            **({"cut_off": True} if turn.is_cut_off and not turn.stopped else {}),
            **({"filtered": True} if turn.is_filtered and not turn.stopped else {}),
            **({EXTRACTED: True} if turn.is_extracted else {}),
        },
    )


def notice_of(turn: Turn, nothing: str) -> Part:
    """The notice in place of an answer: the plugin's reason to stop the turn, or else `nothing`."""
    return {"type": "info", "text": turn.abort_reason or nothing}


def append(document: JsonObject, *messages: Message) -> None:
    """Add messages at the end."""
    _entries(document).extend(message.to_dict() for message in messages)


def put(document: JsonObject, message: Message) -> None:
    """Replace the message with the same id, also on a branch; add it at the end if not found."""
    entries = _entries(document)
    for path in (entries, *(branch["messages"] for branch in branches_of(document))):
        for index in reversed(range(len(path))):  # answers are among the last messages
            if isinstance(path[index], dict) and path[index].get("id") == message.id:
                path[index] = message.to_dict()
                return
    entries.append(message.to_dict())


def end_unfinished(document: JsonObject) -> None:
    """Mark unfinished answers as interrupted; their text stays."""
    for entry in _entries(document):
        if isinstance(entry, dict) and entry.pop("generating", False):
            entry.setdefault("error", INTERRUPTED)


def restore_partial_answer(document: JsonObject, answer: Arrived) -> None:
    """Fill an unfinished answer with the text that had arrived, and mark it as interrupted.

    Complete answers, and answers that are no longer in the chat, are unchanged.
    """
    for entry in _entries(document):
        if not isinstance(entry, dict) or entry.get("id") != answer.message_id:
            continue
        if entry.get("generating"):
            said = [{"type": "text", "text": answer.text}] if answer.text else []
            parts = [*map(dict, answer.steps), *said]
            entry["content"] = parts if answer.steps else answer.text or entry.get("content") or ""
            del entry["generating"]
            entry.setdefault("error", INTERRUPTED)


def question_of(document: JsonObject, message_id: str) -> Message:
    """The question that a message answers, or the message itself if it is a question.

    Raises:
        CommandFailed: If there is no such message, or no question before it.
    """
    messages = messages_of(document)
    index = _position((message.id for message in messages), message_id)
    for message in reversed(messages[: index + 1]):
        if message.role == "user":
            return message
    raise CommandFailed(f"no question comes before message {message_id!r}")


def ask_again(
    document: JsonObject, message_id: str, *, text: str | None = None, now: str
) -> Message:
    """Make a question the last message of a chat; the messages after it stay as a branch.

    Args:
        document: The document, changed in place.
        message_id: The question, or its answer.
        text: The question's new text. It makes a new question with the same files; the previous
            one stays as a version with its answer.

    Returns:
        The question.

    Raises:
        CommandFailed: If there is no such message, or no question before it.
    """
    give_ids(document)
    question = question_of(document, message_id)
    place = _place(_entries(document), question.id)
    if text is None or text == question.text:
        leave(document, place + 1, branch_id=new_message_id(), now=now)
        return question
    entry = _entries(document)[place]
    asked = {key: value for key, value in entry.items() if key not in _OF_ONE_TURN}
    asked.update(id=new_message_id(), created_at=now)
    leave(document, place, branch_id=new_message_id(), now=now)
    _entries(document).append(asked)
    change_text(document, asked["id"], text)
    return question_of(document, asked["id"])


def change_text(document: JsonObject, message_id: str, text: str) -> None:
    """Change the text of a message; its other parts, such as images and tool calls, stay.

    Raises:
        CommandFailed: If there is no such message, or it is still being written.
    """
    give_ids(document)
    entries = _entries(document)
    entry = entries[_place(entries, message_id)]
    if entry.get("generating") is True:
        raise CommandFailed(f"message {message_id!r} is still being written; stop it first")
    content = entry.get("content")
    entry["content"] = _with_text(content, text) if isinstance(content, list) else text


def _with_text(parts: list[Any], text: str) -> list[Any]:
    """The parts with `text` instead of the first text; the other texts are removed."""
    texts = [index for index, part in enumerate(parts) if _is_text(part)]
    place = texts[0] if texts else len(parts)
    others = [part for part in parts[place:] if not _is_text(part)]
    return [*parts[:place], {"type": "text", "text": text}, *others]


def _is_text(part: object) -> bool:
    return not isinstance(part, Mapping) or part.get("type") == "text"


def _position(ids: Iterable[object], message_id: str) -> int:
    for index, known in enumerate(ids):
        if known == message_id:
            return index
    raise CommandFailed(f"no message {message_id!r} in this chat; it may have been removed")


def _place(entries: Sequence[Any], message_id: str) -> int:
    """The place of a message among all entries, which have ids."""
    return _position((e.get("id") if isinstance(e, dict) else None for e in entries), message_id)


def _entries(document: JsonObject) -> list[Any]:
    entries = document.get("messages")
    if not isinstance(entries, list):
        entries = document["messages"] = []
    return entries

"""Sessions of Qwen Code: lines that name the line before by its id."""

from collections.abc import Mapping
from typing import Any

from smart_context.importing.found import (
    FoundChat,
    answered,
    mapping,
    moment,
    objects,
    text_of,
    text_part,
    title_of,
)
from smart_context.importing.google_parts import add_parts, result_of, text_in_parts
from smart_context.importing.program import Form, Program, Session, is_said, session_begun

_TYPED = {"", "mid_turn_user_message"}
"""The subtypes of the user's lines that they typed themselves."""
_NOT_TYPED = {"goal_control", "goal_runtime", "system"}
"""The sources of lines that the program wrote in the user's name."""


def qwen_code(session: Session) -> FoundChat:
    """A session of Qwen Code, without the messages of its agents.

    A compression becomes a summary. The program's own lines stay in the tree, as empty messages.
    """
    chat = FoundChat(client="qwen-code", id=session.name)
    for row in session.rows:
        chat.id = text_of(row.get("sessionId")) or chat.id
        if row.get("isSidechain") is True or row.get("agentId"):
            continue
        payload, kind = mapping(row.get("systemPayload")), text_of(row.get("type"))
        chat.created_at = chat.created_at or moment(row.get("timestamp"))
        chat.title = title_of(payload.get("customTitle")) or chat.title
        found = chat.add(row.get("uuid"), kind, at=row.get("timestamp"), model=row.get("model"))
        found.parent = text_of(row.get("parentUuid")) or None
        if kind == "system":
            found.is_summary = row.get("subtype") == "chat_compression"
            if found.is_summary and (summary := _summary(payload)):
                found.parts.append(text_part(summary))
        elif kind == "tool_result":
            _answer(row, chat)
        elif kind != "user" or _is_typed(row):
            typed = text_of(payload.get("displayText")) if kind == "user" else ""
            add_parts(mapping(row.get("message")).get("parts"), found, chat.messages)
            if typed:
                found.parts = [text_part(typed)]
    return chat


def _is_typed(row: Mapping[str, Any]) -> bool:
    subtype, source = text_of(row.get("subtype")), text_of(row.get("provenance"))
    return subtype in _TYPED and source not in _NOT_TYPED


def _answer(row: Mapping[str, Any], chat: FoundChat) -> None:
    about = mapping(row.get("toolCallResult"))
    for part in _parts(row):
        given = mapping(part.get("functionResponse"))
        name = text_of(given.get("id")) or text_of(about.get("callId"))
        if given:
            result = result_of([part]) or text_of(about.get("resultDisplay"))
            answered(chat.messages, name, result)


def _parts(row: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return objects(mapping(row.get("message")).get("parts"))


def _summary(payload: Mapping[str, Any]) -> str:
    """The summary of compressed messages: the first message of the history that continues."""
    history = payload.get("compressedHistory")
    first = mapping(history[0]) if isinstance(history, list) and history else {}
    return text_in_parts(first.get("parts"))


def _is_qwen_code(session: Session) -> bool:
    return any("sessionId" in row and _parts(row) for row in session.first)


QWEN_CODE = Program(
    name="qwen-code",
    title="Qwen Code",
    session=Form(
        fits=_is_qwen_code,
        read=lambda session: map(qwen_code, session.parted(session_begun, is_said)),
    ),
)

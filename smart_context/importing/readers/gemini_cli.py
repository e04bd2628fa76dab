"""Sessions of Gemini CLI: one object or, since 2026, lines that are appended."""

from collections.abc import Iterable, Mapping
from typing import Any

from smart_context.base.values import JsonObject
from smart_context.importing.found import (
    FoundChat,
    FoundMessage,
    call,
    mapping,
    moment,
    objects,
    text_of,
    thought,
    title_of,
)
from smart_context.importing.google_parts import (
    SNAPSHOT,
    add_parts,
    parts_of,
    result_of,
    text_in_parts,
)
from smart_context.importing.program import Form, Program, Session

_NOTICES = {"info", "error", "warning"}
_SET_UP = ("<session_context>", "This is the Gemini CLI. We are setting up the context")
"""The beginnings of messages that Gemini CLI writes in the user's name."""
_DONE = {"success", "error", "cancelled"}
_ANSWERED = "gemini"
"""The type of an answer."""


def gemini_cli(conversation: Mapping[str, Any]) -> FoundChat:
    """A session as one object; a session that an agent began is empty."""
    return _chat(conversation, objects(conversation.get("messages")))


def _of_lines(session: Session) -> FoundChat:
    """A session as lines: metadata, messages, and marks that take back all from a message on."""
    about: dict[str, Any] = {"sessionId": session.name}
    rows: list[Mapping[str, Any]] = []
    for row in session.rows:
        told = row if "projectHash" in row else mapping(row.get("$set"))
        about |= {key: value for key, value in told.items() if key != "messages"}
        rows.extend(objects(told.get("messages")))
        if "type" in row or "$rewindTo" in row:
            rows.append(row)
    return _chat(about, rows)


def _chat(about: Mapping[str, Any], rows: Iterable[Mapping[str, Any]]) -> FoundChat:
    chat = FoundChat(
        client="gemini-cli",
        id=text_of(about.get("sessionId")),
        title=title_of(about.get("summary")),
        created_at=moment(about.get("startTime")),
    )
    if about.get("kind") == "subagent":
        return chat
    known: dict[str, FoundMessage] = {}  # by id; a message that grows is written again
    for row in rows:
        key = text_of(row.get("id"))
        if "$rewindTo" in row:  # messages that were taken back become a branch
            back = known.get(text_of(row["$rewindTo"]))
            chat.current = back.parent if back else None
        elif key in known:
            _fill(row, chat, known[key])
        elif text_of(row.get("type")) not in _NOTICES and not _is_set_up(row):
            at, model = row.get("timestamp"), row.get("model")
            found = chat.add(key, row.get("type"), at=at, model=model)
            found.parent, chat.current = chat.current, found.id
            known[found.id] = found
            _fill(row, chat, found)
    return chat


def _is_set_up(row: Mapping[str, Any]) -> bool:
    return row.get("type") == "user" and text_in_parts(row.get("content")).startswith(_SET_UP)


def _fill(row: Mapping[str, Any], chat: FoundChat, found: FoundMessage) -> None:
    """Set the content of a message; the text shown to the user is the one that they typed."""
    shown = row.get("displayContent") if parts_of(row.get("displayContent")) else row.get("content")
    found.parts, found.assets = [], []
    for one in objects(row.get("thoughts")):
        words = (text_of(one.get("subject")), text_of(one.get("description")))
        found.parts.append(thought("\n".join(filter(None, words))))
    add_parts(shown, found, chat.messages)
    found.parts.extend(map(_call, objects(row.get("toolCalls"))))
    found.is_summary = text_in_parts(shown).lstrip().startswith(SNAPSHOT)


def _call(tool: Mapping[str, Any]) -> JsonObject:
    result = result_of(tool.get("result")) or text_of(tool.get("resultDisplay"))
    is_done = text_of(tool.get("status")) in _DONE or bool(result)
    about = (text_of(tool.get("id")), text_of(tool.get("name")), tool.get("args"))
    return call(*about, result, is_done=is_done) if is_done else call(*about)


def _is_session(item: Mapping[str, Any]) -> bool:
    is_own = "projectHash" in item or any(
        row.get("type") == _ANSWERED for row in objects(item.get("messages"))[:3]
    )
    return is_own and item.keys() >= {"sessionId", "messages"}


def _session_begun(row: Mapping[str, Any]) -> str:
    return text_of(row.get("sessionId")) if "projectHash" in row else ""


def _is_said(row: Mapping[str, Any]) -> bool:
    return "type" in row


GEMINI_CLI = Program(
    name="gemini-cli",
    title="Gemini CLI",
    signs=(b'"projectHash"',),
    conversation=Form(fits=_is_session, read=gemini_cli),
    session=Form(
        fits=lambda session: any("projectHash" in row for row in session.first),
        read=lambda session: map(_of_lines, session.parted(_session_begun, _is_said)),
    ),
)

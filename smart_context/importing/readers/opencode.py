"""Sessions of opencode."""

from collections.abc import Iterator, Mapping
from typing import Any

from smart_context.importing.found import (
    FoundChat,
    FoundMessage,
    call,
    mapping,
    moment,
    objects,
    parsed,
    text_of,
    text_part,
    thought,
    title_of,
)
from smart_context.importing.program import Form, Program, Rows
from smart_context.importing.tables import Tables

_SPEAKERS = frozenset(("user", "assistant"))


def opencode(exported: Mapping[str, Any]) -> FoundChat:
    """A session of opencode, as `opencode export` writes it."""
    return _opencode_session(mapping(exported.get("info")), objects(exported["messages"]))


def _opencode_session(session: Mapping[str, Any], messages: Rows) -> FoundChat:
    """A session.

    Args:
        session: Its `info`.
        messages: Objects with `info` and `parts`. Parts that opencode added by itself are left
            out; an answer that stands for earlier messages is a summary.
    """
    chat = FoundChat(
        client="opencode",
        id=text_of(session.get("id")),
        title=title_of(session.get("title")),
        created_at=moment(mapping(session.get("time")).get("created")),
    )
    for row in messages:
        info = mapping(row.get("info"))
        if text_of(info.get("role")) not in _SPEAKERS:
            continue
        at = mapping(info.get("time")).get("created")
        found = chat.add(info.get("id"), info["role"], at=at, model=info.get("modelID"))
        found.is_summary = info.get("summary") is True
        for part in objects(row.get("parts")):
            _add_opencode_part(part, found)
    return chat


def _add_opencode_part(part: Mapping[str, Any], found: FoundMessage) -> None:
    kind, text = part.get("type"), text_of(part.get("text"))
    if kind == "text" and not part.get("synthetic"):
        found.parts.append(text_part(text))
    elif kind == "reasoning":
        found.parts.append(thought(text))
    elif kind == "file":
        found.assets.append((text_of(part.get("url")), text_of(part.get("filename"))))
    elif kind == "tool":
        state = mapping(part.get("state"))
        is_done = text_of(state.get("status")) in {"completed", "error"}
        result = text_of(state.get("output")) or text_of(state.get("error"))
        name = text_of(part.get("callID")) or f"{found.id}-{len(found.parts)}"
        label, args = text_of(part.get("tool")) or "tool", state.get("input")
        found.parts.append(call(name, label, args, result, is_done=is_done))


def _opencode_sessions(tables: Tables) -> Iterator[FoundChat]:
    """The sessions of `opencode.db`, without those that an agent began for itself."""
    for row in tables.rows("session", "time_created, id"):
        if row.get("parent_id"):
            continue
        parts: dict[object, list[object]] = {}
        for part in tables.rows_of("part", "session_id", row.get("id"), "id"):
            parts.setdefault(part["message_id"], []).append(parsed(part["data"]))
        messages: Rows = [
            {
                "info": {**mapping(parsed(said["data"])), "id": said["id"]},
                "parts": parts.get(said["id"], []),
            }
            for said in tables.rows_of("message", "session_id", row.get("id"), "time_created, id")
        ]
        yield _opencode_session({**row, "time": {"created": row.get("time_created")}}, messages)


OPENCODE = Program(
    name="opencode",
    title="opencode",
    conversation=Form(
        fits=lambda item: isinstance(item.get("info"), Mapping) and "messages" in item,
        read=opencode,
    ),
    database=Form(
        fits=lambda tables: {"session", "message", "part"} <= tables.names,
        read=_opencode_sessions,
    ),
)

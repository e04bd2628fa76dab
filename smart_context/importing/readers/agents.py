"""Sessions of coding agents: Claude Code, Codex, aider, opencode, and the log of `llm`."""

import json
import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

from smart_context.importing.found import (
    FoundChat,
    FoundMessage,
    NotReadable,
    answered,
    call,
    mapping,
    moment,
    objects,
    text_of,
    text_part,
    thought,
    title_of,
)
from smart_context.importing.readers.blocks import add_blocks, text_in

Rows = Sequence[Mapping[str, Any]]

_SPEAKERS = frozenset(("user", "assistant"))
_ENVIRONMENT = ("<environment_context>", "<user_instructions>", "# AGENTS.md instructions")
_AIDER_CHAT = re.compile(r"^# aider chat started at (.+)$", re.MULTILINE)


def claude_code(rows: Rows, name: str) -> FoundChat:
    """A session of Claude Code, from the lines of its file.

    Sidechains and meta messages are left out; a compact summary is a summary.

    Args:
        rows: The objects of the lines.
        name: The file's name without its ending, for a session without an id.
    """
    chat = FoundChat(client="claude-code", id=name)
    links = {text_of(row.get("uuid")): _claude_code_parent(row) for row in rows}
    for row in rows:
        if row.get("type") == "summary":
            chat.title = chat.title or title_of(row.get("summary"))
        chat.id = text_of(row.get("sessionId")) or chat.id
        said = mapping(row.get("message"))
        if (
            row.get("isSidechain")
            or row.get("isMeta")
            or text_of(row.get("type")) not in {"user", "assistant"}
        ):
            continue
        found = FoundMessage(
            id=text_of(row.get("uuid")) or str(len(chat.messages)),
            role="user" if said.get("role") == "user" else "assistant",
            parent=_claude_code_parent(row),
            created_at=moment(row.get("timestamp")),
            model=text_of(said.get("model")),
            is_summary=row.get("isCompactSummary") is True,
        )
        add_blocks(said.get("content"), found, chat.messages)
        chat.messages.append(found)
    _skip_missing(chat, links)
    chat.created_at = next((m.created_at for m in chat.messages if m.created_at), "")
    return chat


def _claude_code_parent(row: Mapping[str, Any]) -> str | None:
    return text_of(row.get("parentUuid")) or text_of(row.get("logicalParentUuid")) or None


def _skip_missing(chat: FoundChat, links: Mapping[str, str | None]) -> None:
    """Let each message follow the nearest one that is there: lines between may be left out."""
    known = {message.id for message in chat.messages}
    before: str | None = None
    for message in chat.messages:
        parent, seen = message.parent, set[str]()
        while parent is not None and parent not in known and parent not in seen:
            seen.add(parent)
            parent = links.get(parent)
        message.parent = parent if parent in known else before
        before = message.id


def codex(rows: Rows, name: str) -> FoundChat:
    """A session of Codex: its response items; the events that repeat them are left out."""
    chat = FoundChat(client="codex", id=name)
    model = ""
    for row in rows:
        payload, kind = mapping(row.get("payload")), row.get("type")
        if kind == "session_meta":
            chat.id = text_of(payload.get("id")) or chat.id
            chat.created_at = moment(payload.get("timestamp"))
        elif kind == "turn_context":
            model = text_of(payload.get("model")) or model
        elif kind == "response_item":
            _codex_item(payload, chat, moment(row.get("timestamp")), model)
    return chat


def _codex_item(item: Mapping[str, Any], chat: FoundChat, at: str, model: str) -> None:
    kind, last = text_of(item.get("type")), chat.messages[-1] if chat.messages else None
    if kind in {"function_call_output", "custom_tool_call_output"}:
        answered(chat.messages, text_of(item.get("call_id")), text_in(item.get("output")))
        return
    if kind == "message":
        text = text_in(item.get("content"))
        said_by = text_of(item.get("role"))
        if said_by not in {"user", "assistant"} or text.lstrip().startswith(_ENVIRONMENT):
            return
        role, part = item["role"], text_part(text)
    elif kind == "reasoning":
        role, part = "assistant", thought(text_in(item.get("summary")))
    elif kind in {"function_call", "custom_tool_call", "local_shell_call"}:
        args = _parsed(item.get("arguments") or item.get("input") or item.get("action"))
        name = text_of(item.get("call_id")) or str(len(chat.messages))
        role, part = "assistant", call(name, text_of(item.get("name")) or str(kind), args)
    else:
        return
    if part.get("type") == "reasoning" and not part["text"]:
        return
    if last is not None and role == "assistant" == last.role:
        last.parts.append(part)
        return
    chat.messages.append(
        FoundMessage(
            id=str(len(chat.messages)),
            role=role,
            parts=[part],
            parent=last.id if last else None,
            created_at=at,
            model=model if role == "assistant" else "",
        )
    )


def aider(text: str, name: str) -> Iterator[FoundChat]:
    """The chats of aider's history: one for each start of the program."""
    starts = list(_AIDER_CHAT.finditer(text))
    for place, start in enumerate(starts):
        end = starts[place + 1].start() if place + 1 < len(starts) else len(text)
        began = start[1].strip()
        chat = FoundChat(client="aider", id=f"{name} {began}", created_at=moment(began))
        _aider_messages(text[start.end() : end], chat)
        yield chat


def _aider_messages(text: str, chat: FoundChat) -> None:
    role: str = ""
    lines: list[str] = []

    def flush() -> None:
        if said := "\n".join(lines).strip():
            before = chat.messages[-1].id if chat.messages else None
            chat.messages.append(
                FoundMessage(
                    id=str(len(chat.messages)),
                    role="user" if role == "user" else "assistant",
                    parts=[text_part(said)],
                    parent=before,
                )
            )
        lines.clear()

    for line in text.split("\n"):
        is_asked = line.startswith("#### ")
        speaker = "user" if is_asked else "notice" if line.startswith("> ") else "assistant"
        if speaker == "notice":
            continue
        if speaker != role and (is_asked or line.strip()):
            flush()
            role = speaker
        lines.append(line.removeprefix("#### ") if is_asked else line)
    flush()


def databases(path: Path) -> Iterator[FoundChat]:
    """The conversations of a SQLite file: `llm`'s `logs.db` of either age, or `opencode.db`.

    What its program has not yet written into the file itself is read, too, if it stands beside it.

    Raises:
        NotReadable: If it is no such database.
    """
    is_whole = not path.with_name(f"{path.name}-wal").exists()
    address = f"file:{quote(str(path))}?mode=ro{'&immutable=1' if is_whole else ''}"
    try:
        # Its steps run in one thread after the other.
        opened = sqlite3.connect(address, uri=True, check_same_thread=False)
        with closing(opened) as database:
            database.row_factory = sqlite3.Row
            database.text_factory = lambda text: text.decode("utf-8", "replace")
            tables = {row[0] for row in database.execute("SELECT name FROM sqlite_master")}
            if {"session", "message", "part"} <= tables:
                yield from _opencode_sessions(database)
            if "responses" in tables:
                yield from _llm_responses(database)
            if {"threads", "messages"} <= tables:
                yield from _llm_threads(database, tables)
    except (sqlite3.Error, UnicodeDecodeError) as error:  # the latter: a column's name
        raise NotReadable(
            f"expected the log of llm or opencode, found something else: {error}"
        ) from None


def opencode(session: Mapping[str, Any], messages: Rows) -> FoundChat:
    """A session of opencode, as `opencode export` writes it.

    Args:
        session: Its `info`.
        messages: Objects with `info` and `parts`. Parts that opencode added by itself are left
            out; an answer that stands for earlier messages is a summary.
    """
    chat = FoundChat(
        client="opencode",
        id=text_of(session.get("id")) or "session",
        title=title_of(session.get("title")),
        created_at=moment(mapping(session.get("time")).get("created")),
    )
    for number, row in enumerate(messages):
        info = mapping(row.get("info"))
        if text_of(info.get("role")) not in _SPEAKERS:
            continue
        found = FoundMessage(
            id=text_of(info.get("id")) or str(number),
            role="user" if info.get("role") == "user" else "assistant",
            parent=chat.messages[-1].id if chat.messages else None,
            created_at=moment(mapping(info.get("time")).get("created")),
            model=text_of(info.get("modelID")),
            is_summary=info.get("summary") is True,
        )
        for part in objects(row.get("parts")):
            _add_opencode_part(part, found)
        chat.messages.append(found)
    return chat


def _add_opencode_part(part: Mapping[str, Any], found: FoundMessage) -> None:
    kind, text = part.get("type"), text_of(part.get("text"))
    if kind == "text" and not part.get("synthetic"):
        found.parts.append(text_part(text))
    elif kind == "reasoning":
        found.parts.append(thought(text))
    elif kind == "tool":
        state = mapping(part.get("state"))
        is_done = text_of(state.get("status")) in {"completed", "error"}
        result = text_of(state.get("output")) or text_of(state.get("error"))
        name = text_of(part.get("callID")) or f"{found.id}-{len(found.parts)}"
        label, args = text_of(part.get("tool")) or "tool", state.get("input")
        found.parts.append(call(name, label, args, result, is_done=is_done))


def _opencode_sessions(database: sqlite3.Connection) -> Iterator[FoundChat]:
    """The sessions of `opencode.db`, without those that an agent began for itself."""
    for row in map(dict, database.execute("SELECT * FROM session ORDER BY time_created, id")):
        if row.get("parent_id"):
            continue
        session = (row.get("id"),)
        parts: dict[object, list[object]] = {}
        for part in database.execute(
            "SELECT message_id, data FROM part WHERE session_id = ? ORDER BY id", session
        ):
            parts.setdefault(part[0], []).append(_parsed(part[1]))
        rows: list[Mapping[str, Any]] = [
            {"info": {**mapping(_parsed(data)), "id": name}, "parts": parts.get(name, [])}
            for name, data in database.execute(
                "SELECT id, data FROM message WHERE session_id = ? ORDER BY time_created, id",
                session,
            )
        ]
        yield opencode({**row, "time": {"created": row.get("time_created")}}, rows)


def _llm_responses(database: sqlite3.Connection) -> Iterator[FoundChat]:
    names = {row[0]: row[1] for row in database.execute("SELECT id, name FROM conversations")}
    chats: dict[str, FoundChat] = {}
    for row in database.execute("SELECT * FROM responses ORDER BY datetime_utc, id"):
        known = dict(row)
        name = str(known.get("conversation_id") or known.get("id"))
        at = moment(known.get("datetime_utc"))
        chat = chats.setdefault(
            name, FoundChat(client="llm", id=name, title=title_of(names.get(name)), created_at=at)
        )
        for role, key in (("user", "prompt"), ("assistant", "response")):
            before = chat.messages[-1].id if chat.messages else None
            chat.messages.append(
                FoundMessage(
                    id=f"{known.get('id')}-{role}",
                    role="user" if role == "user" else "assistant",
                    parts=[text_part(text_of(known.get(key)))],
                    parent=before,
                    created_at=at,
                    model=text_of(known.get("model")) if role == "assistant" else "",
                )
            )
    yield from chats.values()


def _llm_threads(database: sqlite3.Connection, tables: set[str]) -> Iterator[FoundChat]:
    parts: dict[object, list[Mapping[str, Any]]] = {}
    if "parts" in tables:
        for row in database.execute("SELECT * FROM parts ORDER BY rowid"):
            parts.setdefault(dict(row).get("message_id"), []).append(dict(row))
    for thread in map(dict, database.execute("SELECT * FROM threads ORDER BY rowid")):
        chat = FoundChat(
            client="llm",
            id=str(thread.get("id")),
            title=title_of(thread.get("name") or thread.get("title")),
            created_at=moment(thread.get("created_at") or thread.get("datetime_utc")),
        )
        rows = database.execute(
            "SELECT * FROM messages WHERE thread_id = ? ORDER BY rowid", (thread.get("id"),)
        )
        for row in map(dict, rows):
            told = parts.get(row.get("id"), [])
            text = text_of(row.get("content")) or "\n".join(
                text_of(part.get("text") or part.get("content")) for part in told
            )
            chat.messages.append(
                FoundMessage(
                    id=str(row.get("id")),
                    role="user" if row.get("role") == "user" else "assistant",
                    parts=[text_part(text)],
                    parent=chat.messages[-1].id if chat.messages else None,
                    created_at=moment(row.get("created_at") or row.get("datetime_utc")),
                    model=text_of(row.get("model")),
                )
            )
        if chat.messages:
            yield chat


def _parsed(value: object) -> object:
    if isinstance(value, str):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value

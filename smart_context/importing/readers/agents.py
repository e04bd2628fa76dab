"""Sessions of coding agents: Claude Code, Codex, aider, and the log of `llm`."""

import json
import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any

from smart_context.importing.found import (
    FoundChat,
    FoundMessage,
    NotReadable,
    answered,
    call,
    mapping,
    moment,
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


def llm_logs(path: str) -> Iterator[FoundChat]:
    """The conversations of `llm`'s `logs.db`: of its older tables, and of its newer ones.

    Raises:
        NotReadable: If it is no such database.
    """
    try:
        address = f"file:{path}?mode=ro&immutable=1"
        # Its steps run in one thread after the other.
        opened = sqlite3.connect(address, uri=True, check_same_thread=False)
        with closing(opened) as database:
            database.row_factory = sqlite3.Row
            tables = {row[0] for row in database.execute("SELECT name FROM sqlite_master")}
            if "responses" in tables:
                yield from _llm_responses(database)
            if {"threads", "messages"} <= tables:
                yield from _llm_threads(database, tables)
    except sqlite3.Error as error:
        raise NotReadable(f"expected the log of llm, found something else: {error}") from None


def _llm_responses(database: sqlite3.Connection) -> Iterator[FoundChat]:
    names = {row[0]: row[1] for row in database.execute("SELECT id, name FROM conversations")}
    chats: dict[str, FoundChat] = {}
    for row in database.execute("SELECT * FROM responses ORDER BY datetime_utc, id"):
        known = dict(row)
        name = str(known.get("conversation_id") or known["id"])
        at = moment(known.get("datetime_utc"))
        chat = chats.setdefault(
            name, FoundChat(client="llm", id=name, title=title_of(names.get(name)), created_at=at)
        )
        for role, key in (("user", "prompt"), ("assistant", "response")):
            before = chat.messages[-1].id if chat.messages else None
            chat.messages.append(
                FoundMessage(
                    id=f"{known['id']}-{role}",
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

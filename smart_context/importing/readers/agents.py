"""Sessions of coding agents: Claude Code, Codex, aider, opencode, and the log of `llm`."""

import base64
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
    add_blocks,
    answered,
    call,
    mapping,
    moment,
    objects,
    parsed,
    text_in,
    text_of,
    text_part,
    thought,
    title_of,
)

Rows = Sequence[Mapping[str, Any]]

_SPEAKERS = frozenset(("user", "assistant"))
_ECHOES = (
    *("<local-command-", "<bash-stdout>", "<bash-stderr>", "<task-notification>"),
    *("<system-reminder>", "<ide_opened_file>", "<ide_selection>", "<ide_diagnostics>"),
)
"""How messages begin that Claude Code writes in the user's name."""
_COMMAND = re.compile(r"<command-name>([^<]*)</command-name>")
_ARGUMENTS = re.compile(r"<command-args>([^<]*)</command-args>")
_ENVIRONMENT = (
    *("<environment_context>", "<user_instructions>", "# AGENTS.md instructions", "<skill>"),
    *("<INSTRUCTIONS>", "<turn_aborted>", "<permissions instructions>", "<user_shell_command>"),
    *("<skills_instructions>", "<subagent_notification>", "<user_action>"),
)
"""How messages begin that Codex writes in the user's name."""
_CODEX_CALLS = {"function_call", "custom_tool_call", "local_shell_call", "web_search_call"}
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
    titles: dict[object, str] = {}
    replies: dict[str, FoundMessage] = {}  # by their ids at the provider: each block has a line
    for row in {text_of(row.get("uuid")) or place: row for place, row in enumerate(rows)}.values():
        kind = text_of(row.get("type"))
        titles[kind] = _claude_code_title(row, links) or titles.get(kind, "")
        chat.id = text_of(row.get("sessionId")) or chat.id
        if not (said := _claude_code_said(row)):
            continue
        reply = text_of(said.get("id"))
        found = replies.get(reply) or _claude_code_message(row, said, chat)
        if reply:  # what follows any of its lines follows the reply
            replies[reply] = found
            links[text_of(row.get("uuid"))] = found.id
        add_blocks(said.get("content"), found, chat.messages[:-1])
    _skip_missing(chat, links)
    named = (titles.get(kind, "") for kind in ("custom-title", "ai-title", "summary"))
    chat.title = next(filter(None, named), "")
    chat.created_at = next((m.created_at for m in chat.messages if m.created_at), "")
    return chat


def _claude_code_message(
    row: Mapping[str, Any], said: Mapping[str, Any], chat: FoundChat
) -> FoundMessage:
    model, at = said.get("model"), row.get("timestamp")
    found = chat.add(row.get("uuid"), said.get("role"), at=at, model=model)
    found.parent = _claude_code_parent(row)
    found.is_summary = row.get("isCompactSummary") is True
    return found


def _claude_code_said(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """What was said in a line, without what Claude Code wrote itself; empty if nothing was."""
    if any(row.get(mark) for mark in ("isSidechain", "isMeta", "isApiErrorMessage")):
        return {}
    queued = mapping(row.get("attachment"))  # typed while the agent was at work
    if queued.get("type") == "queued_command" and queued.get("commandMode") in {None, "prompt"}:
        said: Mapping[str, Any] = {"role": "user", "content": queued.get("prompt")}
    elif text_of(row.get("type")) in _SPEAKERS:
        said = mapping(row.get("message"))
    else:
        return {}
    content = said.get("content")
    if isinstance(content, str):
        typed = _typed(content)
        return {**said, "content": typed} if typed else {}
    blocks = [
        {**block, "text": _typed(text_of(block.get("text")))}
        if block.get("type") == "text"
        else block
        for block in objects(content)
    ]
    return {**said, "content": blocks} if said.get("model") != "<synthetic>" else {}


def _claude_code_title(row: Mapping[str, Any], known: Mapping[str, object]) -> str:
    """The title that a line gives; a summary may be about the session of another file."""
    if row.get("type") == "summary" and text_of(row.get("leafUuid")) not in known:
        return ""
    return title_of(row.get("customTitle") or row.get("aiTitle") or row.get("summary"))


def _typed(text: str) -> str:
    """What the user typed: commands as such; empty for what Claude Code wrote itself."""
    if text.startswith(_ECHOES):
        return ""
    if text.startswith("<bash-input>"):
        return "!" + text.removeprefix("<bash-input>").partition("</bash-input>")[0]
    if text.startswith("<command-") and (command := _COMMAND.search(text)):
        arguments = _ARGUMENTS.search(text)
        return f"{command[1]} {arguments[1] if arguments else ''}".strip()
    return text


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
    """A session of Codex: its response items; the events that repeat them are left out.

    Turns that were taken back are a branch. A session that an agent began for itself is empty.
    """
    chat = FoundChat(client="codex", id=name)
    model, is_named = "", False
    for row in rows:
        payload, kind = mapping(row.get("payload")), row.get("type")
        if "payload" not in row:  # as versions of early 2025 wrote it
            payload, kind = row, "response_item" if kind else "session_meta"
        if kind == "session_meta" and not is_named:  # those of sessions that it goes on follow
            chat.id, is_named = text_of(payload.get("id")) or chat.id, True
            chat.created_at = moment(payload.get("timestamp"))
            if "subagent" in mapping(payload.get("source")):
                return chat
        elif kind == "turn_context":
            model = text_of(payload.get("model")) or model
        elif kind == "response_item":
            _codex_item(payload, chat, row.get("timestamp"), model)
        else:
            _codex_event(payload, chat, row, model)
    return chat


def _codex_event(
    event: Mapping[str, Any], chat: FoundChat, row: Mapping[str, Any], model: str
) -> None:
    if row.get("type") == "compacted" and (summary := text_of(event.get("message"))):
        found = _codex_message(chat, "assistant", row.get("timestamp"), model)
        found.parts.append(text_part(summary))
        found.is_summary = True
    elif event.get("type") == "thread_name_updated":
        chat.title = title_of(event.get("thread_name")) or chat.title
    elif event.get("type") == "thread_rolled_back":
        chat.current = _codex_rolled_back(chat, event.get("num_turns"))


def _codex_message(chat: FoundChat, role: str, at: object, model: str) -> FoundMessage:
    """A new message at the end of the current path, which `chat.current` names once it forked."""
    found = chat.add("", role, at=at, model=model)
    if chat.current is not None:
        found.parent, chat.current = chat.current or None, found.id
    return found


def _codex_rolled_back(chat: FoundChat, turns: object) -> str:
    """The id of the message before the last turns of the path; empty if none is left."""
    known = {message.id: message for message in chat.messages}
    last = _codex_last(chat)
    for _ in range(min(turns, len(known)) if isinstance(turns, int) else 0):
        while last and last.role != "user":
            last = known.get(last.parent or "")
        last = known.get(last.parent or "") if last else None
    return last.id if last else ""


def _codex_last(chat: FoundChat) -> FoundMessage | None:
    """The last message of the current path."""
    names = {chat.current} if chat.current is not None else {m.id for m in chat.messages[-1:]}
    return next((message for message in reversed(chat.messages) if message.id in names), None)


def _codex_item(item: Mapping[str, Any], chat: FoundChat, at: object, model: str) -> None:
    kind, role = text_of(item.get("type")), "assistant"
    parts, pictures = [], []
    if kind in {"function_call_output", "custom_tool_call_output"}:
        answered(chat.messages, text_of(item.get("call_id")), text_in(item.get("output")))
    elif kind == "message" and text_of(item.get("role")) in _SPEAKERS and not _is_environment(item):
        role = item["role"]
        parts = [text_part(text_in(item.get("content")))]
        pictures = [text_of(block.get("image_url")) for block in objects(item.get("content"))]
    elif kind == "reasoning" and (words := text_in(item.get("summary"))):
        parts = [thought(words)]
    elif kind in _CODEX_CALLS:
        args = parsed(item.get("arguments") or item.get("input") or item.get("action"))
        name = text_of(item.get("call_id")) or str(len(chat.messages))
        parts = [call(name, text_of(item.get("name")) or kind, args)]
    elif kind == "image_generation_call" and (drawn := text_of(item.get("result"))):
        parts = [call(text_of(item.get("id")), kind, item.get("revised_prompt"))]
        pictures = [f"data:image/png;base64,{drawn}"]
    if not parts:
        return
    last = _codex_last(chat)
    goes_on = last is not None and role == last.role == "assistant" and not last.is_summary
    found = last if goes_on and last else _codex_message(chat, role, at, model)
    found.parts.extend(parts)
    found.assets.extend((picture, "Picture") for picture in pictures if picture)


def _is_environment(item: Mapping[str, Any]) -> bool:
    """True for what Codex wrote in the user's name: newer versions mark it, older have signs."""
    about = mapping(item.get("internal_chat_message_metadata_passthrough"))
    kinds = about.get("content_item_kinds")
    if item.get("role") == "user" and isinstance(kinds, list) and kinds:
        return not any(str(kind).startswith("user.") for kind in kinds)
    return text_in(item.get("content")).lstrip().startswith(_ENVIRONMENT)


def aider(text: str) -> Iterator[FoundChat]:
    """The chats of aider's history: one for each start of the program.

    A chat is known by when it began and what was asked first, wherever its file lies.
    """
    starts = list(_AIDER_CHAT.finditer(text))
    for place, start in enumerate(starts):
        end = starts[place + 1].start() if place + 1 < len(starts) else len(text)
        began = start[1].strip()
        chat = FoundChat(client="aider", id=began, created_at=moment(began))
        _aider_messages(text[start.end() : end], chat)
        if chat.messages:
            chat.id = f"{began} {title_of(chat.messages[0].parts[0]['text'])}"
        yield chat


def _aider_messages(text: str, chat: FoundChat) -> None:
    role: str = ""
    lines: list[str] = []
    is_apart = False  # a line of another kind came since the last one of the user

    def flush() -> None:
        if said := "\n".join(lines).strip():
            chat.add("", role, said)
        lines.clear()

    for line in text.split("\n"):
        is_asked = line.startswith("#### ")
        if line.startswith("> "):  # a notice of aider
            is_apart = True
            continue
        speaker = "user" if is_asked else "assistant"
        if (speaker != role or (is_asked and is_apart)) and (is_asked or line.strip()):
            flush()
            role = speaker
        is_apart = not is_asked
        lines.append(line.removeprefix("#### ") if is_asked else line)
    flush()


class _Tables:
    """The tables of a SQLite file as rows; one that is not there has none."""

    def __init__(self, opened: sqlite3.Connection) -> None:
        self._opened = opened
        opened.row_factory = sqlite3.Row
        opened.text_factory = lambda text: text.decode("utf-8", "replace")
        self.names = {row[0] for row in opened.execute("SELECT name FROM sqlite_master")}

    def rows(self, table: str, which: str = "", *values: object) -> Iterator[dict[str, Any]]:
        """The rows of a table, narrowed and ordered as SQL says."""
        if table in self.names and all(isinstance(value, str | int) for value in values):
            query = f"SELECT * FROM {table} {which}"  # noqa: S608 - both are written below
            yield from map(dict, self._opened.execute(query, values))

    def row(self, table: str, which: str, *values: object) -> dict[str, Any]:
        """The first row; empty if there is none."""
        return next(self.rows(table, which, *values), {})


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
        with closing(opened):
            tables = _Tables(opened)
            if {"session", "message", "part"} <= tables.names:
                yield from _opencode_sessions(tables)
            yield from _llm_responses(tables)
            if {"threads", "messages"} <= tables.names:
                yield from _llm_threads(tables)
    except (sqlite3.Error, UnicodeDecodeError, KeyError) as error:  # the latter two: columns
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


def _opencode_sessions(tables: _Tables) -> Iterator[FoundChat]:
    """The sessions of `opencode.db`, without those that an agent began for itself."""
    for row in tables.rows("session", "ORDER BY time_created, id"):
        if row.get("parent_id"):
            continue
        parts: dict[object, list[object]] = {}
        for part in tables.rows("part", "WHERE session_id = ? ORDER BY id", row.get("id")):
            parts.setdefault(part["message_id"], []).append(parsed(part["data"]))
        messages: Rows = [
            {
                "info": {**mapping(parsed(said["data"])), "id": said["id"]},
                "parts": parts.get(said["id"], []),
            }
            for said in tables.rows(
                "message", "WHERE session_id = ? ORDER BY time_created, id", row.get("id")
            )
        ]
        yield opencode({**row, "time": {"created": row.get("time_created")}}, messages)


def _llm_responses(tables: _Tables) -> Iterator[FoundChat]:
    """The conversations of `llm` before its threads: questions with their answers."""
    names = {row["id"]: row["name"] for row in tables.rows("conversations")}
    chats: dict[str, FoundChat] = {}
    for row in tables.rows("responses", "ORDER BY datetime_utc, id"):
        key, name = row["id"], str(row.get("conversation_id") or row["id"])
        at = row.get("datetime_utc")
        if name not in chats:
            title = title_of(names.get(name))
            chats[name] = FoundChat(client="llm", id=name, title=title, created_at=moment(at))
        chat = chats[name]
        for result in tables.rows("tool_results", "WHERE response_id = ? ORDER BY id", key):
            answered(chat.messages, text_of(result["tool_call_id"]), result["output"])
        pieces = [
            text_of(tables.row("fragments", "WHERE id = ?", used["fragment_id"]).get("content"))
            for used in tables.rows(
                "prompt_fragments", 'WHERE response_id = ? ORDER BY "order"', key
            )
        ]
        asked = chat.add(f"{key}-user", "user", *pieces, text_of(row.get("prompt")), at=at)
        for used in tables.rows(
            "prompt_attachments", 'WHERE response_id = ? ORDER BY "order"', key
        ):
            _add_llm_attachment(tables, used["attachment_id"], asked)
        said = chat.add(f"{key}-assistant", "assistant", at=at, model=row.get("model"))
        if words := text_of(row.get("reasoning")):
            said.parts.append(thought(words))
        for made in tables.rows("tool_calls", "WHERE response_id = ? ORDER BY id", key):
            args = parsed(made["arguments"])
            said.parts.append(call(text_of(made["tool_call_id"]), text_of(made["name"]), args))
        if text := text_of(row.get("response")):
            said.parts.append(text_part(text))
    yield from chats.values()


def _llm_threads(tables: _Tables) -> Iterator[FoundChat]:
    """The threads of `llm`: each points at its last message, and messages at the one before."""
    for thread in tables.rows("threads", "ORDER BY rowid"):
        turns = [*tables.rows("turns", "WHERE thread_id = ? ORDER BY datetime_utc", thread["id"])]
        tip = thread["tip_message_hash"]
        chat = FoundChat(
            client="llm",
            id=str(thread["id"]),
            title=title_of(thread.get("name")),
            created_at=moment(turns[0]["datetime_utc"] if turns else thread.get("datetime_utc")),
            current=text_of(tip) or None,
        )
        times = {
            turn[end]: turn["datetime_utc"]
            for turn in turns
            for end in ("parent_message_hash", "tip_message_hash")
        }
        models = {turn["tip_message_hash"]: turn["model"] for turn in turns}
        said: dict[str, dict[str, Any]] = {}
        for last in (*(turn["tip_message_hash"] for turn in turns), tip):
            row, way = tables.row("messages", "WHERE hash = ?", last), list[dict[str, Any]]()
            while row and row["hash"] not in said:
                said[row["hash"]] = row
                way.append(row)
                row = tables.row("messages", "WHERE hash = ?", row["parent_hash"])
            for row in reversed(way):
                key = row["hash"]
                found = chat.add(key, row["role"], at=times.get(key), model=models.get(key))
                found.parent = row["parent_hash"]
                if row["role"] != "system":
                    _add_llm_parts(tables, found, chat)
        if chat.messages:
            yield chat


def _add_llm_parts(tables: _Tables, found: FoundMessage, chat: FoundChat) -> None:
    for row in tables.rows("parts", "WHERE message_hash = ? ORDER BY position", found.id):
        kind, more = row["type"], mapping(parsed(row["payload"]))
        text = text_of(row["text"]) or "".join(
            text_of(piece.get("literal"))
            or text_of(
                tables.row("fragments", "WHERE id = ?", piece.get("fragment")).get("content")
            )
            for piece in objects(more.get("text_ref"))
        )
        name = text_of(more.get("tool_call_id"))
        if kind == "text":
            found.parts.append(text_part(text))
        elif kind == "reasoning":
            found.parts.append(thought(text))
        elif kind == "tool_call":
            found.parts.append(call(name, text_of(row["tool_name"]), more.get("arguments")))
        elif kind == "tool_result":
            answered(chat.messages, name, more.get("output"))
        elif kind == "attachment":
            _add_llm_attachment(tables, mapping(more.get("attachment")).get("id"), found)


def _add_llm_attachment(tables: _Tables, name: object, found: FoundMessage) -> None:
    """Add a file whose content is in the database; others are paths of the user's machine."""
    file = tables.row("attachments", "WHERE id = ?", name)
    if isinstance(content := file.get("content"), bytes):
        address = f"data:{file.get('type')};base64,{base64.b64encode(content).decode()}"
        found.assets.append((address, Path(text_of(file.get("path"))).name))

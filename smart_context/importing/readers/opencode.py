"""Sessions of opencode.

Without a database, each session, message and part is a file of its own:
`session/<project>/<session>.json`, `message/<session>/<message>.json` and
`part/<message>/<part>.json`. Older versions have `session/info/<session>.json`, and `message` and
`part/<session>` below `session`.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
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
from smart_context.importing.program import Form, Program, Rows, Scattered, Session
from smart_context.importing.tables import Tables

_SPEAKERS = frozenset(("user", "assistant"))
_UNTITLED = re.compile(r"(?:New|Child) session - \d{4}-")


def opencode(exported: Mapping[str, Any]) -> FoundChat:
    """A session of opencode, as `opencode export` writes it."""
    return _opencode_session(mapping(exported.get("info")), objects(exported["messages"]))


def _opencode_session(session: Mapping[str, Any], messages: Rows) -> FoundChat:
    """A session of opencode.

    Args:
        session: Its `info` object.
        messages: Objects with `info` and `parts`. Parts that opencode added itself are left out; an
            answer that stands for earlier messages is a summary. Messages that were taken back
            and are still stored become a branch.
    """
    title = title_of(session.get("title"))
    back = mapping(parsed(session.get("revert")))
    chat = FoundChat(
        client="opencode",
        id=text_of(session.get("id")),
        title="" if _UNTITLED.match(title) else title,
        created_at=moment(mapping(session.get("time")).get("created")),
    )
    for row in messages:
        info = mapping(row.get("info"))
        if text_of(info.get("role")) not in _SPEAKERS:
            continue
        if back and info.get("id") == back.get("messageID") and not back.get("partID"):
            chat.current = chat.messages[-1].id if chat.messages else None
        at = mapping(info.get("time")).get("created")
        found = chat.add(info.get("id"), info["role"], at=at, model=info.get("modelID"))
        found.is_summary = info.get("summary") is True
        for part in objects(row.get("parts")):
            if back and part.get("id") == back.get("partID"):
                chat.current = found.id
                break
            _add_opencode_part(part, found)
    return chat


def _add_opencode_part(part: Mapping[str, Any], found: FoundMessage) -> None:
    kind, text = part.get("type"), text_of(part.get("text"))
    if kind == "text" and not (part.get("synthetic") or part.get("ignored")):
        found.parts.append(text_part(text))
    elif kind == "subtask":
        found.parts.append(text_part(text_of(part.get("prompt"))))
    elif kind == "reasoning":
        found.parts.append(thought(text))
    elif kind == "file":
        found.assets.append(_file_of(part))
    elif kind == "tool":
        state = mapping(part.get("state"))
        is_done = text_of(state.get("status")) in {"completed", "error"}
        result = text_of(state.get("output")) or text_of(state.get("error"))
        name = text_of(part.get("callID")) or f"{found.id}-{len(found.parts)}"
        label, args = text_of(part.get("tool")) or "tool", state.get("input")
        found.parts.append(call(name, label, args, result, is_done=is_done))
        found.assets.extend(map(_file_of, objects(state.get("attachments"))))


def _file_of(part: Mapping[str, Any]) -> tuple[str, str]:
    return text_of(part.get("url")), text_of(part.get("filename"))


def _opencode_sessions(tables: Tables) -> Iterator[FoundChat]:
    """The sessions in `opencode.db`, without those that an agent began."""
    for row in tables.rows("session", "time_created, id"):
        if row.get("parent_id"):
            continue
        parts: dict[object, list[Mapping[str, Any]]] = {}
        for part in tables.rows_of("part", "session_id", row.get("id"), "id"):
            told = {**mapping(parsed(part["data"])), "id": part["id"]}
            parts.setdefault(part["message_id"], []).append(told)
        messages: Rows = [
            {
                "info": {**mapping(parsed(said["data"])), "id": said["id"]},
                "parts": parts.get(said["id"], []),
            }
            for said in tables.rows_of("message", "session_id", row.get("id"), "time_created, id")
        ]
        yield _opencode_session({**row, "time": {"created": row.get("time_created")}}, messages)


def _beside(folder: Path) -> Sequence[Path]:
    """The folders of messages and parts, for a folder of one project's or of all sessions."""
    sessions = next((each for each in (folder, folder.parent) if each.name == "session"), None)
    if sessions is None:
        return ()
    roots = (sessions.parent, sessions)
    return [root / kind for root in roots for kind in ("message", "part")]


def _gathered(paths: Sequence[Path]) -> Mapping[Path, Sequence[Path]]:
    """The files of each session's messages, each followed by its parts; ids sort by time."""
    sessions: list[tuple[Path, Path]] = []
    messages: defaultdict[Path, list[Path]] = defaultdict(list)
    parts: defaultdict[Path, list[Path]] = defaultdict(list)
    for path in sorted(path for path in paths if path.suffix == ".json"):
        owner, kind, root = (path.parent, path.parent.parent, path.parent.parent.parent)
        if kind.name == "message":
            messages[root / owner.name].append(path)
        elif kind.name == "part":
            parts[root / owner.name].append(path)
        elif root.name == "part":
            parts[root.parent / owner.name].append(path)
        elif kind.name == "session":
            sessions.append((path, kind if owner.name == "info" else root))
    return {
        path: [*chain.from_iterable((said, *parts[root / said.stem]) for said in found)]
        for path, root in sessions
        if (found := messages.get(root / path.stem))
    }


def _of_files(session: Session) -> FoundChat | None:
    """A session of several files; `None` for one that an agent began."""
    about, *rows = session.rows
    if about.get("parentID"):
        return None
    parts: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        parts.setdefault(text_of(row.get("messageID")), []).append(row)
    messages = (row for row in rows if "role" in row)
    said = [{"info": row, "parts": parts.get(text_of(row.get("id")), [])} for row in messages]
    return _opencode_session(about, said)


OPENCODE = Program(
    name="opencode",
    title="opencode",
    conversation=Form(
        fits=lambda item: isinstance(item.get("info"), Mapping) and "messages" in item,
        read=opencode,
    ),
    session=Form(
        fits=lambda session: (
            text_of(session.first[0].get("id")).startswith("ses_")
            and isinstance(session.first[0].get("time"), Mapping)
        ),
        read=_of_files,
    ),
    scattered=Scattered(beside=_beside, gather=_gathered),
    database=Form(
        fits=lambda tables: {"session", "message", "part"} <= tables.names,
        read=_opencode_sessions,
    ),
)

"""Sessions of Claude Code."""

import re
from collections.abc import Mapping
from typing import Any

from smart_context.importing.found import (
    FoundChat,
    FoundMessage,
    add_blocks,
    mapping,
    objects,
    text_of,
    title_of,
)
from smart_context.importing.program import Form, Program, Session

_SPEAKERS = frozenset(("user", "assistant"))
_ECHOES = (
    *("<local-command-", "<bash-stdout>", "<bash-stderr>", "<task-notification>"),
    *("<system-reminder>", "<ide_opened_file>", "<ide_selection>", "<ide_diagnostics>"),
)
"""How messages begin that Claude Code writes in the user's name."""
_COMMAND = re.compile(r"<command-name>([^<]*)</command-name>")
_ARGUMENTS = re.compile(r"<command-args>([^<]*)</command-args>")


def claude_code(session: Session) -> FoundChat:
    """A session of Claude Code, from the lines of its file.

    Sidechains and meta messages are left out; a compact summary is a summary.

    """
    chat, rows = FoundChat(client="claude-code", id=session.name), session.rows
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


def _is_claude_code(session: Session) -> bool:
    marks = {"uuid", "sessionId", "leafUuid"}
    return any(not marks.isdisjoint(row) for row in session.first)


CLAUDE_CODE = Program(
    name="claude-code",
    title="Claude Code",
    signs=(b'"sessionId"',),
    session=Form(fits=_is_claude_code, read=claude_code),
)

"""Sessions of Codex."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from smart_context.base.text.typed import request_in
from smart_context.importing.found import (
    FoundChat,
    FoundMessage,
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
from smart_context.importing.program import Form, Program, Session

_SPEAKERS = frozenset(("user", "assistant"))
_ENVIRONMENT = (
    *("<environment_context>", "<user_instructions>", "# AGENTS.md instructions", "<skill>"),
    *("<INSTRUCTIONS>", "<turn_aborted>", "<permissions instructions>", "<user_shell_command>"),
    *("<skills_instructions>", "<subagent_notification>", "<user_action>"),
)
"""The beginnings of messages that Codex writes in the user's name."""
_ABOUT = "session_meta"
_CODEX_CALLS = {"function_call", "custom_tool_call", "local_shell_call", "web_search_call"}


def codex(session: Session) -> FoundChat:
    """A session of Codex from its response items; events that repeat them are left out.

    Turns that were taken back become a branch. A session that an agent began is empty.
    """
    chat = FoundChat(client="codex", id=session.name)
    path, is_named = _Path(chat), False
    for row in session.rows:
        payload, kind = mapping(row.get("payload")), row.get("type")
        if "payload" not in row:  # the format of early 2025
            payload, kind = row, "response_item" if kind else _ABOUT
        if kind == _ABOUT and not is_named:  # the ids of sessions that it continues come later
            chat.id, is_named = text_of(payload.get("id")) or chat.id, True
            chat.created_at = moment(payload.get("timestamp"))
            if "subagent" in mapping(payload.get("source")):
                return chat
        elif kind == "turn_context":
            path.model = text_of(payload.get("model")) or path.model
        elif kind == "response_item":
            _add_item(payload, path, row.get("timestamp"))
        else:
            _heed_event(payload, path, row)
    return chat


@dataclass(slots=True)
class _Path:
    """The current path of a session, which continues from an earlier point after a rollback."""

    chat: FoundChat
    model: str = ""  # the current model
    last: FoundMessage | None = None  # the end of the path
    before: dict[str, FoundMessage | None] = field(default_factory=dict)  # by a message's id

    def add(self, role: str, at: object) -> FoundMessage:
        """Add a message at the end of the path."""
        found = self.chat.add("", role, at=at, model=self.model)
        found.parent = self.last.id if self.last else None
        self.before[found.id] = self.last
        self.last, self.chat.current = found, found.id
        return found

    def take_back(self, turns: object) -> None:
        """Move the end of the path back by some turns."""
        left = turns if isinstance(turns, int) else 0
        while self.last and left > 0:
            left -= self.last.role == "user"
            self.last = self.before[self.last.id]
        self.chat.current = self.last.id if self.last else self.chat.current


def _heed_event(event: Mapping[str, Any], path: _Path, row: Mapping[str, Any]) -> None:
    if row.get("type") == "compacted" and (summary := text_of(event.get("message"))):
        found = path.add("assistant", row.get("timestamp"))
        found.parts.append(text_part(summary))
        found.is_summary = True
    elif event.get("type") == "thread_name_updated":
        path.chat.title = title_of(event.get("thread_name")) or path.chat.title
    elif event.get("type") == "thread_rolled_back":
        path.take_back(event.get("num_turns"))


def _add_item(item: Mapping[str, Any], path: _Path, at: object) -> None:
    kind, role = text_of(item.get("type")), "assistant"
    parts, pictures = [], []
    if kind in {"function_call_output", "custom_tool_call_output"}:
        answered(path.chat.messages, text_of(item.get("call_id")), text_in(item.get("output")))
    elif kind == "message" and text_of(item.get("role")) in _SPEAKERS:
        role, said = item["role"], _said(item)
        text = text_in(said)
        parts = [text_part(request_in(text) if role == "user" else text)] if said else []
        pictures = [text_of(block.get("image_url")) for block in objects(said)]
    elif kind == "reasoning" and (words := text_in(item.get("summary"))):
        parts = [thought(words)]
    elif kind in _CODEX_CALLS:
        args = parsed(item.get("arguments") or item.get("input") or item.get("action"))
        name = text_of(item.get("call_id")) or str(len(path.chat.messages))
        parts = [call(name, text_of(item.get("name")) or kind, args)]
    elif kind == "image_generation_call" and (drawn := text_of(item.get("result"))):
        parts = [call(text_of(item.get("id")), kind, item.get("revised_prompt"))]
        pictures = [f"data:image/png;base64,{drawn}"]
    if not parts:
        return
    last = path.last
    goes_on = last is not None and role == last.role == "assistant" and not last.is_summary
    found = last if goes_on and last else path.add(role, at)
    found.parts.extend(parts)
    found.assets.extend((picture, "Picture") for picture in pictures if picture)


def _said(item: Mapping[str, Any]) -> object:
    """The content of a message, without text that Codex wrote in the user's name.

    Newer versions mark the user's blocks; in older ones, Codex's are known by their beginning.
    """
    content = item.get("content")
    if item.get("role") != "user" or not isinstance(content, list):
        return "" if text_in(content).lstrip().startswith(_ENVIRONMENT) else content
    about = mapping(item.get("internal_chat_message_metadata_passthrough"))
    kinds = about.get("content_item_kinds")
    if isinstance(kinds, list) and len(kinds) == len(content):
        pairs = zip(content, map(str, kinds), strict=True)
        return [block for block, kind in pairs if kind.startswith("user.")]
    texts = ((block, text_of(block.get("text")).lstrip()) for block in objects(content))
    return [block for block, text in texts if not text.startswith(_ENVIRONMENT)]


def _is_codex(session: Session) -> bool:
    kinds = {"type", "payload"}, {"id", "timestamp", "instructions"}  # the second one: early 2025
    return any(row.keys() >= keys for row in session.first for keys in kinds)


def _key(row: Mapping[str, Any]) -> str:
    return text_of(mapping(row.get("payload")).get("id")) if row.get("type") == _ABOUT else ""


def _is_item(row: Mapping[str, Any]) -> bool:
    return row.get("type") == "response_item"


def _is_object(item: Mapping[str, Any]) -> bool:
    return isinstance(item.get("session"), Mapping) and isinstance(item.get("items"), list)


def _of_object(item: Mapping[str, Any]) -> FoundChat:
    """A session from versions before JSON lines, with its items in one object."""
    about = {key: item["session"].get(key) for key in ("id", "timestamp")}
    return codex(Session(rows=[about, *objects(item["items"])], name=""))


CODEX = Program(
    name="codex",
    title="Codex",
    signs=(b'"payload"',),
    conversation=Form(fits=_is_object, read=_of_object),
    session=Form(
        fits=_is_codex,
        read=lambda session: map(codex, session.parted(_key, _is_item)),
    ),
)

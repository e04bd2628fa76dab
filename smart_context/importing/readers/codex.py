"""Sessions of Codex."""

from collections.abc import Mapping
from typing import Any

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
"""How messages begin that Codex writes in the user's name."""
_CODEX_CALLS = {"function_call", "custom_tool_call", "local_shell_call", "web_search_call"}


def codex(session: Session) -> FoundChat:
    """A session of Codex: its response items; the events that repeat them are left out.

    Turns that were taken back are a branch. A session that an agent began for itself is empty.
    """
    chat = FoundChat(client="codex", id=session.name)
    model, is_named = "", False
    for row in session.rows:
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


def _is_codex(session: Session) -> bool:
    return any(
        ("type" in row and "payload" in row) or "instructions" in row for row in session.first
    )


CODEX = Program(
    name="codex",
    title="Codex",
    signs=(b'"payload"',),
    session=Form(fits=_is_codex, read=codex),
)

"""The log of `llm`."""

import base64
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from smart_context.importing.found import (
    FoundChat,
    FoundMessage,
    answered,
    call,
    instructions_of,
    mapping,
    moment,
    objects,
    parsed,
    text_of,
    text_part,
    thought,
    title_of,
)
from smart_context.importing.program import Form, Program
from smart_context.importing.tables import Tables


def _llm_responses(tables: Tables) -> Iterator[FoundChat]:
    """The conversations of `llm` from before it had threads: questions with their answers."""
    names = {row["id"]: row["name"] for row in tables.rows("conversations")}
    one = "coalesce(nullif(conversation_id, ''), id)"
    for places in tables.groups("responses", one, "datetime_utc, id"):
        yield _llm_conversation(tables, names, places)


def _llm_conversation(
    tables: Tables, names: Mapping[str, object], places: Sequence[int]
) -> FoundChat:
    chat = FoundChat(client="llm", id="")
    for row in tables.rows_at("responses", places):
        key, at = row["id"], row.get("datetime_utc")
        if not chat.id:
            chat.id = str(row.get("conversation_id") or key)
            chat.title, chat.created_at = title_of(names.get(chat.id)), moment(at)
        chat.instructions = chat.instructions or instructions_of(row.get("system"))
        for result in tables.rows_of("tool_results", "response_id", key, "id"):
            answered(chat.messages, text_of(result["tool_call_id"]), text_of(result["output"]))
        pieces = [
            text_of(tables.row_of("fragments", "id", used["fragment_id"]).get("content"))
            for used in tables.rows_of("prompt_fragments", "response_id", key, '"order"')
        ]
        asked = chat.add(f"{key}-user", "user", *pieces, text_of(row.get("prompt")), at=at)
        for used in tables.rows_of("prompt_attachments", "response_id", key, '"order"'):
            _add_llm_attachment(tables, used["attachment_id"], asked)
        said = chat.add(f"{key}-assistant", "assistant", at=at, model=row.get("model"))
        if words := text_of(row.get("reasoning")):
            said.parts.append(thought(words))
        for made in tables.rows_of("tool_calls", "response_id", key, "id"):
            args = parsed(made["arguments"])
            said.parts.append(call(text_of(made["tool_call_id"]), text_of(made["name"]), args))
        if text := text_of(row.get("response")):
            said.parts.append(text_part(text))
    return chat


def _llm_threads(tables: Tables) -> Iterator[FoundChat]:
    """The threads of `llm`: each names its last message, and each message the one before it."""
    for thread in tables.rows("threads"):
        turns = [*tables.rows_of("turns", "thread_id", thread["id"], "datetime_utc")]
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
            row, way = tables.row_of("messages", "hash", last), list[dict[str, Any]]()
            while row and row["hash"] not in said:
                said[row["hash"]] = row
                way.append(row)
                row = tables.row_of("messages", "hash", row["parent_hash"])
            for row in reversed(way):
                key = row["hash"]
                found = chat.add(key, row["role"], at=times.get(key), model=models.get(key))
                found.parent = row["parent_hash"]
                _add_llm_parts(tables, found, chat)
                if row["role"] == "system":
                    chat.instructions = instructions_of(*(one.get("text") for one in found.parts))
                    found.parts = []
        if chat.messages:
            yield chat


def _add_llm_parts(tables: Tables, found: FoundMessage, chat: FoundChat) -> None:
    for row in tables.rows_of("parts", "message_hash", found.id, "position"):
        kind, more = row["type"], mapping(parsed(row["payload"]))
        text = text_of(row["text"]) or "".join(
            text_of(piece.get("literal"))
            or text_of(tables.row_of("fragments", "id", piece.get("fragment")).get("content"))
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


def _add_llm_attachment(tables: Tables, name: object, found: FoundMessage) -> None:
    """Add a file whose content is in the database; others are only paths on the user's machine."""
    file = tables.row_of("attachments", "id", name)
    if isinstance(content := file.get("content"), bytes):
        address = f"data:{file.get('type')};base64,{base64.b64encode(content).decode()}"
        found.assets.append((address, Path(text_of(file.get("path"))).name))


def _llm(tables: Tables) -> Iterator[FoundChat]:
    yield from _llm_responses(tables)
    if {"threads", "messages"} <= tables.names:
        yield from _llm_threads(tables)


LLM = Program(
    name="llm",
    title="llm",
    database=Form(
        fits=lambda tables: "responses" in tables.names or {"threads", "messages"} <= tables.names,
        read=_llm,
    ),
)

"""Chats of SillyTavern."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from smart_context.importing.found import (
    FoundChat,
    FoundMessage,
    call,
    mapping,
    moment,
    objects,
    text_of,
    text_part,
    thought,
    title_of,
)
from smart_context.importing.program import Form, Program, Session
from smart_context.llm.thoughts import split_thoughts

_NO_NAMES = {"", "unused"}
"""The names that SillyTavern writes if the right one is stored elsewhere."""
_OWN_NAME = "SillyTavern System"
_NOTE = "comment"
_WRITTEN = {"", _NOTE, "narrator"}
"""The types of messages by people and characters; SillyTavern's own have others."""


def sillytavern(session: Session) -> FoundChat:
    """A chat of SillyTavern; its first line describes the chat, other swipes are branches."""
    rows, name = session.rows, session.name
    about = rows[0] if rows and "mes" not in rows[0] else {}
    metadata = mapping(about.get("chat_metadata"))
    told = [row for row in rows if _is_told(row)]
    spoke = dict.fromkeys(text_of(row.get("name")) for row in told if _speaks(row))
    named = [text_of(about.get("character_name")), ", ".join(filter(None, spoke)), name]
    chat = FoundChat(
        client="sillytavern",
        id=text_of(metadata.get("integrity")) or _sillytavern_key(about, told),
        title=title_of(next(found for found in named if found not in _NO_NAMES)),
        created_at=moment(about.get("create_date")) or moment(told and told[0].get("send_date")),
    )
    if metadata.get("main_chat"):  # a branch keeps the id of the chat that it was split from
        chat.id += f" {name}"
    before: str | None = None
    for number, row in enumerate(rows):
        for used in objects(mapping(row.get("extra")).get("tool_invocations")):
            made = (text_of(used.get("id")), text_of(used.get("name")), used.get("parameters"))
            found = chat.add(f"{number}-{len(chat.messages)}", "", at=row.get("send_date"))
            found.parts.append(call(*made, used.get("result"), is_done=True))
            found.parent, before, chat.current = before, found.id, found.id
        if "mes" not in row or _is_notice(row):
            continue
        swipes, infos = row.get("swipes"), objects(row.get("swipe_info"))
        texts = [
            text_of(swipe) or text_of(mapping(swipe).get("mes"))
            for swipe in (swipes if isinstance(swipes, list) and swipes else [""])
        ]
        wanted = row.get("swipe_id")
        shown = wanted if isinstance(wanted, int) and 0 <= wanted < len(texts) else 0
        for place, text in enumerate(texts):
            about = row if place == shown else infos[place] if place < len(infos) else {}
            said = text_of(row.get("mes")) if place == shown else text
            label = f"**{row['name']}:** " if len(spoke) > 1 and _speaks(row) else ""
            found = chat.add(f"{number}-{place}", _speaker(row))
            found.is_hidden = row.get("is_system") is True
            _sillytavern_swipe(found, about, said, before, label)
        before = chat.current = f"{number}-{shown}"
    return chat


def _speaks(row: Mapping[str, Any]) -> bool:
    """True for a message of a character; there may be several."""
    return _speaker(row) != "user" and not _is_notice(row) and bool(text_of(row.get("name")))


def _is_notice(row: Mapping[str, Any]) -> bool:
    """True for SillyTavern's own notices; messages hidden by the user have the same mark."""
    extra = mapping(row.get("extra"))
    kind, name = text_of(extra.get("type")), text_of(row.get("name"))
    is_own = kind not in _WRITTEN or name == _OWN_NAME or "tool_invocations" in extra
    return row.get("is_system") is True and is_own


def _sillytavern_key(about: Mapping[str, Any], told: Sequence[Mapping[str, Any]]) -> str:
    """A key for a chat without an id: its character and start, else a hash of its beginning."""
    began = [text_of(about.get("character_name")), text_of(about.get("create_date"))]
    if all(began) and _NO_NAMES.isdisjoint(began):
        return " ".join(began)
    asked = next((place for place, row in enumerate(told) if row.get("is_user") is True), 0)
    begun = [(row.get("name"), row.get("send_date"), row.get("mes")) for row in told[: asked + 1]]
    return hashlib.sha256(json.dumps([*began, *begun]).encode()).hexdigest()


def _speaker(row: Mapping[str, Any]) -> str:
    is_note = mapping(row.get("extra")).get("type") == _NOTE
    return "user" if row.get("is_user") is True or is_note else "assistant"


def _sillytavern_swipe(
    found: FoundMessage, about: Mapping[str, Any], said: str, before: str | None, label: str
) -> None:
    extra = mapping(about.get("extra"))
    found.parent = before
    found.created_at = moment(about.get("send_date"))
    found.model = "" if found.role == "user" else text_of(extra.get("model"))
    thoughts, said = split_thoughts(said) if label else ("", said)
    if words := text_of(extra.get("reasoning")) or thoughts:
        found.parts.append(thought(words))
    found.parts.append(text_part(label + said if said else said))
    shown = (extra.get("image"), mapping(extra.get("file")).get("url"))
    for address in (*shown, *(media.get("url") for media in objects(extra.get("media")))):
        if name := text_of(address).rpartition("/")[2]:
            found.assets.append((name, ""))


def _is_sillytavern(session: Session) -> bool:
    return any("mes" in row or "chat_metadata" in row for row in session.first)


def _is_told(row: Mapping[str, Any]) -> bool:
    return "mes" in row


def _begun(row: Mapping[str, Any]) -> str:
    return "" if _is_told(row) or "chat_metadata" not in row else json.dumps(row)


SILLYTAVERN = Program(
    name="sillytavern",
    title="SillyTavern",
    signs=(b'"chat_metadata"',),
    session=Form(
        fits=_is_sillytavern,
        read=lambda session: map(sillytavern, session.parted(_begun, _is_told)),
    ),
)

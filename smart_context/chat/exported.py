"""A chat as a file to take elsewhere. Pure."""

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from smart_context.base.text.names import one_line
from smart_context.chat.documents.branches import Versions
from smart_context.chat.messages import Message, messages_of


def as_markdown(
    document: dict[str, Any], versions: Mapping[str, Versions] = MappingProxyType({})
) -> str:
    """A chat as Markdown, with role, id and time of each message, and its versions if given."""
    title = document.get("title")
    head = [f"# {one_line(title)}"] if isinstance(title, str) and title else []
    return "\n\n".join(
        [
            *head,
            *(
                f"## {_speaker(message)} · {one_line(message.id)}"
                f"{' · ' + one_line(message.created_at) if message.created_at else ''}\n\n"
                f"{_in_words(message.id, versions)}{message.text}"
                + (f"\n\n> failed: {message.error}" if message.error else "")
                for message in messages_of(document)
            ),
        ]
    )


def _in_words(message_id: str, versions: Mapping[str, Versions]) -> str:
    """A line about the versions at a message; empty if there are none."""
    if message_id not in versions:
        return ""
    found = versions[message_id]
    others = ", ".join(one_line(head) for head in found.heads if head != message_id)
    return f"> Version {found.current} of {found.count}; print another with --at: {others}\n\n"


def _speaker(message: Message) -> str:
    return "notice" if message.is_extracted else one_line(message.role)


def as_json(document: dict[str, Any]) -> str:
    """A chat's document, indented."""
    return json.dumps(document, ensure_ascii=False, indent=2)

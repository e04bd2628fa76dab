"""The attachments of summarised messages: their names, and keys to read them with."""

from collections.abc import Sequence

from smart_context.chat.messages import Message

MOST = 10
"""The maximum number of attachments that a summary names: the newest ones."""

_HEADING = "### Attached"
_LONGEST = 200


def split_off(summary: str) -> tuple[str, list[str]]:
    """Split a summary from its list of attachments; returns the text and the list's lines."""
    text, found, listed = summary.rpartition(f"{_HEADING}\n\n")
    if not found:
        return summary, []
    return text.rstrip(), [line for line in listed.splitlines() if line.startswith("- ")]


def attached_list(messages: Sequence[Message], known: Sequence[str] = ()) -> str:
    """The list of attachments as Markdown; empty when there are none.

    Args:
        messages: The summarised messages.
        known: Lines of the previous summary.
    """
    files = [
        f'- {_short(file.get("name"))} (FILE_KEY="{_short(file.get("storage_key"))}")'
        for message in messages
        for file in message.files
        if file.get("storage_key")
    ]
    links = [
        f"- {_short(link.get('title'))}: {_short(link.get('url'))}"
        for message in messages
        for link in message.links
    ]
    newest = list(dict.fromkeys((*known, *files, *links)))[-MOST:]
    return "\n".join([_HEADING, "", *newest]) if newest else ""


def _short(value: object) -> str:
    return " ".join(str(value or "").split())[:_LONGEST]

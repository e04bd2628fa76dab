"""Writes the text of attached files and links into their message (docs/history.md)."""

import asyncio
import html
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Protocol

from smart_context.base.text.marks import unclosed
from smart_context.base.values import text_in
from smart_context.chat.messages import Message

PREVIEW_LINES = 100
MAX_WHOLE_LINES = 500

MOST_READ = 1_000
"""The most attachments of a history that are sent, the newest ones."""

_NO_LIMITS: Mapping[str, int] = MappingProxyType({})
_TAGS = ("FILE_CONTENT", "ATTACHMENT_FILE")


_KEY = re.compile(r"^<FILE_KEY>(.*)</FILE_KEY>$", re.MULTILINE)
_CUT = re.compile(
    r"</FILE_CONTENT>\n<TRUNCATED>Content truncated\. "
    r"Showing first (\d+) of (\d+) (lines|characters)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CutText:
    """An attached text of which only the beginning is sent."""

    key: str  # its storage key
    shown: int  # the number of units that are sent
    total: int  # the number of units of the whole text
    unit: str  # `lines` or `characters`


class AttachmentResolver(Protocol):
    """Reads the text of attachments."""

    async def read(self, id: str) -> str | None:  # noqa: A002  the seed's name
        """The text that is stored under a key; `None` when there is none."""


async def read_attachments(
    messages: Iterable[Message], resolver: AttachmentResolver
) -> Mapping[str, str]:
    """The texts by storage key; each key is read once, all concurrently.

    Leaves out keys without text (`None`, empty, not text, or a resolver that raised), and all but
    the last `MOST_READ` keys.
    """
    keys = list(dict.fromkeys(key for message in messages for key, _ in _attached(message)))
    keys = keys[-MOST_READ:]
    async with asyncio.TaskGroup() as group:
        readers = [group.create_task(_read(resolver, key)) for key in keys]
    return {
        key: text
        for key, reader in zip(keys, readers, strict=True)
        if not reader.cancelled() and (text := reader.result())
    }


def with_attachments(
    message: Message,
    texts: Mapping[str, str],
    *,
    can_read_on: bool = False,
    most: Mapping[str, int] = _NO_LIMITS,
) -> Message:
    """The message with an envelope for each of its attachments, after its last text.

    Args:
        message: Its files are numbered first, then its links, from 1.
        texts: By storage key; an attachment without a text is skipped, not numbered.
        can_read_on: Show only the first lines of a long text, unless its file must be sent whole:
            the model can ask for the rest.
        most: The maximum number of characters shown of a text, by storage key.
    """
    found = [(key, name) for key, name in _attached(message) if key in texts]
    if not found:
        return message
    whole = whole_keys_of(message)
    envelopes = (
        attachment_envelope(
            number,
            name,
            key,
            texts[key],
            can_read_on=can_read_on,
            most=most.get(key),
            is_whole=key in whole,
        )
        for number, (key, name) in enumerate(found, start=1)
    )
    return _append(message, "".join(f"\n{envelope}" for envelope in envelopes))


def keys_of(message: Message) -> list[str]:
    """The storage keys of a message's attachments, in the order of its envelopes."""
    return [key for key, _ in _attached(message)]


def whole_keys_of(message: Message) -> frozenset[str]:
    """The storage keys of the files that are sent whole, however long they are."""
    whole = [file for file in message.files if file.get("whole") is True]
    return frozenset(_text(file, "storage_key") for file in whole)


def cut_texts(text: str) -> list[CutText]:
    """The cut texts and their extents, from the envelopes in a message's text."""
    found: list[CutText] = []
    # No text can hold the closing tag, so the key before the content is that of the envelope.
    for envelope in text.split("</ATTACHMENT_FILE>\n")[:-1]:
        key, cut = _KEY.search(envelope), _CUT.search(envelope)
        if key and cut:
            name = html.unescape(key[1])
            found.append(CutText(key=name, shown=int(cut[1]), total=int(cut[2]), unit=cut[3]))
    return found


def shown_of(text: str, *, can_read_on: bool) -> str:
    """The text that an envelope shows: all, or the first lines if the model can ask for more."""
    if not can_read_on or text.count("\n") < MAX_WHOLE_LINES:
        return text
    return "\n".join(text.split("\n", PREVIEW_LINES)[:PREVIEW_LINES])


def attachment_envelope(
    number: int,
    name: str,
    key: str,
    text: str,
    *,
    can_read_on: bool = False,
    most: int | None = None,
    is_whole: bool = False,
) -> str:
    """One attachment as the model sees it, closed by a newline; `text` can't end it early."""
    line_count = text.count("\n") + 1
    size = len(text.encode("utf-8", "surrogatepass"))
    shown = shown_of(text, can_read_on=can_read_on and not is_whole)
    extent = f"{PREVIEW_LINES} of {line_count} lines" if shown != text else ""
    if most is not None and len(shown) > most:
        shown, extent = shown[:most], f"{most} of {len(text)} characters"
    notice = ""
    if extent:
        advice = (
            " Use read_file or search_file_content tool with "
            f'FILE_KEY="{_one_line(key, quote=True)}" to read more content.'
        )
        notice = (
            f"<TRUNCATED>Content truncated. Showing first {extent}."
            f"{advice if can_read_on else ''}</TRUNCATED>\n"
        )
    return (
        "<ATTACHMENT_FILE>\n"
        f"<FILE_INDEX>{number}</FILE_INDEX>\n"
        f"<FILE_NAME>{_one_line(name)}</FILE_NAME>\n"
        f"<FILE_KEY>{_one_line(key)}</FILE_KEY>\n"
        f"<FILE_LINES>{line_count}</FILE_LINES>\n"
        f"<FILE_SIZE>{size} bytes</FILE_SIZE>\n"
        "<FILE_CONTENT>\n"
        f"{unclosed(shown, _TAGS)}\n"
        "</FILE_CONTENT>\n"
        f"{notice}"
        "</ATTACHMENT_FILE>\n"
    )


def _attached(message: Message) -> Iterator[tuple[str, str]]:
    """The storage key and name of each attachment that has a key: files, then links."""
    for entry in message.files:
        if key := _text(entry, "storage_key"):
            yield key, _text(entry, "name")
    for entry in message.links:
        if key := _text(entry, "storage_key"):
            yield key, _text(entry, "title") or _text(entry, "url")


async def _read(resolver: AttachmentResolver, key: str) -> str:
    try:
        text = await resolver.read(key)
    except Exception:  # noqa: BLE001  the contract: an attachment that can't be read is absent
        return ""
    return text if isinstance(text, str) else ""


def _append(message: Message, addition: str) -> Message:
    if isinstance(message.content, str):
        return message.with_content(f"{message.content}\n{addition}")
    parts = list(message.content)
    for position in range(len(parts) - 1, -1, -1):
        if parts[position].get("type") == "text":
            parts[position] = {
                **parts[position],
                "text": f"{_text(parts[position], 'text')}\n{addition}",
            }
            return message.with_content(parts)
    return message.with_content([*parts, {"type": "text", "text": f"\n{addition}"}])


def _one_line(text: str, *, quote: bool = False) -> str:
    return html.escape(" ".join(text.split("\n")).replace("\r", " "), quote=quote)


def _text(entry: Mapping[str, Any], name: str) -> str:
    return text_in(entry.get(name))

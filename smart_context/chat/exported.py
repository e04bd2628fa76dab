"""Exports of chats as texts, with their files: Markdown, JSON, messages, HTML. Pure."""

import html
import json
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Literal
from urllib.parse import quote

from smart_context.base.text.names import (
    fence_for,
    json_shown,
    names_device,
    one_line,
    storable,
    without_unseen,
)
from smart_context.base.values import JsonObject, text_in
from smart_context.chat.documents.branches import Versions, branches_of
from smart_context.chat.documents.choices import kept_out_and_in
from smart_context.chat.files.attached_file import (
    data_address,
    is_key,
    is_safe_address,
    key_of,
    link_text,
)
from smart_context.chat.listed.rows import title_from
from smart_context.chat.messages import Message, Part, messages_of
from smart_context.chat.tool_pairs import as_function

Form = Literal["markdown", "json", "openai", "html"]
ENDINGS: Mapping[str, str] = {"markdown": "md", "json": "json", "openai": "json", "html": "html"}

Attached = Mapping[str, str]
"""The place of each attached file, by storage key: a path, or a `data:` address of its content."""

_NONE: Attached = MappingProxyType({})

MARK = "smart_context"
"""The key of the mark of an exported JSON document; the mark names the exported chat."""

_CALLOUTS = {"user": "question", "assistant": "quote", "system": "info", "tool": "example"}
_SPEAKERS = {"user": "You", "assistant": "Assistant", "system": "System", "tool": "Tool"}
_NOT_IN_BLOCK_IDS = re.compile(r"[^A-Za-z0-9-]+")
_LONGEST_TITLE, _LONGEST_NAME = 80, 240
"""In characters and in bytes; file systems allow 255 bytes, and temporary names need some."""
_MARKDOWN = re.compile(r"([\\`*_\[\]<>|~$#^])")
_NOT_IN_ADDRESSES = re.compile(r"[()<>\\`]")
"""Characters that could end an address in Markdown."""

_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
_STYLE = (
    "body{font:16px/1.6 system-ui,sans-serif;max-width:46rem;margin:2rem auto;padding:0 1rem;"
    "color-scheme:light dark;overflow-wrap:anywhere}article{margin:0 0 1.5rem;padding:1rem;"
    "border:1px solid #8884;border-radius:.75rem}h2{font-size:1rem;margin:0 0 .5rem}"
    "time,summary{opacity:.7;font-size:.85rem}pre{white-space:pre-wrap;padding:.75rem;"
    "background:#8882;border-radius:.5rem}table{border-collapse:collapse}td,th{padding:.25rem "
    ".5rem;border:1px solid #8884}img{max-width:100%;border-radius:.5rem}"
    "blockquote{margin-left:0;padding-left:1rem;border-left:3px solid #8884}"
)


def _escaped(text: str) -> str:
    return f"<pre>{html.escape(text)}</pre>"


def exported(
    chat_id: str,
    document: JsonObject,
    form: Form,
    render: Callable[[str], str] = _escaped,
    attached: Attached = _NONE,
    choices: Mapping[str, Any] = MappingProxyType({}),
) -> str:
    """A chat as a text of this form, ending with a line break.

    Args:
        choices: A person's choices for the chat; JSON includes the hidden and pinned messages.
        render: Makes safe HTML of a message's Markdown, for the form `html`.
        attached: The places of the attached files that Markdown and HTML show; other files are
            only named.
    """
    if form == "json":
        mark = {"export": 1, "chat_id": chat_id, **kept_out_and_in(choices)}
        marked = {MARK: mark, **unmarked(document)}
        return storable(json.dumps(marked, ensure_ascii=False, indent=2) + "\n")
    return storable(_written(chat_id, document, form, render, attached))


def _written(
    chat_id: str,
    document: JsonObject,
    form: Form,
    render: Callable[[str], str],
    attached: Attached,
) -> str:
    if form == "openai":
        said = [m for m in _said(document) if not m.is_summary]  # the summarised messages are there
        body = {"messages": [row for message in said for row in _openai(message)]}
        return json.dumps(body, ensure_ascii=False, indent=2) + "\n"
    if form == "html":
        return _html(document, render, attached)
    return _markdown(chat_id, document, attached)


def unmarked(document: Mapping[str, Any]) -> JsonObject:
    """A document as it is stored, without the mark of an export."""
    return {key: value for key, value in document.items() if key != MARK}


def file_name(chat_id: str, document: Mapping[str, Any], form: Form) -> str:
    """The name of a chat's file: `<title>-<chat_id>.md`, of at most 240 bytes."""
    end = f"{chat_id}.{ENDINGS[form]}"
    title = plain_name(_title(document)[:_LONGEST_TITLE], _LONGEST_NAME - len(end) - 1)
    if title:
        return f"{title}-{end}"
    return f"chat{end}" if end.startswith("-") else end


def plain_name(text: str, most_bytes: int) -> str:
    """A text as a file name that is safe on any system and in any terminal; may be empty."""
    words = " ".join(NOT_IN_NAMES.sub(" ", without_unseen(text)).split()).lstrip(" .-")
    words = f"_{words}" if names_device(words) else words
    return words.encode("utf-8", "replace")[:most_bytes].decode("utf-8", "ignore").rstrip(" .")


def _title(document: Mapping[str, Any]) -> str:
    """The title as the list of chats shows it."""
    return title_from(document.get("title"), messages_of(document))


def _said(document: Mapping[str, Any]) -> list[Message]:
    return [message for message in messages_of(document) if not message.is_extracted]


def _openai(message: Message) -> Iterator[JsonObject]:
    """The message as OpenAI's API takes it: calls, their results, then the text.

    Calls without a result are left out, since the API refuses them.
    """
    calls = [
        {**part, "tool_call_id": part.get("tool_call_id") or f"{message.id}-{number}"}
        for number, part in enumerate(message.parts)
        if part.get("type") == "tool_call" and part.get("result") is not None
    ]
    if calls:
        made = [
            {
                "id": part["tool_call_id"],
                "type": "function",
                "function": as_function(part),
            }
            for part in calls
        ]
        yield {"role": "assistant", "content": None, "tool_calls": made}
    for part in calls:
        result = _as_text(part["result"])
        yield {"role": "tool", "tool_call_id": part["tool_call_id"], "content": result}
    if message.text or not calls:
        yield {"role": message.role, "content": message.text}


def _markdown(chat_id: str, document: Mapping[str, Any], attached: Attached) -> str:
    title = document.get("title")
    front = {
        "title": title if isinstance(title, str) else chat_id,
        "chat_id": chat_id,
        "created": document.get("created_at") or "",
    }
    values = {key: json_shown(_json(value)) for key, value in front.items() if value}
    lines = ["---", *(f"{key}: {value}" for key, value in values.items())]
    blocks = ["\n".join([*lines, "tags: [chat]", "---"])]
    for message in messages_of(document):
        kind = "note" if message.is_extracted else _CALLOUTS[message.role]
        told = filter(None, (_who(message), message.created_at))
        body = [f"> [!{kind}] {' · '.join(map(_as_words, told))}"]
        body += [f"> {line}".rstrip() for line in _all_text(message, attached).splitlines()]
        blocks += ["\n".join(body), f"^{_block_id(message.id)}"]  # the id is its own block
    return "\n\n".join(blocks) + "\n"


def _who(message: Message) -> str:
    """The speaker, and the model of an answer if it is known."""
    name = "Summary" if message.is_summary else _SPEAKERS[message.role]
    model = one_line(text_in(message.extra.get("model"))) if message.role == "assistant" else ""
    return f"{name} · {model}" if model else name


def _as_words(text: str) -> str:
    """A text on one line, with all Markdown escaped."""
    return _MARKDOWN.sub(r"\\\1", one_line(text))


def _block_id(name: str) -> str:
    return _NOT_IN_BLOCK_IDS.sub("-", name)


def _all_text(message: Message, attached: Attached) -> str:
    """The text of a message, with its reasoning and tool calls folded, and its attachments."""
    texts: list[str] = []
    for part in message.parts:
        text = str(part.get("text") or "")
        if part.get("type") == "tool_call":
            name, told = _called(part)
            texts.append(_folded("example", _as_words(name), told))
        elif part.get("type") == "reasoning":
            texts.append(_folded("abstract", "Thinking", text))
        else:
            texts.append(text)
    return "\n\n".join(filter(None, (*texts, *_linked_files(message, attached), _links(message))))


def _folded(kind: str, title: str, text: str) -> str:
    """A callout that is closed until it is clicked."""
    return "\n".join([f"> [!{kind}]- {title}", *(f"> {line}" for line in text.splitlines())])


def _called(part: Part) -> tuple[str, str]:
    """A tool's name, and its arguments and result as blocks of code."""
    told = [part.get(name) for name in ("args", "result") if part.get(name) is not None]
    return one_line(str(part.get("tool_name"))), "\n\n".join(map(_fenced, map(_as_text, told)))


def _fenced(text: str) -> str:
    """A block of code that its own fences can't close."""
    fence = fence_for(text)
    return f"{fence}\n{text}\n{fence}"


def _linked_files(message: Message, attached: Attached) -> Iterator[str]:
    """The attached files in Markdown: images shown, others linked, missing ones named."""
    for file in message.files:
        name, place = _named(file, attached)
        label = _as_words(name)
        if not place:
            yield f"*Attached:* {label}"
        elif str(file.get("file_type")).startswith("image/"):
            yield f"![{label}]({quote(place)})"
        else:
            yield f"*Attached:* [{label}]({quote(place)})"


def _named(file: Mapping[str, Any], attached: Attached) -> tuple[str, str]:
    """A file's name, and its place; empty if that is not known."""
    return one_line(str(file.get("name") or "file")), attached.get(str(file.get("storage_key")), "")


def _links(message: Message) -> str:
    """The attached links in Markdown; only the label if the address is not safe to open."""
    found: list[str] = []
    for link in message.links:
        url = text_in(link.get("url"))
        label = _as_words(text_in(link.get("title")) or url)
        address = _NOT_IN_ADDRESSES.sub(lambda found: quote(found[0]), url)
        found.append(f"[{label}]({address})" if is_safe_address(url) else label)
    return "\n\n".join(filter(None, found))


def _as_text(value: object) -> str:
    return value if isinstance(value, str) else _json(value)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _html(document: Mapping[str, Any], render: Callable[[str], str], attached: Attached) -> str:
    title = html.escape(_title(document))
    articles = [_article(message, render, attached) for message in messages_of(document)]
    head = (
        '<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>{_STYLE}</style>\n<h1>{title}</h1>\n"
    )
    return head + "\n".join(articles) + "\n</html>\n"


def _article(message: Message, render: Callable[[str], str], attached: Attached) -> str:
    pieces: list[str] = []
    for part in message.parts:
        text, fold = str(part.get("text") or ""), ""
        if part.get("type") == "tool_call":
            fold, text = _called(part)
        elif part.get("type") == "reasoning":
            fold = "Thinking"
        made = render(text) if text.strip() else ""
        summary = f"<summary>{html.escape(fold)}</summary>"
        pieces.append(f"<details>{summary}{made}</details>" if fold else made)
    pieces += [_shown_file(file, attached) for file in message.files]
    pieces.append(render(links) if (links := _links(message)) else "")
    at = f" <time>{html.escape(message.created_at)}</time>"
    body = "\n".join(filter(None, pieces))
    return (
        f'<article><h2>{html.escape(_who(message))}{at}</h2><div dir="auto">{body}</div></article>'
    )


def _shown_file(file: Mapping[str, Any], attached: Attached) -> str:
    """An attached file on a page: an image shown, another as a download, a missing one named."""
    name, place = (html.escape(text) for text in _named(file, attached))
    if place.startswith("data:image/"):
        return f'<p><img src="{place}" alt="{name}"></p>'
    link = f'<a href="{place}" download="{name}">{name}</a>' if place else name
    return f"<p><em>Attached:</em> {link}</p>"


def as_markdown(
    document: dict[str, Any], versions: Mapping[str, Versions] = MappingProxyType({})
) -> str:
    """A chat as Markdown, with the role, id and time of each message, and its versions if given."""
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


ATTACHED_FOLDER = "files"
"""The folder of attached files, next to the exported chats."""

MOST_EMBEDDED_BYTES = 32 << 20
"""The most bytes of attached files that one page holds; files beyond that are only named."""

NOT_IN_NAMES = re.compile(r'[\\/:*?"<>|#^\[\]\x00-\x1f]+')
"""Characters that some system forbids in file names, or Obsidian in links."""

_LONGEST_FILE_NAME, _LONGEST_ENDING = 120, 30
"""In bytes, without the key and dash, which have 65."""


def attached_in(document: Mapping[str, Any]) -> dict[str, str]:
    """The names of all files that a chat's messages have, by storage key; also in branches."""
    found: dict[str, str] = {}
    for message in _all_messages(document):
        for file in message.files:
            key = file.get("storage_key")
            if isinstance(key, str) and is_key(key):
                found.setdefault(key, str(file.get("name") or "file"))
    return found


def link_texts_in(document: Mapping[str, Any]) -> dict[str, str]:
    """The stored texts of the links that a chat's messages have, by storage key."""
    found: dict[str, str] = {}
    for message in _all_messages(document):
        for link in message.links:
            text = link_text(text_in(link.get("title")), text_in(link.get("url")))
            key = key_of(text.encode("utf-8", "replace"))
            if key == link.get("storage_key") and text.strip():  # else another text's
                found[key] = text
    return found


def _all_messages(document: Mapping[str, Any]) -> Iterator[Message]:
    for path in (document, *branches_of(document)):
        yield from messages_of(path)


def attached_name(key: str, name: str) -> str:
    """The name of an attached file next to exported chats: `<key>-<name>`, safe everywhere."""
    words = plain_name(name, len(name) * 4) or "file"
    stem, dot, ending = words.rpartition(".")
    if not dot or len(ending.encode()) > _LONGEST_ENDING:
        stem, dot, ending = words, "", ""
    return f"{key}-{plain_name(stem, _LONGEST_FILE_NAME)}{dot}{ending}"


def is_attached_name(name: str) -> bool:
    """True for names that `attached_name` gives."""
    key, dash, _ = name.partition("-")
    return bool(dash) and is_key(key)


async def embedded(
    document: Mapping[str, Any], read: Callable[[str], Awaitable[bytes | None]]
) -> dict[str, str]:
    """The attached files of a chat as `data:` addresses, by storage key, as far as they fit.

    Args:
        read: Returns a file's content by its storage key; `None` when it is gone.
    """
    found: dict[str, str] = {}
    room = MOST_EMBEDDED_BYTES
    for key in attached_in(document):
        content = await read(key)
        if content is not None and len(content) <= room:
            found[key] = data_address(content)
            room -= len(content)
    return found

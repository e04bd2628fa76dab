"""The worst inputs of up to 5 MB for each reader of strangers' bytes, and how a user meets them.

An input is put into the vault or sent, and used as people use it: a file of chats is imported, a
chat is opened and previewed, a note goes into a context.
"""

import io
import itertools
import json
import sqlite3
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.fake_openai import FakeOpenAI
from tests.growth import test_chat_readers as growing
from tests.hostile_files import WORD, docx, docx_bomb, nested_docx, pdf, pdf_bomb
from tests.importing.samples import SAMPLES

MOST = 5_000_000
CHAT = "worst"


@dataclass(frozen=True, kw_only=True)
class Worst:
    """One input.

    Attributes:
        reader: What reads it.
        kind: In what way it is bad.
        content: Makes its bytes.
        use: Puts it where it is read, and has it read; gets a server and the bytes.
    """

    reader: str
    kind: str
    content: Callable[[], bytes]
    use: Callable[..., object]


def many(item, *, before="", after="", most=MOST):
    """As many of something as fit; `item` gives each by its number."""
    text, size = [before], len(before) + len(after)
    for number in itertools.count():
        text.append(item(number))
        size += len(text[-1])
        if size > most:
            break
    return ("".join(text[:-1]) + after).encode()


def listed(item, *, before="", after="", most=MOST):
    """As many rows of JSON as fit, in a list."""
    return many(
        lambda number: ("," if number else "") + item(number), before=f"{before}[",
        after=f"]{after}", most=most,
    )  # fmt: skip


def nested(*, before, after="", opening="[", most=MOST):
    return (before + opening * (most - len(before) - len(after)) + after).encode()


MESSAGES = {
    "chatgpt": (0, "mapping"),
    "claude": (0, "chat_messages"),
    "gemini": (),
    "open-webui": (0, "chat", "history", "messages"),
    "librechat": ("messagesTree",),
    "lobechat": ("data", "messages"),
    "chatbox": ("session:1", "messages"),
    "openai": ("messages",),
    "opencode": ("messages",),
    "gemini-cli": ("messages",),
    "deepseek": (0, "mapping"),
    "continue": ("history",),
}
"""Where the files of programs have messages; those of the others are lines."""

_PLACE = '"THE MESSAGES"'


def grown(client: str, how: str) -> bytes:
    """A program's own file with many messages, empty ones, a huge or a nested one."""
    _, sample = SAMPLES[client]
    if client == "aider":
        return _aider(how, sample.decode())
    if client not in MESSAGES:
        return _lines(how, [json.loads(line) for line in sample.splitlines()])
    document = json.loads(sample)
    holder, *path = [{"": document}, "", *MESSAGES[client]]
    for key in path[:-1]:
        holder = holder[key]
    rows, holder[path[-1]] = holder[path[-1]], json.loads(_PLACE)
    before, _, after = json.dumps(document, ensure_ascii=False).partition(_PLACE)
    if isinstance(rows, dict):
        item = _row_of(how, [*rows.values()])
        return many(
            lambda n: f'{"," if n else ""}"{"k" * (how == "long ids") * 1000}{n}":{item(n)}',
            before=f"{before}{{", after=f"}}{after}", most=_most(how),
        )  # fmt: skip
    return listed(_row_of(how, rows), before=before, after=after, most=_most(how))


def _most(how):
    return MOST


def _row_of(how, rows):
    """Gives the n-th row: another id each, and the one before it as its parent."""
    if how == "empty":
        return lambda _: "{}"
    if how == "huge":
        huge = json.dumps(_with_text(rows[-1], "long words " * (MOST // 11 - 100)))
        return lambda number: huge if not number else " " * MOST
    if how == "nested":
        deep = json.dumps(_with_text(rows[-1], "THE TEXT")).replace(
            '"THE TEXT"', "[" * 2_400_000 + "]" * 2_400_000
        )
        return lambda number: deep if not number else " " * MOST
    longer = "i" * 1000 if how == "long ids" else ""
    row = json.dumps(_with_ids(rows[-1]), ensure_ascii=False)
    return lambda n: row.replace("ID", f"{longer}{n}").replace("BEFORE", f"{longer}{n - 1}")


_IDS = {"id", "uuid", "messageId"}
_PARENTS = {"parent", "parentId", "parentUuid", "parentMessageId"}


def _with_ids(row):
    if not isinstance(row, dict):
        return row
    return {
        key: "ID" if key in _IDS else "BEFORE" if key in _PARENTS else _with_ids(value)
        for key, value in row.items()
    }


def _with_text(value, text):
    """The value with `text` in place of what it says."""
    if isinstance(value, dict):
        return {key: _with_text(inner, text) for key, inner in value.items()}
    if isinstance(value, list):
        return [_with_text(inner, text) for inner in value]
    return text if isinstance(value, str) and "Second" in value else value


def _lines(how, rows):
    head = json.dumps(rows[0]) + "\n"
    item = _row_of(how, rows)
    return many(lambda number: item(number) + "\n", before=head)


def _aider(how, text):
    if how == "huge":
        return (text + "long words " * (MOST // 11 - 20)).encode()
    piece = {"empty": "#### \n", "nested": "> " * 1000 + "\n"}.get(how, "\n#### Hello\n\nSecond\n")
    return many(lambda _: piece, before=text)


def of_growth(client, make):
    """A worst case of the tests of growth, as large as fits."""

    def content():
        count = 1 << 17
        while True:
            value = make(count)
            if isinstance(value, list):
                found = "\n".join(map(json.dumps, value)).encode()
            else:
                found = json.dumps(value if client != "chatgpt" else [value]).encode()
            if len(found) <= MOST:
                return found
            count = int(count * min(0.9, MOST / len(found)))

    return content


GROWING = (
    *(("chatgpt", growing.chatgpt_of_empty_nodes), ("chatgpt", growing.chatgpt_from_last_to_first)),
    *(("claude-code", growing.claude_code_of_one_reply),),
    *(("claude-code", growing.claude_code_of_results),),
    *(("claude-code", growing.claude_code_of_other_lines),),
    *(("codex", growing.codex_that_goes_back), ("codex", growing.codex_of_calls)),
    *(("openai", growing.openai_of_calls), ("sillytavern", growing.sillytavern_of_swipes)),
    *(("librechat", growing.librechat_of_trees),),
    *(("gemini-cli", growing.gemini_cli_that_goes_back),),
    *(("gemini-cli", growing.gemini_cli_of_parts),),
    *(("qwen-code", growing.qwen_code_of_other_lines),),
)


def imported(name):
    """Sends a file of chats as the page does, and has it read."""

    def use(server, content):
        sent = server.request("POST", "/api/imports", content, {"X-File-Name": name})
        return server.command("memory.import", upload=sent[1]["upload"])

    return use


def zipped(*contents):
    folder = io.BytesIO()
    with zipfile.ZipFile(folder, "w", zipfile.ZIP_DEFLATED) as parts:
        for number, content in enumerate(contents):
            parts.writestr(f"{number}/conversations.json", content)
    return folder.getvalue()


def zip_of_names():
    folder = io.BytesIO()
    with zipfile.ZipFile(folder, "w") as parts:
        for number in range(40_000):
            parts.writestr(f"{number}.json", "")
    return folder.getvalue()


def database(script):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "logs.db"
        connection = sqlite3.connect(path)
        connection.executescript(script)
        connection.commit()
        connection.close()
        return path.read_bytes()


_TABLES = (
    "CREATE TABLE conversations (id, name, model);"
    "CREATE TABLE responses (id, model, prompt, response, conversation_id, datetime_utc, system);"
)
_COUNTED = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n"


def imports() -> Iterator[Worst]:
    for client, (name, _) in SAMPLES.items():
        for how in ("many", "empty", "long ids", "huge", "nested"):
            yield Worst(reader=f"import {client}", kind=how, use=imported(name),
                        content=lambda client=client, how=how: grown(client, how))  # fmt: skip
    for client, make in GROWING:
        name = SAMPLES[client][0]
        yield Worst(reader=f"import {client}", kind=make.__name__, use=imported(name),
                    content=of_growth(client, make))  # fmt: skip
    said = '{{"author":{{"role":"user"}},"content":{{"parts":["a{}"]}}}}'
    chat = f'{{{{"conversation_id":"{{}}","mapping":{{{{"a":{{{{"message":{said}}}}}}}}}}}}}'
    for kind, reader, name, content in (
        ("many chats", "chatgpt", "conversations.json",
         lambda: listed(lambda n: chat.format(n, n))),
        ("numbers", "openai", "a.json", lambda: listed(lambda _: "1")),
        ("brackets", "openai", "a.json", lambda: b"[" * MOST),
        ("one long line", "codex", "rollout-1.jsonl", lambda: b'"' + b"a" * MOST),
        ("empty lines", "codex", "rollout-1.jsonl", lambda: b"\n" * MOST),
        ("lines {}", "codex", "rollout-1.jsonl", lambda: b"{}\n" * (MOST // 3)),
        ("ratio 400", "ZIP", "a.zip", lambda: zipped(listed(lambda n: chat.format(n, n)))),
        ("bomb of blanks", "ZIP", "a.zip", lambda: zipped(b"[" + b" " * (200 << 20) + b"]")),
        ("many entries", "ZIP", "a.zip", zip_of_names),
        ("bombs of 900 kB", "ZIP", "a.zip",
         lambda: zipped(*[b"[" + b'{"a":1},' * 110_000 + b"{}]"] * 1_000)),
        ("views", "SQLite", "logs.db", lambda: database(
            "CREATE TABLE conversations (id, name, model);"
            f"CREATE VIEW responses AS {_COUNTED}) SELECT i AS id, i AS model, 'a' AS prompt,"
            " 'b' AS response, 1 AS conversation_id, '' AS datetime_utc FROM n;")),
        ("many rows", "SQLite", "logs.db", lambda: database(
            f"{_TABLES}{_COUNTED} WHERE i < 100000) INSERT INTO responses"
            " SELECT i, 'm', 'a', 'b', i, '', '' FROM n;")),
        ("one chat", "SQLite", "logs.db", lambda: database(
            f"{_TABLES}{_COUNTED} WHERE i < 100000) INSERT INTO responses"
            " SELECT i, 'm', 'a', 'b', 1, '', '' FROM n;")),
        ("huge", "SQLite", "logs.db", lambda: database(
            f"{_TABLES}INSERT INTO responses VALUES"
            f" (1, 'm', '{'a' * (MOST - 50_000)}', 'b', 1, '', '');")),
    ):  # fmt: skip
        yield Worst(reader=f"import {reader}", kind=kind, use=imported(name), content=content)


# chats and what lies beside them


def opened(server, content, suffix=".json"):
    """Puts a chat into the memory folder, looks at it, and previews what would be sent."""
    folder = server.vault / ".memory"
    if suffix != ".json":
        put(folder / f"{CHAT}.json", usual_chat())
    put(folder / f"{CHAT}{suffix}", content)
    _look(server)


def _look(server, chat=CHAT):
    for path in (f"/chats/{chat}", f"/chats/{chat}/messages", "/chats"):
        page = {"Accept": "text/html"}
        server.request("GET", path, headers=page)
    for name, more in (
        ("smart_context.get_topics", {}),
        ("smart_context.preview", {"message": "What about the garden?"}),
        ("smart_context.set_filter", {"topics": ["a"]}),
        ("smart_context.preview", {"message": "What about the garden?", "brief": True}),
        ("smart_context.undo", {}),
        ("smart_context.receipts", {}),
        ("smart_context.turns", {}),
        ("chat.list_versions", {}),
        ("memory.load_chat", {}),
    ):
        server.command(name, chat_id=chat, **more)
    server.command("memory.list_chats")
    server.command("memory.search", query="garden")
    server.command("chat.send", chat_id=chat, message="What about the garden?")


def put(path, content):
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)


def usual_chat():
    said = [{"id": f"m{n}", "role": ("user", "assistant")[n % 2], "content": f"The garden {n}"}
            for n in range(40)]  # fmt: skip
    return json.dumps({"title": "T", "messages": said}).encode()


def message(n, text="a", **more):
    said = {"id": f"m{n}", "role": ("user", "assistant")[n % 2], "content": text, **more}
    return json.dumps(said, separators=(",", ":"))


def in_chat(item, most=MOST):
    return lambda: listed(item, before='{"title":"T","messages":', after="}", most=most)


def in_topics(item):
    told = usual_chat().decode()[:-1]
    return lambda: listed(item, before=f'{told},"topics":', after="}")


def in_branches(item):
    told = usual_chat().decode()[:-1]
    return lambda: listed(item, before=f'{told},"branches":', after="}")


def call(number):
    return {"type": "tool_call", "tool_call_id": f"c{number}", "name": "f", "arguments": "{}"}


def one_of_calls():
    calls = ",".join(json.dumps(call(n), separators=(",", ":")) for n in range(58_000))
    said = f'{{"id":"m1","role":"assistant","content":[{calls}]}}'
    return f'{{"messages":[{message(0)},{said}]}}'.encode()


def topic(number, **more):
    return json.dumps({"label": f"topic {number}", "count": 1, **more}, separators=(",", ":"))


def compaction(number):
    return message(number, is_summary=True, summarized=[f"m{number - 1}"])


CHATS = {
    "small messages": in_chat(lambda n: message(n, "ab ab")),
    "empty messages": in_chat(lambda _: "{}"),
    "empty texts": in_chat(lambda n: message(n, "", error="")),
    "long ids": in_chat(lambda n: message(n, id=f"{'i' * 1000}{n}")),
    "equal ids": in_chat(lambda _: message(1, "abc abc")),
    "a huge message": in_chat(lambda n: message(n, "long words " * 454_000 if n == 1 else "a")),
    "huge Markdown": in_chat(lambda n: message(n, "[a](" * 1_240_000 if n == 1 else "a")),
    "Markdown of 20 kB": in_chat(lambda n: message(n, "> - *a `b " * 2_000)),
    "tool calls of one": one_of_calls,
    "calls and results": in_chat(lambda n: message(n, [call(n // 2)]) if n % 2 else json.dumps(
        {"id": f"m{n}", "role": "tool", "tool_call_id": f"c{n // 2 - 1}", "content": "a"})),
    "nested": lambda: nested(before='{"messages":[{"role":"user","content":', after=""),
    "empty lists": lambda: listed(lambda _: "[]", before='{"messages":[],"a":', after="}"),
    "parts": lambda: listed(
        lambda _: '{"type":"text","text":"a"}',
        before='{"messages":[{"id":"m1","role":"user","content":', after="}]}"),
    "files": in_chat(lambda n: message(n, files=[{"storage_key": f"k{n}", "name": "a.txt"}])),
    "files of one": lambda: listed(
        lambda n: f'{{"storage_key":"k{n}","name":"a.txt"}}',
        before='{"messages":[{"id":"m1","role":"user","content":"a","files":', after="}]}"),
    "summaries": in_chat(compaction),
    "errors": in_chat(lambda n: message(n, error="e", error_code=1)),
    "generating": in_chat(lambda n: message(n, generating=True)),
    "hidden text": in_chat(lambda n: message(n, "\u200b\u202e" * 5)),
    "topics": in_topics(topic),
    "topics with ids": in_topics(lambda n: topic(n, id=f"t{n}")),
    "sticky topics": in_topics(lambda n: topic(n, sticky=True, message_ids=[f"m{n}"])),
    "one sticky topic": lambda: listed(
        lambda n: f'"m{n}"', before=usual_chat().decode()[:-1]
        + ',"topics":[{"label":"a","sticky":true,"message_ids":', after="}]}"),
    "parents of topics": in_topics(lambda n: topic(n, id=f"t{n}", parent_id=f"t{n - 1}")),
    "branches": in_branches(
        lambda n: json.dumps({"id": f"b{n}", "after": f"x{n - 1}", "messages": [{"id": f"x{n}"}]})),
    "versions of one": in_branches(
        lambda n: json.dumps({"id": f"b{n}", "after": "m1",
                              "messages": [{"id": f"x{n}", "role": "user", "content": "a"}]})),
    "removed": lambda: listed(
        lambda n: json.dumps({"id": f"r{n}", "after": f"m{n}", "messages": [
            {"id": f"y{n}", "role": "user", "content": "a"}]}),
        before=usual_chat().decode()[:-1] + ',"removed":', after="}"),
    "compactions": lambda: listed(
        lambda n: json.dumps({"summary_message_id": f"m{n}", "boundary_message_id": f"m{n - 1}",
                              "created_at": str(n)}),
        before=usual_chat().decode()[:-1] + ',"compaction_points":', after="}"),
    "keys": lambda: many(lambda n: f',"k{n}":1', before='{"messages":[]', after="}"),
}  # fmt: skip


def row(**fields):
    return json.dumps(fields, separators=(",", ":"))


BESIDE = {
    ".filter.json": {
        "pinned": lambda: listed(lambda n: f'"m{n}"', before='{"version":1,"pinned":', after="}"),
        "hidden": lambda: listed(lambda n: f'"m{n}"', before='{"version":1,"hidden":', after="}"),
        "topics picked": lambda: listed(
            lambda n: f'"t{n}"', before='{"version":1,"active_topics":', after="}"),
        "contexts": lambda: listed(
            lambda n: f'"c{n}"', before='{"version":1,"contexts":', after="}"),
        "recalls": lambda: listed(
            lambda n: row(chat_id=f"c{n}", message_ids=["a"]),
            before='{"version":1,"recalls":', after="}"),
        "undo": lambda: listed(
            lambda n: row(active_topics=[f"t{n}"]), before='{"version":1,"undo":', after="}"),
        "nested": lambda: nested(before='{"version":1,"pinned":'),
        "a huge id": lambda: b'{"version":1,"pinned":["' + b"m" * (MOST - 40) + b'"]}',
    },
    ".topics.json": {
        "topics": lambda: listed(
            lambda n: row(label=f"t{n}", count=1, message_ids=["m1"]),
            before='{"version":1,"topics":', after="}"),
        "members": lambda: listed(
            lambda n: f'"m{n}"', before='{"version":1,"topics":[{"label":"a","message_ids":',
            after="}]}"),
        "keywords": lambda: listed(
            lambda n: f'"w{n}"',
            before='{"version":1,"topics":[{"label":"a","message_ids":["m1"],"keywords":',
            after="}]}"),
        "a huge label": lambda: (
            b'{"version":1,"topics":[{"label":"' + b"a b " * 1_240_000 + b'"}]}'),
    },
    ".receipts.jsonl": {
        "small": lambda: many(lambda n: row(version=1, turn=str(n), at="") + "\n"),
        "whole": lambda: many(lambda n: row(
            version=1, turn=str(n), question=f"m{n % 40}", answer=f"m{n % 40 + 1}", kind="turn",
            at="2026-01-01T10:00:00Z", outcome="finished", settings={}, models={}, usage={},
            parts={}, sections=[], prompt=[], messages=[], spent={
                "sent": 1, "unchanged": 0, "answered": 1, "requests": 1, "counted": 0}) + "\n"),
        "lines {}": lambda: b"{}\n" * (MOST // 3),
        "a huge one": lambda: listed(
            lambda n: row(role="user", content="a"), before='{"version":1,"turn":"a","prompt":',
            after="}\n"),
    },
    ".embeddings.json": {
        "vectors": lambda: many(
            lambda n: ("," if n else "") + f'"m{n}:a":"AAAA"',
            before='{"version":1,"model":"m","dimensions":384,"vectors":{', after="}}"),
    },
    ".answer.jsonl": {
        "small": lambda: many(lambda n: row(text="a") + "\n"),
    },
}  # fmt: skip


def beside(suffix):
    return lambda server, content: opened(server, content, suffix)


def context(server, content):
    put(server.vault / ".memory/contexts/worst.json", content)
    put(server.vault / ".memory" / f"{CHAT}.json", usual_chat())
    for name, params in (
        ("smart_context.list_contexts", {}),
        ("smart_context.get_context", {"key": "worst"}),
        ("smart_context.attach_context", {"chat_id": CHAT, "key": "worst"}),
        ("smart_context.compile_context", {"key": "worst"}),
        ("smart_context.preview", {"chat_id": CHAT, "message": "a"}),
    ):
        server.command(name, **params)


def chats() -> Iterator[Worst]:
    for kind, content in CHATS.items():
        yield Worst(reader="chat", kind=kind, content=content, use=opened)
    for suffix, kinds in BESIDE.items():
        for kind, content in kinds.items():
            yield Worst(reader=suffix[1:], kind=kind, content=content, use=beside(suffix))
    yield Worst(reader="context", kind="items", use=context, content=lambda: many(
        lambda n: ("," if n else "") + f'"n{n}.md":true',
        before='{"key":"worst","context_items":{', after='},"context_opts":{}}'))  # fmt: skip
    yield Worst(reader="context", kind="nested", use=context,
                content=lambda: nested(before='{"key":"worst","context_items":'))  # fmt: skip


# notes, attached files, texts


def noted(name):
    """Puts a note into the vault, and uses it."""

    def use(server, content):
        put(server.vault / name, content)
        put(server.vault / "other.md", f"# Other\n\n[[{Path(name).stem}]]\n".encode())
        for command, params in (
            ("smart_context.list_notes", {}),
            ("smart_context.preview_context", {"items": [name, "other.md"]}),
            ("smart_context.preview_context", {"items": ["other.md"], "options": {"depth": 3}}),
            ("smart_context.outline", {"path": name}),
            ("tools.read_note", {"path": name}),
            ("tools.search_notes", {"query": "long words"}),
            ("tools.links", {"path": name}),
            ("chat.attach_vault_file", {"path": name}),
            ("smart_context.suggest_notes", {"chat_id": CHAT, "message": "long words"}),
        ):
            server.command(command, **params)

    return use


NOTES = {
    "words": lambda: b"long words " * (MOST // 11),
    "one word": lambda: b"a" * MOST,
    "empty lines": lambda: b"\n" * MOST,
    "headings": lambda: many(lambda n: f"# h{n}\n"),
    "equal headings": lambda: b"# h\n" * (MOST // 4),
    "links": lambda: many(lambda n: f"[[n{n}]] "),
    "equal links": lambda: b"[[other]] " * (MOST // 10),
    "embeds": lambda: many(lambda n: f"![[n{n}]]\n"),
    "embeds of another": lambda: b"![[other]]\n" * (MOST // 11),
    "blocks": lambda: many(lambda n: f"a ^b{n}\n\n"),
    "tags": lambda: many(lambda n: f"#t{n} "),
    "backticks": lambda: b"`a " * (MOST // 3),
    "brackets": lambda: b"[" * MOST,
    "fences": lambda: b"```\n~~~\n" * (MOST // 8),
    "quotes": lambda: b"> " * (MOST // 2),
    "lists": lambda: b"- a\n  - b\n" * (MOST // 10),
    "properties": lambda: many(lambda n: f"k{n}: v\n", before="---\n", after="---\n"),
    "nested properties": lambda: b"---\na: " + b"[" * (MOST - 12) + b"\n---\n",
    "comments": lambda: b"<!-- a " * (MOST // 7),
    "table": lambda: many(lambda n: f"|a{n}|b|\n", before="|a|b|\n|-|-|\n"),
    "hidden text": lambda: "\u200b\u202ea".encode() * (MOST // 8),
    "footnotes": lambda: many(lambda n: f"[^{n}]: a\n"),
}


def attached(name):
    def use(server, content):
        status, stored = server.request("POST", "/api/files", content, {"X-File-Name": name})
        put(server.vault / ".memory" / f"{CHAT}.json", usual_chat())
        if status == 200:
            server.command("smart_context.preview", chat_id=CHAT, message="a", files=[stored])
            server.command("chat.send", chat_id=CHAT, message="a", files=[stored])

    return use


ATTACHED = {
    "a.html": {
        "paragraphs": lambda: b"<p>a" * (MOST // 4),
        "nested": lambda: b"<div>" * (MOST // 5),
        "attributes": lambda: many(lambda n: f" a{n}=1", before="<p", after=">"),
        "entities": lambda: b"&amp;" * (MOST // 5),
        "tables": lambda: b"<table><tr><td>" * (MOST // 15),
        "unclosed": lambda: b"<" * MOST,
        "comments": lambda: b"<!--" * (MOST // 4),
    },
    "a.docx": {
        "bomb": docx_bomb,
        "bomb of texts": lambda: docx(
            f'<w:document xmlns:w="{WORD}">{"<w:p><w:t>ab</w:t></w:p>" * 2_500_000}'),
        "nested": nested_docx,
    },
    "a.pdf": {
        "bomb": pdf_bomb,
        "operators": lambda: pdf(b"q " * 20_000_000),
        "no end": lambda: b"%PDF-1.4\n" + b"1 0 obj<<" * (MOST // 9),
    },
    "a.txt": {"words": NOTES["words"], "hidden text": NOTES["hidden text"]},
    "a.csv": {"cells": lambda: b"a,b,c\n" * (MOST // 6)},
    "a.json": {"nested": lambda: b"[" * MOST},
    "a.png": {"no picture": lambda: b"\x89PNG\r\n\x1a\n" + bytes(MOST - 8)},
}  # fmt: skip


def marked_up(server, content):
    text = content.decode()
    body = json.dumps({"text": text}).encode()
    server.request("POST", "/markdown", body)


def texts() -> Iterator[Worst]:
    for kind, content in NOTES.items():
        yield Worst(reader="note", kind=kind, content=content, use=noted("worst.md"))
    for name in ("a.html", "a.docx", "a.pdf"):
        for kind, content in ATTACHED[name].items():
            yield Worst(reader=f"note {name[1:]}", kind=kind, content=content, use=noted(name))
    yield Worst(reader="note .txt", kind="words", content=NOTES["words"], use=noted("a.txt"))
    yield Worst(reader="note .canvas", kind="nested", content=lambda: b"[" * MOST,
                use=noted("a.canvas"))  # fmt: skip
    for name, kinds in ATTACHED.items():
        for kind, content in kinds.items():
            yield Worst(reader=f"upload {name[1:]}", kind=kind, content=content, use=attached(name))
    for kind in ("backticks", "brackets", "quotes", "lists", "table", "links"):
        yield Worst(reader="markdown", kind=kind, content=NOTES[kind], use=marked_up)


# settings, bodies, commands


def set_up(server, content):
    """Puts the content in place of the vault's settings, and asks for them."""
    path = server.vault / ".vault.toml"
    put(path, content)
    server.command("system.settings")
    server.command("system.change_settings", values={"vault.name": "x"}, scope="vault")
    server.command("system.trust")
    server.command("system.status")
    path.unlink()


SETTINGS = {
    "prices": lambda n: f"a{n}={{input=1,output=1}}\n",
    "wildcards": lambda n: f"'*{n}*'={{input=1,output=1}}\n",
    "unknown keys": lambda n: f"a{n}=1\n",
    "dotted keys": lambda n: f"a{n}.b.c.d=1\n",
    "one dotted table": lambda n: f"a.b.c.d{n}=1\n",
    "tables": lambda n: f"[[a.b{n}]]\n",
}
_OF_SETTINGS = (1 << 18, 1 << 16, MOST)


def settings() -> Iterator[Worst]:
    for kind, item in SETTINGS.items():
        head = "[llm.prices]\n" if kind in {"prices", "wildcards"} else ""
        for most in _OF_SETTINGS:
            yield Worst(reader="settings", kind=kind, use=set_up,
                        content=lambda item=item, head=head, most=most: many(
                            item, before=head, most=most - 1))  # fmt: skip
    yield Worst(reader="settings", kind="instructions", use=set_up, content=lambda: (
        b'[chat]\ninstructions = "' + b"a" * (MOST - 40) + b'"\n'))  # fmt: skip
    yield Worst(reader="settings", kind="brackets", use=set_up,
                content=lambda: b"a=" + b"[" * (_OF_SETTINGS[0] - 2))  # fmt: skip


def asked_of(path):
    """Sends a request of a client; a provider answers."""

    def use(server, content):
        with FakeOpenAI() as provider:
            values = {"llm.base_url": provider.base_url, "llm.categories.chat": "gpt-4o"}
            server.command("system.change_settings", values=values)
            server.request("POST", path, content)

    return use


def asked(item, *, name="messages", most=MOST):
    return lambda: listed(item, before=f'{{"model":"gpt-4o","{name}":', after="}", most=most)


BODIES = {
    "messages": asked(lambda n: row(role=("user", "assistant")[n % 2], content=f"a{n}")),
    "equal messages": asked(lambda n: row(role=("user", "assistant")[n % 2], content="a")),
    "empty messages": asked(lambda _: "{}"),
    "a huge message": lambda: b'{"model":"gpt-4o","messages":[{"role":"user","content":"'
    + b"long words " * 454_000 + b'"}]}',
    "calls": asked(lambda n: row(role="assistant", tool_calls=[
        {"id": f"c{n}", "type": "function", "function": {"name": "f", "arguments": "{}"}}])),
    "parts": lambda: listed(
        lambda _: '{"type":"text","text":"a"}',
        before='{"model":"gpt-4o","messages":[{"role":"user","content":', after="}]}"),
    "tools": lambda: listed(
        lambda n: row(type="function", function={"name": f"f{n}", "parameters": {}}),
        before='{"model":"gpt-4o","messages":[{"role":"user","content":"a"}],"tools":', after="}"),
    "nested": lambda: nested(before='{"model":"gpt-4o","messages":'),
    "brackets closed": lambda: b'{"model":"gpt-4o","messages":[' + b"[]," * 1_600_000 + b"[]]}",
    "numbers": asked(lambda _: "1"),
    "keys": lambda: many(lambda n: f',"k{n}":1', before='{"model":"gpt-4o","messages":[]',
                         after="}"),
}  # fmt: skip


def framed(server, content):
    """Sends a frame on the socket, and waits for what comes of it."""
    with server.connect() as client:
        client.socket.send(content.decode())
        client.call("system.status")


def commanded(name):
    return lambda server, content: server.request("POST", f"/api/commands/{name}", content)


def saved(server, content):
    put(server.vault / ".memory" / f"{CHAT}.json", usual_chat())
    server.request("POST", "/api/commands/memory.save_chat", content)
    _look(server)


def bodies() -> Iterator[Worst]:
    for kind, content in BODIES.items():
        path = "/v1/chat/completions"
        yield Worst(reader="gateway", kind=kind, content=content, use=asked_of(path))
    items = asked(lambda n: row(role="user", content=f"a{n}"), name="input")
    responses = asked_of("/v1/responses")
    yield Worst(reader="gateway responses", kind="items", use=responses, content=items)
    head = '{"jsonrpc":"2.0","id":"a","method":"smart_context.set_filter","params":'
    for kind, content in {
        "topics": lambda: listed(
            lambda n: f'"t{n}"', before=f'{head}{{"chat_id":"a","topics":', after="}}"),
        "brackets": lambda: b"[" * MOST,
        "brackets closed": lambda: listed(lambda _: "[]", before=head, after="}"),
        "keys": lambda: many(
            lambda n: ("," if n else "") + f'"k{n}":1', before=f"{head}{{", after="}}"),
        "a huge text": lambda: (
            head.encode() + b'{"chat_id":"' + b"a" * (MOST - 200) + b'","topics":[]}}'),
        "batch": lambda: listed(
            lambda n: row(jsonrpc="2.0", id=n, method="system.status")),
        "no JSON": lambda: b"a" * MOST,
    }.items():  # fmt: skip
        yield Worst(reader="frame", kind=kind, content=content, use=framed)
    for name, field, more in (
        ("smart_context.preview_context", "items", ""),
        ("smart_context.save_context", "items", '"key":"a",'),
        ("smart_context.reasons", "message_ids", f'"chat_id":"{CHAT}",'),
        ("memory.arrange_chats", "chat_ids", ""),
    ):
        yield Worst(reader="command", kind=name, use=commanded(name),
                    content=lambda field=field, more=more: listed(
                        lambda n: f'"n{n}"', before=f'{{{more}"{field}":', after="}"))  # fmt: skip
    preview, search = "smart_context.preview", "memory.search"
    draft = f'{{"chat_id":"{CHAT}","message":"'.encode()
    yield Worst(reader="command", kind="preview of a long draft", use=commanded(preview),
                content=lambda: draft + b"long words " * 454_000 + b'"}')  # fmt: skip
    yield Worst(reader="command", kind="a long search", use=commanded(search),
                content=lambda: b'{"query":"' + b"words " * 830_000 + b'"}')  # fmt: skip
    for kind in ("small messages", "tool calls of one", "topics"):
        yield Worst(reader="save_chat", kind=kind, use=saved, content=lambda kind=kind: (
            f'{{"chat_id":"{CHAT}","data":'.encode() + CHATS[kind]()[:-1] + b"}}"))  # fmt: skip


def worst_inputs() -> Iterator[Worst]:
    """All of them, reader by reader."""
    yield from imports()
    yield from chats()
    yield from texts()
    yield from settings()
    yield from bodies()

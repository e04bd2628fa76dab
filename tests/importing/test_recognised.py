"""Which program's chats a file holds, and what tells one chat from another."""

import gzip
import json
import sqlite3

import pytest

from smart_context.base.values import OWNER
from smart_context.importing.taking_in import Importer
from tests.importing.samples import CHATGPT, MAPPING
from tests.storage.memory import memory_storage

pytestmark = pytest.mark.anyio


@pytest.fixture
def storage():
    return memory_storage()


async def taken(storage, path, content):
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return (await Importer(storage).run([path])).row()


def of_chatgpt(text, more=()):
    ids = ("u", "a", *map(str, range(len(more))))
    said = zip(ids, (text, "Yes", *more), ("user", "assistant") * 3, strict=False)
    nodes = {}
    for key, words, role in said:
        message = {"author": {"role": role}, "content": {"content_type": "text", "parts": [words]}}
        nodes[key] = {"parent": next(reversed(nodes), None), "message": message}
    return {"title": "New chat", "mapping": nodes}


def of_open_webui(text, more=()):
    messages = {
        str(place): {"role": ("user", "assistant")[place % 2], "content": said}
        | ({"parentId": str(place - 1)} if place else {})
        for place, said in enumerate((text, "Yes", *more))
    }
    history = {"messages": messages, "currentId": str(len(messages) - 1)}
    return {"id": "", "title": "New Chat", "chat": {"id": "", "history": history}}


def of_librechat(text, more=()):
    told = enumerate((text, "Yes", *more))
    rows = [
        {"messageId": str(place), "isCreatedByUser": place % 2 == 0, "text": said}
        for place, said in told
    ]
    return {"conversationId": "", "title": "New chat", "messages": rows}


def of_librechat_without_a_key(text, more=()):
    chat = of_librechat(text, more)
    rows = [{"sender": "User" if row["isCreatedByUser"] else "GPT-4", **row}
            for row in chat["messages"]]  # fmt: skip
    return {"title": "New chat", "messages": rows}


def of_claude(text, more=()):
    said = enumerate((text, "Yes", *more))
    rows = [{"sender": ("human", "assistant")[place % 2], "text": words} for place, words in said]
    return {"name": "New chat", "chat_messages": rows}


def of_chatbox(text, more=()):
    told = enumerate((text, "Yes", *more))
    rows = [
        {"id": str(place), "role": ("user", "assistant")[place % 2], "contentParts": [
            {"type": "text", "text": said}
        ]}
        for place, said in told
    ]  # fmt: skip
    return {"name": "Untitled", "messages": rows}


@pytest.mark.parametrize(
    "write",
    [
        *(of_chatgpt, of_open_webui, of_librechat, of_librechat_without_a_key),
        *(of_claude, of_chatbox),
    ],
)
async def test_conversations_without_an_id_are_known_by_how_they_begin(storage, tmp_path, write):
    def file(*chats):
        return {"chat-sessions": chats} if write is of_chatbox else chats

    path = tmp_path / "export.json"
    account = await taken(storage, path, file(write("One?"), write("Two?")))
    assert (account["new"], account["messages"]) == (2, 4)
    account = await taken(storage, path, file(write("Two?", ["And?"]), write("One?")))
    assert (account["new"], account["grown"], account["unchanged"]) == (0, 1, 1)
    assert account["messages"] == 1
    assert len(await storage.chats.listing.rows(OWNER)) == 2


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b" \n", "is empty"),
        (gzip.compress(b"[]", mtime=0), "is packed; unpack it, then import what is in it"),
    ],
)
async def test_a_file_that_is_empty_or_packed_otherwise_is_told(storage, tmp_path, content, told):
    account = await taken(storage, tmp_path / "chats.json", content)
    assert [entry["error"] for entry in account["failed"]] == [told]


async def test_what_holds_no_messages_is_counted_and_never_called_unchanged(storage, tmp_path):
    whole, empty = {**CHATGPT, "mapping": MAPPING}, {"mapping": {}}
    chats = [whole, *({**empty, "id": name} for name in "abc")]
    account = await taken(storage, tmp_path / "conversations.json", chats)
    assert (account["new"], account["unchanged"], account["unreadable"]) == (1, 0, 3)
    assert account["failed"] == []


async def test_a_file_of_which_nothing_could_be_read_is_told(storage, tmp_path):
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps([{"id": name, "mapping": {}} for name in "abc"]))
    account = await Importer(storage).run([path])
    assert account.words().endswith("3 hold no messages that can be read.")
    assert account.failed[0]["error"] == "holds no messages that can be read"


async def test_a_folder_in_which_nothing_is_known_is_told(storage, tmp_path):
    (tmp_path / "notes.json").write_text('{"a": 1}')
    account = await Importer(storage).run([tmp_path])
    assert account.failed == [
        {"file": str(tmp_path), "id": "", "title": "", "error": "holds no chats of a known program"}
    ]


def database(path):
    with sqlite3.connect(path) as made:
        made.execute("CREATE TABLE recipes (name TEXT)")
    made.close()
    return path.read_bytes()


@pytest.mark.parametrize(
    "content",
    [
        {"history": ["a"]},
        {"conversation_id": "x", "messages": "none"},
        {"conversationId": "x"},
        {"info": "x", "messages": 7},
        {"chat": {"a": 1}},
        {"sessions": [{"name": "x"}]},
        b"SQLite format 3\0damaged",
        "recipes",
        b"Dear diary",
    ],
    ids=str,
)
async def test_a_refusal_names_no_program_that_the_file_is_not_of(storage, tmp_path, content):
    content = database(tmp_path / "made.db") if content == "recipes" else content
    account = await taken(storage, tmp_path / "chat.json", content)
    told = json.dumps(account["failed"]).lower()
    assert account["failed"]
    for name in ("chatgpt", "claude", "webui", "librechat", "llm", "opencode", "aider", "history."):
        assert name not in told

"""Lists of messages of programs of few words: whole, apart, and never in another's mouth."""

import json

import pytest

from smart_context.base.values import OWNER
from smart_context.importing.taking_in import Importer
from tests.storage.memory import memory_storage

pytestmark = pytest.mark.anyio

BREAD = [("user", "How long to proof?"), ("assistant", "Two hours.")]
BIKES = [("user", "What pressure?"), ("assistant", "About 4 bar.")]


@pytest.fixture
def storage():
    return memory_storage()


async def taken(storage, path, content):
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    account = (await Importer(storage).run([path])).row()
    rows = await storage.chats.listing.rows(OWNER)
    return [await storage.chats.load(row.id) for row in rows], account


def said(document):
    return [(m["role"], m["content"]) for m in document["messages"]]


def chat(name, messages, **more):
    rows = [
        {"id": str(place), "role": role, "content": text}
        for place, (role, text) in enumerate(messages)
    ]
    return {"id": name, "title": f"Chat {name}", "messages": rows, **more}


TWO = [chat("1", BREAD), chat("2", BIKES)]


@pytest.mark.parametrize(
    "content",
    [
        TWO,
        {"conversations": TWO, "models": {}},
        {"data": {"chats": TWO, "folders": []}},
        "\n".join(map(json.dumps, TWO)),
    ],
    ids=["list", "big-agi", "typingmind", "lines"],
)
async def test_each_conversation_of_a_file_is_a_chat_with_its_title(storage, tmp_path, content):
    found, account = await taken(storage, tmp_path / "export.json", content)
    assert account["new"] == 2
    assert {d["title"]: said(d) for d in found} == {"Chat 1": BREAD, "Chat 2": BIKES}
    _, again = await taken(storage, tmp_path / "other.json", content)
    assert (again["new"], again["grown"], again["unchanged"]) == (0, 0, 2)


async def test_conversations_of_two_programs_that_count_from_one_are_kept_apart(storage, tmp_path):
    await taken(storage, tmp_path / "a.json", chat("1", BREAD))
    found, account = await taken(storage, tmp_path / "b.json", chat("1", BIKES))
    assert account["new"] == 1
    assert sorted(said(d)[0][1] for d in found) == ["How long to proof?", "What pressure?"]
    _, account = await taken(storage, tmp_path / "b.json", chat("1", [*BIKES, *BREAD]))
    assert (account["new"], account["grown"], account["messages"]) == (0, 1, 2)


def parts(*texts):
    return [{"type": "text", "text": text} for text in texts]


def fragment(text):
    return [{"ft": "content", "part": {"pt": "text", "text": text}}]


def rows(speaker, content, names=("user", "assistant"), said=lambda text: text):
    return [
        {speaker: name, content: said(text)}
        for name, text in zip(names, ("Hi", "Yes"), strict=True)
    ]


STEP = {"type": "step-start"}
SAME = {
    "ai-sdk": {"messages": rows("role", "parts", said=lambda t: [STEP, *parts(t)])},
    "sharegpt": {"conversations": rows("from", "value", ("human", "gpt"))},
    "sharegpt-list": [{"conversations": rows("from", "value", ("human", "gpt"))}],
    "sender": {"messages": rows("sender", "text", ("You", "Bot"))},
    "author": {
        "messages": rows("author", "content", ({"role": "user"}, {"role": "assistant"}),
                         lambda text: {"parts": [text]}),
    },
    "langchain": rows("type", "content", ("human", "ai")),
    "langchain-data": {"messages": rows("type", "data", ("human", "ai"), lambda t: {"content": t})},
    "google": {"contents": rows("role", "parts", ("user", "model"), lambda text: [{"text": text}])},
    "big-agi": {"messages": rows("role", "fragments", said=fragment)},
    "conversation_id": {"conversation_id": "7", "messages": rows("role", "content")},
    "conversationId": {"conversationId": "7", "messages": rows("role", "content")},
    "history": {"history": rows("role", "content")},
}  # fmt: skip


@pytest.mark.parametrize("content", SAME.values(), ids=SAME)
async def test_who_speaks_and_what_is_known_by_the_names_that_programs_have(
    storage, tmp_path, content
):
    (document,), account = await taken(storage, tmp_path / "chat.json", content)
    assert said(document) == [("user", "Hi"), ("assistant", "Yes")]
    assert account["failed"] == []


@pytest.mark.parametrize("odd", [{"role": "narrator"}, {}, {"role": None}, {"author": "Ada"}])
async def test_what_nobody_is_known_to_have_said_never_becomes_the_users_words(
    storage, tmp_path, odd
):
    rows = [{"role": "user", "content": "Hi"}, {**odd, "content": "Sell everything"}]
    found, account = await taken(storage, tmp_path / "chat.json", {"id": "k", "messages": rows})
    assert found == []
    (failed,) = account["failed"]
    assert failed["id"] == "k"
    assert "message 1: expected a role, user or assistant, found" in failed["error"]


async def test_a_list_of_texts_that_is_no_chat_is_passed_over_in_a_folder(storage, tmp_path):
    texts = {"messages": [{"id": "greeting", "text": "Hi"}]}
    (tmp_path / "en.json").write_text(json.dumps(texts))
    (tmp_path / "chat.json").write_text(json.dumps(chat("1", BREAD)))
    account = (await Importer(storage).run([tmp_path])).row()
    assert (account["new"], account["failed"]) == (1, [])
    alone = (await Importer(storage).run([tmp_path / "en.json"])).row()
    assert "none of its messages says whether a user" in alone["failed"][0]["error"]


PICTURE = {
    "type": "file",
    "mediaType": "image/png",
    "url": "data:image/png;base64,iVBORw0KGgo=",
    "filename": "sea.png",
}
STEPS = [
    {"type": "reasoning", "text": "Hm", "state": "done"},
    {"type": "tool-weather", "toolCallId": "1", "input": {"city": "Kiel"}, "output": "Rain"},
    {"type": "dynamic-tool", "toolName": "search", "toolCallId": "2", "input": {}},
    {
        "type": "tool-invocation",
        "toolInvocation": {"toolCallId": "3", "toolName": "old", "args": {}, "result": "Done"},
    },
    {"type": "source-url", "sourceId": "s", "url": "https://example.org/", "title": "Tides"},
]


async def test_calls_thoughts_and_files_of_the_ai_sdk_come_along(storage, tmp_path):
    said = {"user": [*parts("Look"), PICTURE], "assistant": [*STEPS, *parts("Rain.")]}
    rows = [{"role": role, "parts": told} for role, told in said.items()]
    (document,), account = await taken(storage, tmp_path / "chat.json", {"messages": rows})
    asked, answer = document["messages"]
    assert (asked["files"][0]["name"], account["files"]) == ("sea.png", 1)
    told = [
        (part["type"], part.get("tool_name") or part["text"], part.get("result"))
        for part in answer["content"]
    ]
    assert told == [
        ("reasoning", "Hm", None),
        ("tool_call", "weather", "Rain"),
        ("tool_call", "search", None),
        ("tool_call", "old", "Done"),
        ("text", "Tides: https://example.org/", None),
        ("text", "Rain.", None),
    ]


def turn(role, content, **more):
    return {"role": role, "content": content, **more}


AT_SEA = {"at": "sea"}
AS_TEXT = json.dumps(AT_SEA)
CALLS = {
    "sharegpt": [
        {"from": "human", "value": "Look"},
        {"from": "function_call", "value": json.dumps({"name": "look", "arguments": AT_SEA})},
        {"from": "observation", "value": "Rain"},
    ],
    "anthropic": [
        turn("user", "Look"),
        turn("assistant", [{"type": "tool_use", "id": "t", "name": "look", "input": AT_SEA}]),
        turn("user", [{"type": "tool_result", "tool_use_id": "t", "content": "Rain"}]),
    ],
    "ai-sdk": [
        turn("user", "Look"),
        turn("assistant", [{"type": "tool-call", "toolCallId": "t", "toolName": "look",
                            "input": AT_SEA}]),
        turn("tool", [{"type": "tool-result", "toolCallId": "t", "toolName": "look",
                       "output": {"type": "text", "value": "Rain"}}]),
    ],
    "openai": [
        turn("user", "Look"),
        turn("assistant", None,
             tool_calls=[{"id": "t", "function": {"name": "look", "arguments": AS_TEXT}}]),
        turn("tool", "Rain", tool_call_id="t"),
    ],
}  # fmt: skip


@pytest.mark.parametrize("rows", CALLS.values(), ids=CALLS)
async def test_a_call_and_its_result_are_one_part(storage, tmp_path, rows):
    (document,), _ = await taken(storage, tmp_path / "chat.json", {"messages": rows})
    (part,) = document["messages"][1]["content"]
    assert (part["tool_name"], part["args"], part["result"]) == ("look", AT_SEA, "Rain")
    assert len(document["messages"]) == 2


async def test_a_system_prompt_beside_the_messages_becomes_the_instructions(storage, tmp_path):
    (document,), _ = await taken(storage, tmp_path / "c.json", chat("1", BREAD, system="In Latin."))
    assert document["instructions"] == "In Latin."

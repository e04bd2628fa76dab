"""What other chats said, attached by the commands, through the host into the request."""

import json

import pytest

from smart_context.base.errors import CommandFailed, InvalidParams
from smart_context.llm.offline.embedded import EmbeddedEmbedder

pytestmark = pytest.mark.anyio

ROME = [
    ("q1", "user", "Which hotel did we like in Rome?", "2026-01-05T10:00:00Z"),
    ("a1", "assistant", "The Hotel Santa Maria in Trastevere.", "2026-01-05T10:01:00Z"),
]
DATABASE = [
    ("q1", "user", "How do I tune PostgreSQL for many writes?", "2026-02-01T09:00:00Z"),
    ("a1", "assistant", "Raise max_wal_size and batch the writes.", "2026-02-01T09:01:00Z"),
    ("q2", "user", "What do tomatoes need?", "2026-02-01T09:02:00Z"),
    ("a2", "assistant", "Sun, water and a stake.", "2026-02-01T09:03:00Z"),
]


def document(rows, **others):
    messages = [
        {"id": id_, "role": role, "content": text, "created_at": at} for id_, role, text, at in rows
    ]
    return {"messages": messages, **others}


async def put(running, chat_id, rows, **others):
    await running.call("memory.save_chat", chat_id=chat_id, data=document(rows, **others))


async def two_chats(running):
    await put(running, "rome", ROME, title="Trip to Rome")
    await put(running, "db", DATABASE, title="Databases and tomatoes")


async def sent_by(running, chat_id="new", text="Go on."):
    await running.call("chat.send", chat_id=chat_id, message=text, stream=False)
    first = running.asked[0]
    return first["content"] if first["role"] == "system" else ""


async def test_a_chat_is_recalled_by_a_chat_that_does_not_exist_yet(served):
    async with served() as running:
        await two_chats(running)
        made = await running.call("recall", chat_id="new", from_chat="rome")
        assert made | {"recall_id": "", "tokens": 0} == {
            "recall_id": "",
            "label": "Trip to Rome",
            "chats": 1,
            "messages": 2,
            "tokens": 0,
            "left_out": 0,
        }
        (row,) = (await running.call("recalls", chat_id="new"))["recalls"]
        assert row["tokens"] == made["tokens"] > 0
        assert row["missing"] == []
        shown = (await running.call("preview", chat_id="new", message="Go on."))["body"]
        system = await sent_by(running)
    assert shown["messages"][0]["content"] == system
    assert system.endswith(
        '## Trip to Rome\n\n<said in="Trip to Rome" on="2026-01-05" by="user">\n'
        "Which hotel did we like in Rome?\n</said>\n\n"
        '<said in="Trip to Rome" on="2026-01-05" by="assistant">\n'
        "The Hotel Santa Maria in Trastevere.\n</said>"
    )


async def test_recalls_survive_a_restart_and_are_references(served, vault):
    async with served() as running:
        await two_chats(running)
        await running.call("recall", chat_id="new", from_chat="rome")
        await sent_by(running)
        await running.call(
            "memory.save_chat",
            chat_id="rome",
            data=document([("q1", "user", "Hotel in Paris?", "2026-01-05T10:00:00Z"), ROME[1]]),
        )
    async with served() as running:
        assert "Hotel in Paris?" in await sent_by(running)
        stored = (vault / ".memory" / "new.json").read_text(encoding="utf-8")
        assert "Trastevere" not in stored
        assert "Trastevere" not in (vault / ".memory" / "new.filter.json").read_text()


async def test_the_parts_of_the_token_bar_and_the_receipt_name_what_was_recalled(served):
    async with served() as running:
        await two_chats(running)
        made = await running.call("recall", chat_id="new", from_chat="rome")
        preview = await running.call("preview", chat_id="new", message="Go on.")
        await sent_by(running)
        receipt = await running.call("receipt", chat_id="new")
        replayed = await running.call("replay", chat_id="new")
        bare = await running.call("forget_recall", chat_id="new", recall_id=made["recall_id"])
        after = await running.call("replay", chat_id="new")
    assert preview["part_names"]["recalls"] == "Recalled"
    assert preview["parts"]["recalls"] == receipt["parts"]["recalls"] > 0
    section = next(s for s in receipt["sections"] if s["name"] == "Recalled: Trip to Rome")
    assert (section["in"], section["sent"]) == (True, ["Trip to Rome: 2 messages"])
    assert replayed["diff"]["same_request"]
    assert bare["recalls"] == []
    assert after["diff"]["same_request"]  # a replay takes what was attached then


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({}, "found none"),
        ({"query": "x", "from_chat": "rome"}, "found from_chat, query"),
        ({"topics": ["Rome"], "query": "x"}, "topics of from_chat"),
        ({"query": "  "}, "query: expected a value"),
        ({"messages": []}, "messages: expected a value"),
        ({"messages": [{"chat_id": "rome"}]}, "expected {"),
        ({"from_chat": "new"}, "can't recall itself"),
        ({"messages": [{"chat_id": "new", "message_ids": ["a"]}]}, "can't recall itself"),
        ({"query": "x", "max_tokens": 0}, "max_tokens: expected 1"),
        ({"query": "x" * 2001}, "at most 2,000"),
    ],
)
async def test_what_names_no_source_or_several_is_refused(served, params, words):
    async with served() as running:
        await two_chats(running)
        with pytest.raises(InvalidParams, match=words):
            await running.call("recall", chat_id="new", **params)


async def test_what_is_not_there_is_named(served):
    async with served() as running:
        await two_chats(running)
        for params in (
            {"from_chat": "gone"},
            {"messages": [{"chat_id": "rome", "message_ids": ["q1", "q9"]}]},
            {"query": "quantum chromodynamics"},
        ):
            with pytest.raises(CommandFailed):
                await running.call("recall", chat_id="new", **params)
        with pytest.raises(CommandFailed, match="no recall 'r1'"):
            await running.call("forget_recall", chat_id="new", recall_id="r1")
        assert (await running.call("recalls", chat_id="new"))["recalls"] == []


async def test_named_messages_go_with_their_results_and_no_others(served):
    call = {"type": "tool_call", "state": "call", "tool_call_id": "t1", "tool_name": "weather"}
    async with served() as running:
        data = document([("q1", "user", "Will it rain?", "")])
        data["messages"] += [
            {"id": "a1", "role": "assistant", "content": [{**call, "args": {"in": "Rome"}}]},
            {"id": "t1", "role": "tool", "content": "No rain.", "tool_call_id": "t1"},
            {"id": "a2", "role": "assistant", "content": "It stays dry."},
        ]
        await running.call("memory.save_chat", chat_id="sky", data=data)
        named = [{"chat_id": "sky", "message_ids": ["t1"]}]
        made = await running.call("recall", chat_id="new", messages=named)
        system = await sent_by(running)
    assert made["messages"] == 1
    assert '```weather\n{"in": "Rome"}\n```\n\nResult of weather:\nNo rain.' in system
    assert "stays dry" not in system


async def test_hidden_failed_system_and_private_messages_are_never_recalled(served):
    async with served() as running:
        data = document(ROME)
        data["messages"] += [
            {"id": "s", "role": "system", "content": "SYSTEM"},
            {"id": "f", "role": "assistant", "content": "FAILED", "error": "out of memory"},
            {"id": "h", "role": "user", "content": "HIDDEN"},
            {"id": "k", "role": "user", "content": "KEPT"},
        ]
        await running.call("memory.save_chat", chat_id="rome", data=data)
        await running.call("hide", chat_id="rome", message_ids=["h"])
        await put(running, "secret", DATABASE, private=True)
        made = await running.call("recall", chat_id="new", from_chat="rome")
        with pytest.raises(CommandFailed, match="private"):
            await running.call("recall", chat_id="new", from_chat="secret")
        system = await sent_by(running)
        await running.call("hide", chat_id="rome", message_ids=["k"])
        later = await sent_by(running)
    assert made["messages"] == 3
    assert "KEPT" in system
    assert "KEPT" not in later
    assert not any(word in system for word in ("SYSTEM", "FAILED", "HIDDEN"))


async def test_a_chat_that_is_deleted_or_made_private_drops_out_and_is_named(served):
    async with served() as running:
        await two_chats(running)
        named = [{"chat_id": name, "message_ids": ["q1", "a1"]} for name in ("rome", "db")]
        await running.call("recall", chat_id="new", messages=named)
        assert "Trastevere" in await sent_by(running)
        await running.call("memory.delete_chat", chat_id="rome")
        system = await sent_by(running)
        (row,) = (await running.call("recalls", chat_id="new"))["recalls"]
        assert "Trastevere" not in system
        assert "max_wal_size" in system
        assert (row["missing"], row["chats"], row["messages"]) == (["rome"], 1, 2)
        await running.call("memory.save_chat", chat_id="db", data={"messages": [], "private": True})
        assert "max_wal_size" not in await sent_by(running)
        (row,) = (await running.call("recalls", chat_id="new"))["recalls"]
        assert set(row["missing"]) == {"rome", "db"}
        await running.call("memory.restore_chat", chat_id="rome")
        assert "Trastevere" in await sent_by(running)


async def test_undo_takes_a_recall_back_and_brings_a_forgotten_one_again(served):
    async with served() as running:
        await two_chats(running)
        made = await running.call("recall", chat_id="new", from_chat="rome")
        undone = await running.call("undo", chat_id="new")
        assert undone["undone_words"] == "Trip to Rome recalled"
        assert (await running.call("recalls", chat_id="new"))["recalls"] == []
        await running.call("recall", chat_id="new", from_chat="rome")
        (again,) = (await running.call("recalls", chat_id="new"))["recalls"]
        await running.call("forget_recall", chat_id="new", recall_id=again["recall_id"])
        await running.call("undo", chat_id="new")
        (back,) = (await running.call("recalls", chat_id="new"))["recalls"]
    assert back == again
    assert made["tokens"] == back["tokens"]


async def test_the_same_recall_again_takes_the_place_of_the_first(served):
    async with served() as running:
        await two_chats(running)
        first = await running.call("recall", chat_id="new", from_chat="rome")
        again = await running.call("recall", chat_id="new", from_chat="rome", max_tokens=120)
        assert again["recall_id"] == first["recall_id"]
        assert again["messages"] < first["messages"]
        assert again["left_out"] == 1
        assert len((await running.call("recalls", chat_id="new"))["recalls"]) == 1


async def test_a_query_finds_the_best_messages_of_all_chats_but_its_own(served):
    async with served(embedder=EmbeddedEmbedder(), embedded=True) as running:
        await two_chats(running)
        await put(running, "secret", DATABASE, private=True)
        await put(running, "new", DATABASE[:1])
        made = await running.call("recall", chat_id="new", query="what we said about Postgres")
        system = await sent_by(running)
        (row,) = (await running.call("recalls", chat_id="new"))["recalls"]
    assert made["label"] == "what we said about Postgres"
    assert made["chats"] == 1
    assert [source["chat_id"] for source in row["sources"]] == ["db"]
    assert "max_wal_size" in system
    assert "Trastevere" not in system


async def test_topics_of_a_chat_are_recalled_without_the_others(served):
    async with served(embedder=EmbeddedEmbedder(), embedded=True) as running:
        await two_chats(running)
        made = await running.call(
            "recall", chat_id="new", from_chat="db", topics=["Growing tomatoes"]
        )
        system = await sent_by(running)
    assert made["label"] == "Growing tomatoes"
    assert "a stake" in system
    assert "max_wal_size" not in system


async def test_a_topic_of_all_chats_is_recalled_by_its_id(served):
    async with served(embedder=EmbeddedEmbedder(), embedded=True) as running:
        await two_chats(running)
        await put(running, "db2", [(f"x{id_}", *rest) for id_, *rest in DATABASE[:2]])
        for name in ("rome", "db", "db2"):
            await running.call("refresh_topics", chat_id=name, wait=True)
        atlas = await running.call("atlas", wait=True)
        topic = next(t for t in atlas["topics"] if {"db2"} <= {c["chat_id"] for c in t["chats"]})
        made = await running.call("recall", chat_id="db2", topic_id=topic["id"])
        (row,) = (await running.call("recalls", chat_id="db2"))["recalls"]
        system = await sent_by(running, "db2")
        with pytest.raises(CommandFailed, match="no topic 'nothing'"):
            await running.call("recall", chat_id="new", topic_id="nothing")
    assert made["label"] == topic["label"]
    assert [source["chat_id"] for source in row["sources"]] == ["db"]
    assert "max_wal_size" in system
    assert "Trastevere" not in system


async def test_a_damaged_recall_beside_a_chat_is_passed_over(served, vault):
    async with served() as running:
        await two_chats(running)
        await put(running, "new", ROME)
        await running.call("recall", chat_id="new", from_chat="db")
    file = vault / ".memory" / "new.filter.json"
    stored = json.loads(file.read_text(encoding="utf-8"))
    good = stored["recalls"][0]
    stored["recalls"] = [
        7,
        {},
        {**good, "id": 1},
        {**good, "messages": [["../x", "m"], 3, *good["messages"]]},
    ]
    file.write_text(json.dumps(stored), encoding="utf-8")
    async with served() as running:
        (row,) = (await running.call("recalls", chat_id="new"))["recalls"]
        assert row["messages"] == 4

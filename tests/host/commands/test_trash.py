"""The commands of the trash, with real files."""

import os
from datetime import UTC, datetime

import pytest

from smart_context.base.errors import ChatIdInvalid, CommandFailed
from tests.vaults import about, write_chat

pytestmark = pytest.mark.anyio


@pytest.fixture
async def bench(make_bench, running):
    bench = make_bench()
    async with running(bench):
        yield bench


async def put(bench, chat_id, *texts, **more):
    write_chat(bench.host.config.root, chat_id, about(*texts), **more)


def trash_of(bench):
    return bench.vault / ".memory" / "trash"


async def test_deleted_chats_are_listed_newest_first_with_title_time_and_messages(bench):
    times = iter(datetime(2026, 3, day, 12, tzinfo=UTC) for day in (1, 2, 3))
    bench.host.services.storage.chats._store._clock = lambda: next(times)
    for text in ("First question", "Second question"):
        await put(bench, "c", text, "An answer")
        await bench.call("memory.delete_chat", chat_id="c")
    await put(bench, "named", "Hello", title="A name")
    await bench.call("memory.delete_chat", chat_id="named")
    listed = await bench.call("memory.list_trash")
    assert listed["total"] == 3
    assert [
        (c["id"], c["title"], c["message_count"], c["deleted_at"]) for c in listed["chats"]
    ] == [
        ("named", "A name", 1, "2026-03-03T12:00:00Z"),
        ("c", "Second question", 2, "2026-03-02T12:00:00Z"),
        ("c", "First question", 2, "2026-03-01T12:00:00Z"),
    ]
    first = listed["chats"][2]["deletion"]
    await bench.call("memory.restore_chat", chat_id="c", deletion=first)
    assert (await bench.messages("c"))[0].text == "First question"
    assert [c["title"] for c in (await bench.call("memory.list_trash"))["chats"]] == [
        "A name",
        "Second question",
    ]


async def test_a_purged_chat_is_gone_with_its_sidecars_and_others_stay(bench):
    for chat_id in ("c", "c2"):
        await put(bench, chat_id, "Hello")
        (bench.vault / ".memory" / f"{chat_id}.filter.json").write_text("{}")
        await bench.call("memory.delete_chat", chat_id=chat_id)
    assert (await bench.call("memory.purge_chat", chat_id="c"))["removed"] == 1
    left = [path.name for path in trash_of(bench).rglob("*.json")]
    assert sorted(left) == ["c2.filter.json", "c2.json"]
    for command in ("memory.purge_chat", "memory.restore_chat"):
        with pytest.raises(CommandFailed, match="no chat 'c' in the trash"):
            await bench.call(command, chat_id="c")
    assert (await bench.call("memory.empty_trash"))["removed"] == 1
    assert list(trash_of(bench).iterdir()) == []


async def test_emptying_leaves_what_was_deleted_after_the_user_looked(bench):
    times = iter(datetime(2026, 3, day, 12, tzinfo=UTC) for day in (1, 2))
    bench.host.services.storage.chats._store._clock = lambda: next(times)
    for chat_id in ("seen", "unseen"):
        await put(bench, chat_id, "Hello")
        await bench.call("memory.delete_chat", chat_id=chat_id)
    await bench.call("memory.empty_trash", until="2026-03-01T12:00:00Z")
    assert [c["id"] for c in (await bench.call("memory.list_trash"))["chats"]] == ["unseen"]


@pytest.mark.parametrize(
    "deletion",
    [
        *("..", ".", "../c2", "c.20260301T120000Z-0001/../..", "/etc", "other"),
        "c2.20260301T120000Z-0001",
    ],
)
async def test_a_purge_stays_in_the_trash_and_with_its_chat(bench, deletion):
    await put(bench, "c", "Hello")
    await put(bench, "c2", "Hello")
    await bench.call("memory.delete_chat", chat_id="c")
    for command in ("memory.purge_chat", "memory.restore_chat"):
        with pytest.raises(CommandFailed, match="no chat 'c' in the trash"):
            await bench.call(command, chat_id="c", deletion=deletion)
    for bad in ("..", "../x", "", "a/b"):
        with pytest.raises(ChatIdInvalid):
            await bench.call("memory.purge_chat", chat_id=bad)
    assert [m.text for m in await bench.messages("c2")] == ["Hello"]
    assert (await bench.call("memory.list_trash"))["total"] == 1


@pytest.mark.skipif(not hasattr(os, "symlink"), reason="the system has no links")
async def test_links_in_the_trash_lead_to_nothing_that_is_removed(bench, tmp_path):
    outside = tmp_path / "elsewhere"
    outside.mkdir()
    (outside / "c.json").write_text("{}")
    (outside / "kept.txt").write_text("kept")
    await put(bench, "c", "Hello")
    await bench.call("memory.delete_chat", chat_id="c")
    (deletion,) = trash_of(bench).iterdir()
    (deletion / "c.linked.json").symlink_to(outside / "kept.txt")
    (deletion / "theirs.txt").write_text("kept, too")
    (trash_of(bench) / "c.20260301T120000Z-0001").symlink_to(outside)
    await bench.call("memory.empty_trash")
    assert sorted(path.name for path in outside.iterdir()) == ["c.json", "kept.txt"]
    assert [path.name for path in deletion.iterdir()] == ["theirs.txt"]
    assert (await bench.call("memory.list_trash"))["chats"] == []


async def test_a_damaged_chat_in_the_trash_is_listed_and_can_be_purged(bench):
    await put(bench, "c", "Hello")
    await bench.call("memory.delete_chat", chat_id="c")
    (document,) = trash_of(bench).rglob("c.json")
    document.write_text("not JSON")
    assert [c["title"] for c in (await bench.call("memory.list_trash"))["chats"]] == ["c"]
    await bench.call("memory.purge_chat", chat_id="c")
    assert (await bench.call("memory.list_trash"))["total"] == 0

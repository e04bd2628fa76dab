"""Many writers, clocks that differ, and a database that refuses: nothing acknowledged is lost."""

import asyncio
import time
from contextlib import ExitStack

import psycopg
import pytest

from smart_context.base.errors import StorageAway, StoreFailed
from smart_context.chat.documents.document import whole
from smart_context.storage.postgres import rows
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.anyio

FULL = """
CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = '53100';
END $$;
CREATE TRIGGER full_disk BEFORE INSERT OR UPDATE ON message EXECUTE FUNCTION full_disk();
"""
"""Refuses each write of a message as PostgreSQL does when its disk is full."""


def said(text):
    return {"id": text, "role": "user", "content": text}


async def add(storage, text):
    await storage.chats.update("c", lambda document: document["messages"].append(said(text)))


async def texts(storage):
    return [message.text for message in await storage.chats.messages("c")]


async def test_two_nodes_write_one_chat_a_thousand_times_and_all_is_there(opened):
    one, other, third = opened(), opened(), opened()

    async def write(storage, name):
        for number in range(500):
            await add(storage, f"{name} {number}")

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(write(one, "one"))
        tasks.create_task(write(other, "other"))
    found = await texts(third)
    assert len(found) == 1_000
    for name in ("one", "other"):
        assert [t for t in found if t.startswith(name)] == [f"{name} {n}" for n in range(500)]


async def test_a_chat_of_very_many_messages_is_written_in_parts(opened, monkeypatch):
    monkeypatch.setattr(rows, "_AT_ONCE", 2)
    await opened().chats.save("c", {"messages": [said(str(n)) for n in range(5)]})
    assert await texts(opened()) == [*"01234"]


async def test_a_full_disk_is_said_and_what_was_stored_stays(url, opened):
    storage = opened()
    await add(storage, "kept")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(FULL)
        with pytest.raises(StoreFailed, match="No space left") as refused:
            await add(storage, "refused")
        assert not isinstance(refused.value, StorageAway), "what can be read is still read"
        assert await texts(storage) == ["kept"]
        connection.execute("DROP TRIGGER full_disk ON message")
    await add(storage, "again")
    assert await texts(opened()) == ["kept", "again"]


async def test_a_node_whose_clock_is_wrong_holds_and_takes_leases_as_all_others(
    opened, monkeypatch
):
    right, wrong = opened(), opened()
    held = right.answers.journal("c", "m")
    held.claim()
    for hours in (-30 * 24, 30 * 24):
        real = time.time()
        monkeypatch.setattr(time, "time", lambda now=real + hours * 3600: now)
        assert list(wrong.answers.interrupted()) == []
        assert wrong.answers.take_over("c") is None
        await wrong.chats.update(f"of{hours}", _with_message, since=whole)
    monkeypatch.undo()
    listed = [row.id for row in await right.chats.listing.rows("owner")]
    assert set(listed) >= {"of-720", "of720"}


def _with_message(document):
    document["messages"].append(said("x"))


async def test_a_database_without_a_free_connection_is_tried_until_it_has_one(url, opened):
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("DROP ROLE IF EXISTS few; CREATE ROLE few LOGIN CONNECTION LIMIT 2")
        connection.execute("GRANT ALL ON ALL TABLES IN SCHEMA public TO few")
        connection.execute("GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO few")
        url = url.replace("//smart@", "//few@")
        storage = opened(url)
        with ExitStack() as others:
            for _ in range(2):
                others.enter_context(psycopg.connect(url))
            with pytest.raises(StorageAway, match="too many connections"):
                await add(storage, "refused")
        async with asyncio.timeout(PATIENCE_S):
            while True:
                try:
                    await add(storage, "taken")
                except StorageAway:
                    await asyncio.sleep(0.05)
                else:
                    break
        assert await texts(storage) == ["taken"]
        storage.close()
        connection.execute("DROP OWNED BY few; DROP ROLE few")

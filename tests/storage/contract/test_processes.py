"""What every storage promises to processes that share it, or to the only one."""

import asyncio

import pytest
from pydantic import TypeAdapter

from tests.patience import PATIENCE_S
from tests.storage.hearing import listening, until

pytestmark = pytest.mark.anyio


async def test_what_one_process_sends_the_others_hear_in_order(one, other):
    async with listening(one.events, other.events) as ((by_one, by_other), news):
        for number in range(20):
            one.events.send({"n": number})
        await one.events.settle()
        expected = [*range(20)] if one.events.is_shared else []
        await until(news, lambda: by_other == expected)
        assert by_one == []


async def test_one_at_a_time_holds_a_lease(one, other):
    storages, order = [one, other if one.events.is_shared else one, one], []

    async def work(storage):
        async with storage.leases.held("topics c"):
            order.append("begins")
            await asyncio.sleep(0)
            order.append("ends")

    async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as tasks:
        for storage in storages:
            tasks.create_task(work(storage))
    assert order == ["begins", "ends"] * 3


async def test_work_of_another_name_does_not_wait_for_a_lease(one, other):
    async with asyncio.timeout(PATIENCE_S), one.leases.held("x"), other.leases.held("y"):
        pass


def test_what_servers_share_is_changed_from_its_newest_value(one, other):
    assert (one.records is not None) == one.events.is_shared
    if one.records is None:
        return
    numbers = TypeAdapter(dict[str, int])
    ours, theirs = (storage.records.of("keys", numbers, {}) for storage in (one, other))
    assert ours.read()[1] == {}
    ours.update(lambda value: {**value, "a": 1})
    changed = theirs.update(lambda value: {**value, "b": 2})
    assert changed[1] == {"a": 1, "b": 2}
    assert ours.read() == changed
    assert ours.update(lambda value: value) == changed

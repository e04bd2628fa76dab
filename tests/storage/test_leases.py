"""Leases of one process: work of a name is done by one at a time."""

import asyncio

import pytest

from smart_context.storage.alone import OwnLeases

pytestmark = pytest.mark.anyio


async def test_who_comes_as_a_lease_is_handed_on_waits_for_it():
    leases, inside, most = OwnLeases(), 0, 0

    async def work(turns_inside):
        nonlocal inside, most
        async with leases.held("topics of a chat"):
            inside += 1
            most = max(most, inside)
            for _ in range(turns_inside):
                await asyncio.sleep(0)
            inside -= 1

    first, second = (asyncio.create_task(work(3)) for _ in range(2))
    await first  # the second is woken, but has not gone in yet
    await asyncio.gather(second, work(3))

    assert most == 1


async def test_other_work_does_not_wait():
    leases = OwnLeases()
    async with leases.held("one"), asyncio.timeout(5), leases.held("another"):
        pass

"""Background work with an owner."""

import asyncio
import gc
import inspect
import weakref

import pytest

from smart_context.base.errors import CommandFailed, OwnerStopped
from smart_context.base.waiting import is_waited_for, waited_for
from smart_context.host.tasks import TaskOwner
from tests.host.conftest import until
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.anyio


async def test_work_runs_and_gives_its_result():
    async def work():
        return 3

    assert await TaskOwner("test").spawn(work()) == 3


async def test_nobody_waits_for_what_an_owner_runs():
    async def work():
        return is_waited_for()

    with waited_for():
        assert await work()
        assert not await TaskOwner("test").spawn(work())
        assert not await TaskOwner("test").latest("key", work())


async def test_a_failure_is_logged_with_the_owner(caplog):
    async def work():
        raise ValueError("oh")

    task = TaskOwner("plugin shaky").spawn(work())
    await asyncio.wait([task])
    await until(lambda: caplog.text)
    assert "plugin shaky: background work failed" in caplog.text


async def test_of_one_key_the_latest_wins_and_begins_when_the_previous_has_ended():
    owner = TaskOwner("test")
    notes = []
    has_begun, is_ending, may_end = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def first():
        has_begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            is_ending.set()
            await may_end.wait()
            notes.append("first ends")

    async def never():
        notes.append("never")

    async def last():
        notes.append("last")

    begun = owner.latest("chat", first())
    await has_begun.wait()
    second = owner.latest("chat", never())
    await is_ending.wait()
    third = owner.latest("chat", last())
    await asyncio.wait([second, third], timeout=0.01)
    assert notes == []
    may_end.set()
    await third
    assert begun.cancelled()
    assert second.cancelled()
    assert notes == ["first ends", "last"]


async def test_work_that_is_superseded_at_once_does_not_let_the_next_begin_too_early():
    owner = TaskOwner("test")
    notes = []
    has_begun, may_end = asyncio.Event(), asyncio.Event()

    async def first():
        has_begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            await may_end.wait()
            notes.append("first ends")

    async def note(name):
        notes.append(name)

    owner.latest("chat", first())
    await has_begun.wait()
    owner.latest("chat", note("never"))
    last = owner.latest("chat", note("last"))
    await asyncio.wait([last], timeout=0.01)
    assert notes == []
    may_end.set()
    await last
    assert notes == ["first ends", "last"]


async def test_work_that_is_superseded_before_it_began_never_begins():
    owner = TaskOwner("test")
    notes = []

    async def note(name):
        notes.append(name)

    for name in ("a", "b", "c"):
        task = owner.latest("chat", note(name))
    await task
    assert notes == ["c"]


async def test_what_has_ended_is_let_go():
    owner = TaskOwner("test")

    async def work():
        pass

    await asyncio.gather(owner.spawn(work()), owner.latest("k", work()))
    await until(lambda: not owner._tasks and not owner._unfinished)


async def test_keys_do_not_disturb_each_other():
    owner = TaskOwner("test")

    meeting = asyncio.Barrier(2)

    async def work(result):
        await meeting.wait()  # neither ends before both run
        return result

    tasks = [owner.latest(key, work(key)) for key in ("a", "b")]
    assert await asyncio.gather(*tasks) == ["a", "b"]


async def test_closing_cancels_and_awaits_all_work():
    owner = TaskOwner("test")
    begun, ended = [], []

    async def work():
        begun.append(True)
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(True)

    owner.spawn(work())
    owner.latest("k", work())
    await until(lambda: len(begun) == 2)
    await owner.close()
    assert ended == [True, True]


async def test_work_that_will_not_end_does_not_hold_up_closing(caplog):
    owner = TaskOwner("plugin stubborn")
    has_begun, release = asyncio.Event(), asyncio.Event()

    async def work():
        has_begun.set()
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue

    task = owner.spawn(work())
    await has_begun.wait()
    await owner.close(timeout_s=0.01)
    assert "plugin stubborn: 1 tasks did not end" in caplog.text
    release.set()
    await task


async def test_a_closed_owner_takes_no_more_work():
    owner = TaskOwner("test")
    await owner.close()

    async def work():
        pass

    with pytest.raises(OwnerStopped, match=r"test has stopped .* try again"):
        owner.spawn(work())
    with pytest.raises(CommandFailed):  # so that clients get these words
        owner.latest("k", work())


async def test_work_may_close_its_own_owner():
    owner = TaskOwner("test")

    async def work():
        await owner.close()
        return "closed"

    async with asyncio.timeout(PATIENCE_S):
        assert await owner.spawn(work()) == "closed"


async def test_work_in_place_of_running_work_is_closed_too_when_the_owner_has_stopped():
    owner = TaskOwner("test")
    has_begun, may_end = asyncio.Event(), asyncio.Event()

    async def first():
        has_begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            await may_end.wait()

    async def second():
        """Never begins."""

    previous = owner.latest("key", first())
    await has_begun.wait()
    await owner.close(timeout_s=0)
    work = second()
    with pytest.raises(RuntimeError, match="test has stopped"):
        owner.latest("key", work)
    assert inspect.getcoroutinestate(work) == inspect.CORO_CLOSED
    may_end.set()
    await asyncio.wait([previous])


async def test_work_that_is_replaced_again_and_again_is_not_kept():
    owner = TaskOwner("test")

    async def work(begun):
        begun.set()
        await asyncio.Event().wait()

    replaced = weakref.WeakSet()
    for _ in range(20):
        begun = asyncio.Event()
        replaced.add(owner.latest("key", work(begun)))
        await begun.wait()
    gc.collect()
    assert len(replaced) <= 3
    await owner.close()


async def test_work_has_settled_when_what_took_its_place_has_ended_too():
    owner = TaskOwner("test")
    may_end, ended = asyncio.Event(), []

    async def work(name):
        await may_end.wait()
        ended.append(name)

    owner.latest("key", work("first"))
    settled = asyncio.create_task(owner.settled("key"))
    await asyncio.sleep(0)
    owner.latest("key", work("second"))
    await asyncio.sleep(0)
    assert not settled.done()
    may_end.set()
    await settled
    assert ended == ["second"]
    await owner.settled("key")

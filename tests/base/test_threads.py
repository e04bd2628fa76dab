"""Blocking work in threads."""

import asyncio
import socket
import threading

import pytest

from smart_context.base.threads import beside, in_daemon_thread, run, run_uncancelled
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.anyio


async def test_work_of_a_stranger_runs_in_a_thread_that_does_not_hold_up_the_end():
    def work():
        thread = threading.current_thread()
        return thread.daemon, thread.name

    assert await in_daemon_thread(work, name="guest") == (True, "guest")


async def test_what_it_raises_reaches_the_caller():
    def work():
        raise SystemExit(3)

    with pytest.raises(SystemExit):
        await in_daemon_thread(work, name="guest")


async def test_one_that_runs_out_of_items_does_not_leave_its_caller_waiting():
    with pytest.raises(RuntimeError, match="StopIteration"):
        async with asyncio.timeout(PATIENCE_S):
            await in_daemon_thread(lambda: next(iter(())), name="guest")


async def test_who_is_cancelled_does_not_wait_for_a_guest():
    may_end, ended = threading.Event(), threading.Event()

    def work():
        may_end.wait(PATIENCE_S)
        ended.set()

    task = asyncio.create_task(in_daemon_thread(work, name="guest"))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not ended.is_set()
    may_end.set()
    assert await asyncio.to_thread(ended.wait, PATIENCE_S)


async def test_the_result_comes_back():
    assert await run_uncancelled(lambda: 7) == 7


async def test_an_error_comes_back():
    with pytest.raises(ZeroDivisionError):
        await run_uncancelled(lambda: 1 / 0)


@pytest.mark.parametrize("fails", [False, True])
async def test_who_is_cancelled_waits_for_the_work_to_end(fails):
    begun, may_end, ended = asyncio.Event(), threading.Event(), []
    loop = asyncio.get_running_loop()

    def work():
        loop.call_soon_threadsafe(begun.set)
        may_end.wait(PATIENCE_S)
        ended.append(True)
        if fails:
            raise ZeroDivisionError

    task = asyncio.create_task(run_uncancelled(work))
    await begun.wait()
    task.cancel()
    done, _ = await asyncio.wait({task}, timeout=0.05)
    assert not done
    may_end.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended


def test_it_looks_names_up():
    async def main():
        return await asyncio.get_running_loop().getaddrinfo("127.0.0.1", 80, type=1)

    assert run(main())[0][4] == ("127.0.0.1", 80)


def test_its_end_waits_for_no_name_server(monkeypatch):
    answered, given_up = threading.Event(), []

    def silent(*_):
        answered.wait(PATIENCE_S)
        given_up.append(not answered.is_set())

    monkeypatch.setattr(socket, "getaddrinfo", silent)

    async def main():
        looking_up = asyncio.create_task(asyncio.get_running_loop().getaddrinfo("x", 80))
        await asyncio.wait([looking_up], timeout=0.05)
        return looking_up.done()

    assert run(main()) is False
    assert not given_up
    answered.set()


@pytest.mark.parametrize("is_long", [False, True])
async def test_only_long_work_is_done_in_another_thread(is_long):
    here = threading.get_ident()
    assert (await beside(threading.get_ident, is_long=is_long) != here) is is_long

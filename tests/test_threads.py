"""Blocking work beside the loop."""

import threading

import pytest

from smart_context.threads import in_daemon_thread

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

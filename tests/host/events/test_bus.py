"""The event bus: order, priorities and failing handlers."""

import asyncio
from functools import partial

import pytest

from smart_context.host.events.bus import EventBus
from smart_context.host.events.events import Event
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.anyio

PING: Event[list] = Event("test.ping")


def noting(name):
    async def handler(notes):
        notes.append(name)

    return handler


async def test_handlers_run_highest_priority_first_and_ties_in_order_of_subscription():
    bus = EventBus()
    for name, priority in [("low", -1), ("first", 0), ("high", 5), ("second", 0)]:
        bus.subscribe(PING, noting(name), priority)
    notes = []
    await bus.publish(PING, notes)
    assert notes == ["high", "first", "second", "low"]


async def test_one_handler_ends_before_the_next_begins():
    bus = EventBus()
    notes = []

    async def slow(payload):
        payload.append("slow begins")
        await asyncio.sleep(0)
        payload.append("slow ends")

    bus.subscribe(PING, slow)
    bus.subscribe(PING, noting("next"))
    await bus.publish(PING, notes)
    assert notes == ["slow begins", "slow ends", "next"]


def test_a_plain_function_is_refused():
    bus = EventBus()
    with pytest.raises(TypeError, match=r"test\.ping: expected an async function"):
        bus.subscribe(PING, lambda _: None)


class Callable:
    async def __call__(self, notes):
        notes.append("called")

    async def method(self, notes, word="method"):
        notes.append(word)


async def test_methods_partials_and_callable_objects_are_async_too():
    bus = EventBus()
    bus.subscribe(PING, Callable())
    bus.subscribe(PING, Callable().method)
    bus.subscribe(PING, partial(Callable().method, word="partial"))
    notes = []
    await bus.publish(PING, notes)
    assert notes == ["called", "method", "partial"]


async def fail(_):
    raise ValueError("oh")


async def leave(_):
    raise SystemExit(3)


async def cancel(_):
    raise asyncio.CancelledError


@pytest.mark.parametrize("failing", [fail, leave, cancel])
async def test_a_failing_handler_is_logged_with_its_plugin_and_the_next_runs(caplog, failing):
    bus = EventBus()
    bus.subscribe(PING, failing, owner="shaky")
    bus.subscribe(PING, noting("next"))
    notes = []
    await bus.publish(PING, notes)
    assert notes == ["next"]
    assert "test.ping: a handler of shaky" in caplog.text


async def test_a_handler_that_hangs_is_cancelled_logged_and_passed_over(caplog):
    bus = EventBus(handler_timeout_s=0.01)

    async def hang(_):
        await asyncio.Event().wait()

    bus.subscribe(PING, hang, owner="sleepy")
    bus.subscribe(PING, noting("next"))
    notes = []
    async with asyncio.timeout(PATIENCE_S):
        await bus.publish(PING, notes)
    assert notes == ["next"]
    assert "sleepy took longer than 0.01 s" in caplog.text


async def test_cancelling_a_publication_reaches_the_handler_and_ends_it():
    bus = EventBus()
    begun = asyncio.Event()

    async def hang(_):
        begun.set()
        await asyncio.Event().wait()

    bus.subscribe(PING, hang)
    bus.subscribe(PING, noting("next"))
    notes = []
    task = asyncio.create_task(bus.publish(PING, notes))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert notes == []


async def test_without_subscribers_nothing_happens():
    bus = EventBus()
    await bus.publish(PING, [])
    assert not bus.is_awaited(PING)


async def test_an_unsubscribed_handler_runs_no_more_even_if_it_is_next():
    bus = EventBus()
    notes = []

    async def remove_next(_):
        unsubscribe()

    bus.subscribe(PING, remove_next)
    unsubscribe = bus.subscribe(PING, noting("removed"))
    await bus.publish(PING, notes)
    unsubscribe()
    await bus.publish(PING, notes)
    assert notes == []
    assert bus.is_awaited(PING)


async def test_one_handler_can_be_subscribed_twice_and_each_is_ended_by_itself():
    bus = EventBus()
    handler = noting("n")
    first = bus.subscribe("test.ping", handler)
    bus.subscribe(PING, handler)
    first()
    first()
    notes = []
    await bus.publish("test.ping", notes)
    assert notes == ["n"]

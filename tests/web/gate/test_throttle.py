import asyncio

import pytest

from smart_context.web.gate import throttle
from smart_context.web.gate.throttle import (
    FORGIVEN_AFTER_S,
    FREE_FAILURES,
    MAX_PEERS,
    MAX_QUEUE,
    TURNS,
    Throttle,
    TooManyAttempts,
    WrongSecret,
)
from tests.patience import settled

TOKEN = WrongSecret("Wrong token", "Send the right one")
LINK = WrongSecret("Old start link", "Make a new one")


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


class Naps(list):
    """Stands in for waiting: notes how long it was asked to wait."""

    async def sleep(self, seconds):
        self.append(seconds)


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def naps(monkeypatch):
    naps = Naps()
    monkeypatch.setattr(throttle.asyncio, "sleep", naps.sleep)
    return naps


async def guess(known, peer="10.0.0.1", secret=TOKEN):
    async with known.attempt(peer) as attempt:
        await attempt.fail(secret)


def test_the_first_wrong_secrets_are_answered_at_once_and_the_next_ever_later(naps, clock):
    async def scenario():
        known = Throttle(clock=clock)
        for _ in range(FREE_FAILURES + 7):
            await guess(known)

    asyncio.run(scenario())
    assert naps == [0.25, 0.5, 1.0, 2.0, 2.0, 2.0, 2.0]


def test_wrong_secrets_are_forgiven_with_time(naps, clock):
    async def scenario():
        known = Throttle(clock=clock)
        for _ in range(FREE_FAILURES + 1):
            await guess(known)
        clock.now += FORGIVEN_AFTER_S
        await guess(known)
        clock.now += 1000 * FORGIVEN_AFTER_S
        await guess(known)

    asyncio.run(scenario())
    assert naps == [0.25, 0.25]


def test_another_address_does_not_wait(naps, clock):
    async def scenario():
        known = Throttle(clock=clock)
        for _ in range(FREE_FAILURES + 1):
            await guess(known)
        await guess(known, "10.0.0.2")

    asyncio.run(scenario())
    assert naps == [0.25]


def test_guesses_at_the_same_time_take_turns_and_those_beyond_are_not_looked_at(clock):
    async def scenario():
        known = Throttle(first_delay_s=1000, clock=clock)
        guesses = [
            asyncio.create_task(guess(known)) for _ in range(FREE_FAILURES + TURNS + MAX_QUEUE)
        ]
        await settled()
        with pytest.raises(TooManyAttempts):
            await guess(known)
        assert sum(task.done() for task in guesses) == FREE_FAILURES
        async with known.attempt("10.0.0.2"):
            pass
        for task in guesses:
            task.cancel()
        await asyncio.gather(*guesses, return_exceptions=True)

    asyncio.run(scenario())


def test_a_right_secret_is_answered_at_once_among_wrong_ones(clock):
    async def scenario():
        known = Throttle(first_delay_s=1000, clock=clock)
        guesses = [asyncio.create_task(guess(known)) for _ in range(TURNS - 1)]
        await settled()
        async with known.attempt("10.0.0.1"):
            pass
        for task in guesses:
            task.cancel()
        await asyncio.gather(*guesses, return_exceptions=True)

    asyncio.run(scenario())


def test_the_log_names_the_secret_and_the_address_once_in_a_while(naps, clock, caplog):
    async def scenario():
        known = Throttle(clock=clock)
        for _ in range(1000):
            await guess(known)
        await guess(known, "10.0.0.2")
        await guess(known, "10.0.0.2", LINK)

    asyncio.run(scenario())
    assert [record.getMessage() for record in caplog.records] == [
        "Wrong token from 10.0.0.1; attempts: 1. Send the right one",
        "Wrong token from 10.0.0.2; attempts: 1. Send the right one",
        "Old start link from 10.0.0.2; attempts: 1. Make a new one",
    ]


def test_many_addresses_take_little_memory_and_wait_together(naps, clock, caplog):
    async def scenario():
        known = Throttle(clock=clock)
        for number in range(MAX_PEERS + FREE_FAILURES + 1):
            await guess(known, str(number))
        assert naps == [0.25]
        clock.now += FORGIVEN_AFTER_S * 2
        await guess(known, "new")
        assert naps == [0.25]

    asyncio.run(scenario())
    assert len(caplog.records) == MAX_PEERS + 2

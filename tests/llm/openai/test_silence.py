"""How long an open connection counts as a sign of life."""

import asyncio
import math

import pytest

from smart_context.llm.failures import RequestFailed
from smart_context.llm.models import ReadingProgress
from smart_context.llm.openai.models import StreamWatch


def test_what_is_said_breaks_the_silence():
    now = 0.0
    silence = StreamWatch(600, 60, lambda: now)
    for number in range(10):
        now += 599
        silence.check(number + 1)


def test_a_server_that_says_that_it_reads_on_may_take_as_long_as_it_needs():
    now = 0.0
    silence = StreamWatch(600, 60, lambda: now)
    for percent in range(10):
        now += 599
        silence.check(0, ReadingProgress(tokens=90_000, percent=percent))
    now += 601
    with pytest.raises(RequestFailed):
        silence.check(0, ReadingProgress(tokens=90_000, percent=9))


@pytest.mark.parametrize(
    ("characters", "trouble", "words"),
    [
        (0, "slow", "the connection was kept open"),
        (3, "stalled", "no more text came for 600 s"),
    ],
)
def test_signs_of_life_alone_are_not_enough_for_ever(characters, trouble, words):
    now = 0.0
    silence = StreamWatch(600, 60, lambda: now)
    silence.check(characters)
    now = 600.0
    silence.check(characters)
    now = 601.0
    with pytest.raises(RequestFailed) as failed:
        silence.check(characters)
    assert (failed.value.failure.trouble, failed.value.failure.words) == (trouble, words)


@pytest.mark.anyio
@pytest.mark.parametrize(("characters", "trouble"), [(0, "slow"), (3, "stalled")])
async def test_a_slow_machine_may_read_for_longer_than_it_may_pause(characters, trouble):
    async def nothing():
        await asyncio.Event().wait()
        yield b""

    limits = (0.01, math.inf) if characters == 0 else (math.inf, 0.01)
    silence = StreamWatch(*limits, lambda: 0.0)
    silence.check(characters)
    with pytest.raises(RequestFailed) as failed:
        await silence.next(nothing())
    assert failed.value.failure.trouble == trouble

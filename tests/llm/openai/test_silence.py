"""How long an open connection counts as a sign of life."""

import pytest

from smart_context.llm.failures import RequestFailed
from smart_context.llm.openai.silence import Silence


def test_what_is_said_breaks_the_silence():
    now = 0.0
    silence = Silence(600, lambda: now)
    for number in range(10):
        now += 599
        silence.check(number + 1)


def test_signs_of_life_alone_are_not_enough_for_ever():
    now = 0.0
    silence = Silence(600, lambda: now)
    silence.check(3)
    now = 600.0
    silence.check(3)
    now = 601.0
    with pytest.raises(RequestFailed) as failed:
        silence.check(3)
    assert failed.value.failure.words == "it kept the connection open without an answer for 600 s"

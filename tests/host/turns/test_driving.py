"""Every turn ends in one order, and its chat is released whatever has failed."""

import asyncio

import pytest

from smart_context.base.errors import ModelFailed, StoreFailed
from smart_context.chat.messages import Message
from smart_context.host.request.request import Request
from smart_context.host.turn import Turn
from smart_context.host.turns.driving import drive
from smart_context.host.turns.transcript import INTERRUPTED

pytestmark = pytest.mark.anyio

ENDED = ["release", "tell_the_end"]


class Source:
    """Notes its steps, and fails in one of them."""

    chat_id = "c"

    def __init__(self, failing="", error=None):
        self.failure = None
        self.steps = []
        self.failing = failing, error
        question = Message(id="q", role="user", content="Hi")
        self.turn = Turn(
            id="t",
            chat_id="c",
            person="owner",
            question=question,
            answer_id="a",
            request=Request(message="Hi"),
        )

    def step(self, name):
        self.steps.append(name)
        if name == self.failing[0]:
            raise self.failing[1]

    async def begin(self):
        self.step("begin")
        return self.turn

    async def ask(self, _turn):
        self.step("ask")

    async def save(self, _turn):
        self.step("save")

    async def conclude(self, _turn):
        self.step("conclude")

    def close(self):
        self.step("close")

    def tell_the_end(self, _turn):
        self.step("tell_the_end")

    async def drive(self):
        await drive(self, lambda: self.step("release"))


async def test_an_answer_is_saved_then_concluded_then_its_chat_is_released_and_clients_told():
    source = Source()
    await source.drive()
    assert source.steps == ["begin", "ask", "save", "conclude", *ENDED]


@pytest.mark.parametrize(
    ("error", "told", "code"),
    [
        (ModelFailed("It is busy.", status=503), "It is busy.", 503),
        (StoreFailed("The disk is full."), "The disk is full.", 0),
        (ZeroDivisionError(), "The turn failed unexpectedly; the log says more. Try again.", 0),
    ],
)
async def test_what_has_arrived_is_saved_and_concluded_though_asking_failed(error, told, code):
    source = Source("ask", error)
    await source.drive()
    assert source.steps == ["begin", "ask", "save", "conclude", *ENDED]
    assert (source.turn.error, source.turn.error_code) == (told, code)
    assert str(source.failure) == told


@pytest.mark.parametrize("step", ["ask", "save", "conclude"])
async def test_a_chat_is_released_and_clients_are_told_though_the_turn_was_interrupted(step):
    source = Source(step, asyncio.CancelledError())
    with pytest.raises(asyncio.CancelledError):
        await source.drive()
    assert source.steps[-4:] == [step, "close", *ENDED]
    assert source.turn.error == INTERRUPTED


async def test_a_turn_that_could_not_begin_has_no_end_to_tell():
    source = Source("begin", StoreFailed("The disk is full."))
    await source.drive()
    assert source.steps == ["begin", "close", "release"]
    assert str(source.failure) == "The disk is full."

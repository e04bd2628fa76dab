"""A request that is refused is asked again if the refusal says how."""

import pytest

from smart_context.base.config import EndpointSettings
from smart_context.base.errors import ModelFailed, TooLong
from smart_context.chat.messages import Message
from smart_context.host.request.completion import RequestCompletion
from smart_context.host.request.known_models import KnownModels
from smart_context.host.request.request import Request
from smart_context.host.request.speaking_order import SpeakingOrder
from smart_context.host.turn import Turn
from smart_context.host.turns.refusals import Refusals
from tests.storage.memory import MemoryCaches

pytestmark = pytest.mark.anyio

ENDPOINT = EndpointSettings(base_url="http://127.0.0.1:1/v1", model="local-7b")
TURNS = ModelFailed("Conversation roles must alternate user/assistant", status=400)
NO_SYSTEM = ModelFailed("System role not supported", status=400)
UNNAMED = ModelFailed("The request is too long.", status=400, too_long=TooLong())
TOKENS = 40_000
IN_TURN, WITHOUT_SYSTEM = SpeakingOrder.IN_TURN, SpeakingOrder.WITHOUT_SYSTEM


def too_long(**facts):
    return ModelFailed("The request is too long.", status=400, too_long=TooLong(**facts))


class Asked:
    """A turn's requests to an endpoint that refuses them one after another."""

    def __init__(self, *refusals, what_fits=False):
        question = Message(id="q", role="user", content="Hi")
        self.turn = Turn(
            id="t",
            chat_id="c",
            person="owner",
            question=question,
            answer_id="a",
            request=Request(message="Hi"),
        )
        self.turn.sends_what_fits = what_fits
        self.refusals = list(refusals)
        self.sent = []
        completion = RequestCompletion(lambda: ENDPOINT, KnownModels(MemoryCaches()))
        self.all = Refusals(self.turn, ENDPOINT, completion, self)

    async def run(self):
        return await self.all.asked(self.ask)

    async def ask(self):
        window = self.turn.window
        size = TOKENS if window is None else min(window.room, TOKENS)
        self.sent.append((size, self.turn.request.order))
        if self.refusals:
            raise self.refusals.pop(0)
        return "Aye."

    async def tokens(self):
        return self.sent[-1][0]

    async def learn_counts(self, counted):
        pass

    async def is_changed_by(self, window):
        return await self.tokens() > window.room


async def test_one_request_is_asked_in_another_order_and_shorter_by_whichever_comes_first():
    asked = Asked(TURNS, too_long(window=10_000), NO_SYSTEM)
    assert await asked.run() == "Aye."
    assert asked.sent == [
        (TOKENS, SpeakingOrder.ANY),
        (TOKENS, IN_TURN),
        (9_000, IN_TURN),
        (9_000, WITHOUT_SYSTEM),
    ]
    assert asked.turn.refused_above == 10_000


@pytest.mark.parametrize(
    ("refusals", "asked"),
    [
        pytest.param([too_long(window=10_000)] * 2, 2, id="it is shortened once"),
        pytest.param([TURNS] * 2, 2, id="it has that order already"),
        pytest.param([UNNAMED], 1, id="how much is left out is only guessed"),
        pytest.param([ModelFailed("Overloaded.", status=503)], 1, id="it says nothing of either"),
    ],
)
async def test_the_last_refusal_is_the_outcome(refusals, asked):
    made = Asked(*refusals)
    with pytest.raises(ModelFailed) as failed:
        await made.run()
    assert failed.value is refusals[-1]
    assert len(made.sent) == asked


async def test_the_user_may_have_it_shortened_until_the_model_takes_it():
    asked = Asked(*[UNNAMED] * 4, what_fits=True)
    assert await asked.run() == "Aye."
    sizes = [size for size, _ in asked.sent]
    assert sizes == sorted(sizes, reverse=True)
    assert len(set(sizes)) == 5

"""What connections offer, as far as their servers tell."""

import pytest

from smart_context.base.config import EndpointSettings
from smart_context.llm.failures import EndpointFailure, RequestFailed
from smart_context.llm.offers import Offers

pytestmark = pytest.mark.anyio

HERE = EndpointSettings(base_url="http://127.0.0.1:11434/v1", model="llama3")


class Server:
    """Lists models, or fails; counts how often it is asked."""

    def __init__(self, *models):
        self.models, self.failure, self.asked = models, None, 0

    async def __call__(self, _endpoint, _seconds):
        self.asked += 1
        if self.failure:
            raise RequestFailed(self.failure)
        return self.models


@pytest.mark.parametrize(
    ("failure", "answered", "state"),
    [
        (EndpointFailure(trouble="refused", status=401), {}, "refuses"),
        (EndpointFailure(trouble="refused", status=404), {}, "unchecked"),
        (EndpointFailure(trouble="refused", status=404), {HERE.base_url: "then"}, "answers"),
        (EndpointFailure(trouble="unreachable"), {HERE.base_url: "then"}, "unreachable"),
        (EndpointFailure(trouble="slow"), {}, "unreachable"),
        (EndpointFailure(trouble="nonsense"), {}, "unchecked"),
    ],
)
async def test_a_server_that_lists_nothing_keeps_the_models_from_before(failure, answered, state):
    server = Server("llama3", "qwen")
    offers = Offers(server, answered)
    assert (await offers.look(HERE)).state == "answers"
    server.failure = failure
    offer = await offers.look(HERE)
    assert (offer.state, offer.models) == (state, ("llama3", "qwen"))


async def test_a_list_is_asked_for_once_in_a_while_and_sooner_after_a_failure():
    server, now = Server("llama3"), 0.0
    offers = Offers(server, clock=lambda: now)
    await offers.of(HERE)
    await offers.of(HERE)
    assert server.asked == 1
    now = 301.0
    server.failure = EndpointFailure(trouble="unreachable")
    await offers.of(HERE)
    now += 31.0
    await offers.of(HERE)
    assert server.asked == 3


async def test_without_somebody_to_ask_nothing_is_known():
    assert (await Offers().look(HERE)).state == "unchecked"

"""A provider that takes the connection and says nothing more: our own models are given."""

import asyncio
import json
from types import SimpleNamespace

import pytest

from smart_context.base.config import EndpointSettings
from smart_context.gateway.edge.gateway import Gateway
from smart_context.llm.offers import Offers
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.anyio

CHAT = EndpointSettings(base_url="http://127.0.0.1:9/v1", model="big")
CONFIG = SimpleNamespace(chat=CHAT, fast=None, embedding=None, connections={})
HOST = SimpleNamespace(config=CONFIG, offers=Offers())


class HalfAnAnswer:
    """A list of models that stops in the middle."""

    status, encoding, is_closed = 200, "", False

    async def chunks(self):
        yield b'{"data": ['
        await asyncio.Event().wait()

    async def aclose(self):
        self.is_closed = True


class Silent:
    """Connections whose provider says nothing, or only half."""

    def __init__(self, answer=None):
        self.answer = answer

    async def send(self, _call):
        if self.answer is None:
            await asyncio.Event().wait()
        return self.answer


async def asked(path, upstream):
    gateway = Gateway(HOST, None, lambda _scope: None, upstream, models_s=0.01)
    sent = []

    async def send(message):
        sent.append(message)

    scope = {"type": "http", "method": "GET", "path": path, "headers": []}
    async with asyncio.timeout(PATIENCE_S):
        await gateway(scope, None, send)
    return sent[0]["status"], json.loads(sent[1]["body"])


async def test_the_models_of_the_settings_are_given_if_the_provider_says_nothing():
    status, listed = await asked("/v1/models", Silent())
    assert (status, [model["id"] for model in listed["data"]]) == (200, ["big"])
    status, model = await asked("/v1/models/big", Silent())
    assert (status, model["id"]) == (200, "big")
    assert (await asked("/v1/models/other", Silent()))[0] == 404


async def test_the_models_of_the_settings_are_given_if_the_list_never_ends():
    half = HalfAnAnswer()
    status, listed = await asked("/v1/models", Silent(half))
    assert (status, [model["id"] for model in listed["data"]]) == (200, ["big"])
    assert half.is_closed

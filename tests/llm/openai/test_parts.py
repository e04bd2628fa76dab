"""A background request is read in parts by a server that is stopped only between them."""

import pytest

from smart_context.base.config import EndpointSettings
from smart_context.base.waiting import waited_for
from smart_context.llm.models import Usage, text_of
from smart_context.llm.openai.connection import EndpointClient
from smart_context.llm.openai.models import OpenAIChatModel
from smart_context.llm.openai.parts import PART_S, read_in_parts
from tests.fake_openai import FakeOpenAI, Reply, failure

pytestmark = pytest.mark.anyio

SYSTEM = {"role": "system", "content": "You name groups. " * 30}
REQUEST = [SYSTEM, {"role": "user", "content": "bread flour oven " * 400}]
TEXT = "".join(map(text_of, REQUEST))


class Server:
    """Reads so many tokens a second, of four characters each, and keeps what it has read."""

    def __init__(self, speed, *, keeps=True):
        self.speed, self.keeps = speed, keeps
        self.now, self.kept = 0.0, 0
        self.asked, self.took = [], []

    def clock(self):
        return self.now

    async def read(self, messages):
        tokens = sum(len(text_of(message)) for message in messages) // 4
        cached = min(self.kept, tokens)
        self.took.append((tokens - cached) / self.speed)
        self.now += self.took[-1]
        self.kept = tokens if self.keeps else 0
        self.asked.append(messages)
        return Usage(prompt_tokens=tokens, completion_tokens=1, cached_tokens=cached)


@pytest.mark.parametrize("speed", [30, 70, 1_000])
async def test_a_server_is_never_busy_for_long_with_a_part(speed):
    server = Server(speed)
    await read_in_parts(REQUEST, server.read, server.clock)
    assert max(server.took[1:]) < 1.5 * PART_S
    left = len(TEXT) // 4 - server.kept
    assert left / speed < 1.5 * PART_S


async def test_a_fast_server_reads_a_long_request_in_a_few_parts():
    server = Server(10_000)
    await read_in_parts(REQUEST, server.read, server.clock)
    assert len(server.asked) < 6


async def test_each_part_begins_as_the_request_does_and_ends_with_the_user():
    server = Server(70)
    await read_in_parts(REQUEST, server.read, server.clock)
    assert len(server.asked) > 4
    for messages in server.asked:
        assert messages[-1]["role"] == "user"
        assert [m["role"] for m in messages] == ["system", "user"]
        said = [text_of(m) for m in messages if text_of(m) != "-"]
        assert TEXT.startswith("".join(said))


async def test_a_server_that_keeps_nothing_is_not_made_to_read_again_and_again():
    server = Server(70, keeps=False)
    await read_in_parts(REQUEST, server.read, server.clock)
    assert len(server.asked) == 2


@pytest.fixture
def endpoint():
    with FakeOpenAI() as running:
        yield running


@pytest.fixture
async def model(endpoint):
    client = EndpointClient()
    settings = EndpointSettings(base_url=endpoint.base_url, model="m", max_retries=0)
    client.programs[settings.base_url] = "llama.cpp"
    model = OpenAIChatModel(settings, client)
    yield model
    await model.aclose()


NAMES = '{"1": "Bread"}'
SHORT = [{"role": "user", "content": "bread " * 100}]


def part_or_names(body):
    is_part = "max_tokens" in body
    return Reply(text="x", usage=(60, 1), cached=60) if is_part else NAMES


async def test_the_background_has_a_request_read_before_it_is_answered(endpoint, model):
    endpoint.reply_with(*[part_or_names] * 10)
    assert (await model.complete(SHORT, json_reply=True)).text == NAMES
    *parts, whole = endpoint.chat_requests
    assert parts
    assert [request.body["max_tokens"] for request in parts] == [1] * len(parts)
    assert whole.messages == SHORT
    assert "max_tokens" not in whole.body


async def test_a_part_that_fails_does_not_keep_the_request_from_being_asked(endpoint, model):
    endpoint.reply_with(failure(500), NAMES)
    assert (await model.complete(SHORT, json_reply=True)).text == NAMES


async def test_what_a_person_waits_for_is_asked_at_once(endpoint, model):
    endpoint.reply_with(NAMES)
    with waited_for():
        assert (await model.complete(SHORT, json_reply=True)).text == NAMES
    assert len(endpoint.chat_requests) == 1

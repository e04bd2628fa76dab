"""The order of requests to one server: persons first, the background when it is quiet."""

import asyncio
import threading
from contextlib import asynccontextmanager

import pytest

from smart_context.base.config import EndpointSettings
from smart_context.base.waiting import waited_for
from smart_context.llm.openai.connection import EndpointClient
from smart_context.llm.openai.models import OpenAIChatModel
from smart_context.llm.traffic import LONGEST_WAIT_S, QUIET_S, Traffic
from tests.fake_openai import FakeOpenAI, held
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.anyio

URL = "http://127.0.0.1:8080/v1"
ELSEWHERE = "http://127.0.0.1:8081/v1"
TEAMS = "https://models.example.org/v1"
NAMES = [{"role": "user", "content": "Name these topics"}]
QUESTION = [{"role": "user", "content": "And now?"}]


class Clock:
    """Time that passes when a test says so."""

    def __init__(self):
        self.now = 1_000.0
        self.sleepers = []

    def __call__(self):
        return self.now

    async def sleep(self, seconds):
        woken = asyncio.Event()
        self.sleepers.append((self.now + seconds, woken))
        await woken.wait()

    async def passes(self, seconds):
        self.now += seconds
        for until, woken in self.sleepers:
            if until <= self.now:
                woken.set()
        await settled()


async def settled():
    for _ in range(20):
        await asyncio.sleep(0)


class Asked:
    """A request of the background that is answered when a test says so."""

    def __init__(self):
        self.begun, self.ended, self.answered = 0, 0, asyncio.Event()

    async def __call__(self):
        self.begun += 1
        try:
            await self.answered.wait()
        finally:
            self.ended += 1
        return "named"


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def traffic(clock):
    return Traffic(clock=clock, sleep=clock.sleep)


@asynccontextmanager
async def in_background(traffic, asked, url=URL):
    task = asyncio.create_task(traffic.in_order(url, asked))
    await settled()
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.wait([task])


async def turn(traffic, clock, seconds=10.0, url=URL):
    async with traffic.of_person(url):
        await clock.passes(seconds)


async def test_what_nobody_waits_for_begins_at_once_where_nobody_has_asked(traffic):
    asked = Asked()
    async with in_background(traffic, asked) as task:
        asked.answered.set()
        assert await task == "named"


async def test_a_question_ends_the_background_request_before_it_is_sent(traffic):
    asked = Asked()
    async with in_background(traffic, asked), traffic.of_person(URL):
        assert (asked.begun, asked.ended) == (1, 1)


async def test_the_background_asks_again_once_it_is_quiet_and_not_before(traffic, clock):
    asked = Asked()
    async with in_background(traffic, asked) as task:
        await turn(traffic, clock)
        await clock.passes(QUIET_S - 0.1)
        assert asked.begun == 1
        await clock.passes(0.2)
        assert asked.begun == 2
        asked.answered.set()
        assert await task == "named"


async def test_each_question_starts_the_quiet_time_again(traffic, clock):
    asked = Asked()
    async with in_background(traffic, asked):
        for _ in range(3):
            await turn(traffic, clock)
            await clock.passes(QUIET_S - 0.1)
        assert asked.begun == 1


async def test_the_background_waits_for_the_last_of_several_questions(traffic, clock):
    asked = Asked()
    async with in_background(traffic, asked):
        async with traffic.of_person(URL):
            await turn(traffic, clock)
            await clock.passes(100)
            assert asked.begun == 1
        await clock.passes(100)
        assert asked.begun == 2


@pytest.mark.parametrize(
    ("answer_s", "names_s", "quiet_s"),
    [
        pytest.param(0.01, 0.0, 1.0, id="a server that answers at once"),
        pytest.param(10.0, 0.0, QUIET_S, id="one that takes a while"),
        pytest.param(10.0, 13.0, 13.0, id="one that takes longer for what the background asks"),
        pytest.param(10.0, 300.0, 30.0, id="one that takes minutes"),
    ],
)
async def test_the_slower_a_server_the_longer_it_must_be_quiet(
    traffic, clock, answer_s, names_s, quiet_s
):
    asked = Asked()
    async with in_background(traffic, asked):
        await clock.passes(names_s)
        await turn(traffic, clock, answer_s)
        await clock.passes(quiet_s - 0.1)
        assert asked.begun == 1
        await clock.passes(0.2)
        assert asked.begun == 2


async def test_a_short_request_does_not_make_a_slow_server_a_fast_one(traffic, clock):
    asked = Asked()
    await turn(traffic, clock, 10)
    await turn(traffic, clock, 0.01)  # an embedding
    async with in_background(traffic, asked):
        await clock.passes(QUIET_S - 0.1)
        assert asked.begun == 0


async def test_the_background_asks_a_server_one_thing_at_a_time(traffic):
    first, second = Asked(), Asked()
    async with in_background(traffic, first) as naming, in_background(traffic, second):
        assert (first.begun, second.begun) == (1, 0)
        first.answered.set()
        await naming
        await settled()
        assert second.begun == 1


async def test_other_servers_go_on(traffic):
    asked = Asked()
    async with in_background(traffic, asked), traffic.of_person(ELSEWHERE):
        assert asked.ended == 0


@pytest.mark.parametrize("same", ["http://localhost:8080/v1/", "http://[::1]:8080/api"])
async def test_one_server_may_have_several_addresses(traffic, same):
    asked = Asked()
    async with in_background(traffic, asked), traffic.of_person(same):
        assert asked.ended == 1


async def test_what_a_person_waits_for_goes_at_once_and_is_not_ended(traffic, clock):
    asked = Asked()
    await turn(traffic, clock)
    with waited_for():
        waiting = asyncio.create_task(traffic.in_order(URL, asked))
    await settled()
    async with traffic.of_person(URL):
        assert (asked.begun, asked.ended) == (1, 0)
    asked.answered.set()
    assert await waiting == "named"


@pytest.mark.parametrize("is_quiet", [True, False])
async def test_a_cancelled_background_request_is_over_for_good(traffic, clock, is_quiet):
    asked = Asked()
    if not is_quiet:
        await turn(traffic, clock)
    async with in_background(traffic, asked) as task:
        task.cancel()
        await asyncio.wait([task])
        await clock.passes(100)
        assert task.cancelled()
        assert asked.begun == asked.ended == int(is_quiet)
    other = Asked()
    async with in_background(traffic, other):
        assert other.begun == 1


async def test_a_failure_of_the_background_is_raised_and_the_next_request_may_follow(traffic):
    async def fails():
        raise ValueError("no model")

    with pytest.raises(ValueError, match="no model"):
        await traffic.in_order(URL, fails)
    asked = Asked()
    async with in_background(traffic, asked):
        assert asked.begun == 1


@pytest.fixture
def endpoint():
    with FakeOpenAI() as endpoint:
        yield endpoint


def model_at(endpoint, traffic):
    settings = EndpointSettings(base_url=endpoint.base_url, model="m", max_retries=0)
    return OpenAIChatModel(settings, EndpointClient(traffic=traffic))


async def answer_to(model, question):
    return "".join([piece.text async for piece in model.stream(question)])


async def test_a_question_is_answered_while_a_background_request_is_held(endpoint, traffic, clock):

    def answer(_body):
        endpoint.wait_for_hang_up()  # of the first: it was closed before this request came
        return "At once"

    model = model_at(endpoint, traffic)
    endpoint.reply_with(held("never", threading.Event(), after=0), answer, '{"1": "Bread"}')
    naming = asyncio.create_task(model.complete(NAMES, json_reply=True))
    await asyncio.to_thread(endpoint.wait_for_requests, 1)

    assert await answer_to(model, QUESTION) == "At once"
    assert [request.messages for request in endpoint.chat_requests] == [NAMES, QUESTION]

    await clock.passes(QUIET_S)
    async with asyncio.timeout(PATIENCE_S):
        assert (await naming).text == '{"1": "Bread"}'
    assert [request.messages for request in endpoint.chat_requests] == [NAMES, QUESTION, NAMES]
    await model.aclose()


async def test_the_background_does_not_begin_while_a_person_writes(traffic, clock):
    asked = Asked()
    await turn(traffic, clock)
    async with in_background(traffic, asked):
        for _ in range(5):
            await clock.passes(QUIET_S - 0.1)
            traffic.person_writes()
        assert asked.begun == 0
        await clock.passes(QUIET_S + 0.1)
        assert asked.begun == 1


async def test_who_has_written_and_not_sent_for_long_holds_the_background_no_longer(traffic, clock):
    asked = Asked()
    await turn(traffic, clock)
    async with in_background(traffic, asked):
        for _ in range(int(LONGEST_WAIT_S)):
            traffic.person_writes()
            await clock.passes(1.0)
        assert asked.begun == 1


async def test_after_a_long_wait_the_background_begins_when_nobody_asks_for_an_instant(
    traffic, clock
):
    asked = Asked()
    async with in_background(traffic, asked):
        for _ in range(int(LONGEST_WAIT_S) // 10):
            await turn(traffic, clock, 10)
        await settled()
        assert asked.begun == 2  # once before the first question ended it
        async with traffic.of_person(URL):
            assert asked.ended == 2  # a question goes first all the same


async def test_at_a_busy_server_elsewhere_the_background_has_its_turn_beside_persons(
    traffic, clock
):
    asked = Asked()
    async with traffic.of_person(TEAMS), in_background(traffic, asked, TEAMS) as task:
        await clock.passes(LONGEST_WAIT_S - 1)
        assert asked.begun == 0
        await clock.passes(2)
        assert asked.begun == 1
        async with traffic.of_person(TEAMS):
            asked.answered.set()
            assert await task == "named"

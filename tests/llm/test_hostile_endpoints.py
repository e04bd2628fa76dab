"""Endpoints that mean harm: they hold no turn for ever, fill no memory and stop nobody else."""

import asyncio
import re
import time
import tracemalloc
from contextlib import asynccontextmanager

import httpx2 as _httpx  # noqa: F401 - its import is not what is measured
import pytest

from smart_context.base.config import EndpointSettings
from smart_context.base.errors import ModelFailed
from smart_context.llm.openai.models import OpenAIChatModel, OpenAIEmbedder
from smart_context.llm.openai.replies import MOST_CHARACTERS
from tests.hostile_endpoint import (
    BARE,
    CHUNKED,
    HEAD,
    MIB,
    again,
    bomb,
    chunk,
    event,
    hostile_endpoint,
    once,
)
from tests.patience import PATIENCE_S
from tests.yardstick import yardstick_s

pytestmark = pytest.mark.anyio

IMPATIENT_S = 0.4
VERY_IMPATIENT_S = 0.1  # where ten times as long is waited
MOST_YARDSTICKS = 40
MOST_MEMORY = 100 * MIB
OK = b"HTTP/1.1 200 OK\r\n"
REFUSED = b"HTTP/1.1 400 No\r\n"
GZIP = b"Content-Encoding: gzip\r\n\r\n"


def call(number):
    return {"index": number, "id": f"c{number}", "function": {"name": "x", "arguments": "{}"}}


def arguments(text):
    return event(tool_calls=[{"index": 0, "function": {"arguments": text}}])


BIG = "x" * 100_000
KEYS = b",".join(b'"%x":0' % number for number in range(2 * MIB // 11))

ANSWERS = {
    "a head that never ends": (again(b"X-A: b\r\n", after=OK), 0.02),
    "heads before the head": (again(b"HTTP/1.1 100 Continue\r\n\r\n" * 50), 0),
    "one header without end": (again(b"x" * 60_000, after=OK + b"X: "), 0),
    "slow signs of life": (again(b": wait\n", after=BARE), 0.02),
    "fast signs of life": (again(b": wait\n" * 5_000, after=BARE), 0),
    "empty events": (again(event() * 500, after=BARE), 0),
    "one line without end": (again(b"x" * 60_000, after=BARE + b"data: "), 0),
    "chunks of one byte": (again(chunk(b"x") * 5_000, after=CHUNKED), 0),
    "text without end": (again(event(content=BIG), after=BARE), 0),
    "thoughts without end": (again(event(reasoning_content=BIG), after=BARE), 0),
    "arguments without end": (again(arguments(BIG), after=BARE), 0),
    "calls without end": (
        once(BARE + b"".join(event(tool_calls=[call(n)]) for n in range(999))),
        0,
    ),
    "deep JSON": (once(BARE + b"data: " + b"[" * MIB + b"\n"), 0),
    "wide JSON": (once(BARE + b"data: {" + KEYS + b"}\n"), 0),
    "a refusal without end": (again(b"y" * 60_000, after=REFUSED + b"\r\n"), 0),
    "a slow refusal": (again(b"y", after=REFUSED + b"\r\n"), 0.02),
    "a bomb of lines": (once(HEAD + GZIP + bomb(b"\n" * MIB)), 0),
    "a bomb of one line": (once(HEAD + GZIP + bomb(b"x" * MIB)), 0),
    "a bomb of events": (once(HEAD + GZIP + bomb(event() * 5_000)), 0),
    "a bomb in a refusal": (once(REFUSED + GZIP + bomb(b"x" * MIB)), 0),
    "a bomb of an odd kind": (once(HEAD + b"Content-Encoding: br\r\n\r\n" + b"x" * 999), 0),
    "numbers without end": (
        once(OK + b'\r\n{"data": [{"embedding": [' + b"1," * 800_000 + b"1]}]}"),
        0,
    ),
    "brackets without end": (once(OK + b'\r\n{"data": [' + b"[]," * 600_000 + b"[]]}"), 0),
    "a bomb in a bomb": (
        once(HEAD + b"Content-Encoding: gzip, gzip\r\n\r\n" + bomb(bomb(b"x"))),
        0,
    ),
}
SLOW = r"did not answer within (0\.[14]|1) s|can't be reached"
NONSENSE = "does not follow the OpenAI API"
ENDLESS = "gave an answer that is over the size limit"
REFUSAL = "refused the request with status 400"

AT_ONCE = {
    "a head that never ends": SLOW,
    "heads before the head": SLOW,
    "one header without end": "gave no answer",
    "one line without end": NONSENSE,
    "text without end": ENDLESS,
    "thoughts without end": ENDLESS,
    "arguments without end": ENDLESS,
    "calls without end": f"{NONSENSE}: more than 128 tool calls",
    "deep JSON": rf"{NONSENSE}: \[\[\[",
    "wide JSON": "broke off",
    "a refusal without end": f"{REFUSAL}: yyy",
    "a slow refusal": f"{REFUSAL}: y",
    "a bomb of one line": NONSENSE,
    "a bomb in a refusal": f"{REFUSAL}: xxx",
    "a bomb of an odd kind": f"{NONSENSE}: it is compressed as 'br'",
    "a bomb in a bomb": f"{NONSENSE}: it is compressed as 'gzip, gzip'",
}
AFTER_A_WHILE = (
    *("slow signs of life", "fast signs of life", "empty events", "chunks of one byte"),
    *("a bomb of lines", "a bomb of events"),
)


@pytest.fixture(scope="module")
def base_url():
    with hostile_endpoint(ANSWERS) as address:
        yield address


def settings(base_url, *, timeout_s=IMPATIENT_S):
    return EndpointSettings(base_url=base_url, model="m", timeout_s=timeout_s, max_retries=0)


@asynccontextmanager
async def unhindered(streams=1):
    """Fails when the block keeps the loop from others for too long, counted in processor time.

    Several streams take turns between two looks, so what they may take adds up.
    """
    longest = 0.0

    async def look():
        nonlocal longest
        while True:
            begun = time.thread_time()
            await asyncio.sleep(0.001)
            longest = max(longest, time.thread_time() - begun)

    looking = asyncio.create_task(look())
    try:
        yield
    finally:
        looking.cancel()
    assert longest < MOST_YARDSTICKS * yardstick_s() * streams


async def streamed(settings, name):
    """The error that a stream ends with, and what was said before."""
    model = OpenAIChatModel(settings)
    pieces = []

    async def read():
        async for piece in model.stream([{"role": "user", "content": name}]):
            pieces.append(piece)  # noqa: PERF401 - what came before the failure counts

    with pytest.raises(ModelFailed) as failed:
        await read()
    await model.aclose()
    return str(failed.value), pieces


async def whole(settings, name):
    model = OpenAIChatModel(settings)
    with pytest.raises(ModelFailed) as failed:
        await model.complete([{"role": "user", "content": name}])
    await model.aclose()
    return str(failed.value), []


async def embedded(settings, name):
    model = OpenAIEmbedder(settings)
    with pytest.raises(ModelFailed) as failed:
        await model.embed([name])
    await model.aclose()
    return str(failed.value), []


@pytest.mark.parametrize("name", AT_ONCE)
async def test_a_stream_ends_with_an_error_that_says_why(base_url, name):
    timeout_s = VERY_IMPATIENT_S if AT_ONCE[name] == SLOW else 1.5 if "slow" in name else PATIENCE_S
    async with unhindered():
        said, _ = await streamed(settings(base_url, timeout_s=timeout_s), name)
    assert re.search(AT_ONCE[name], said), said


async def test_signs_of_life_do_not_hold_a_turn_for_ever(base_url):
    impatient = settings(base_url, timeout_s=VERY_IMPATIENT_S)
    async with unhindered(streams=len(AFTER_A_WHILE) + 2):
        endings = await asyncio.gather(
            *(streamed(impatient, name) for name in AFTER_A_WHILE),
            *(ask(impatient, AFTER_A_WHILE[0]) for ask in (whole, embedded)),
        )
    for said, pieces in endings:
        assert re.search(SLOW, said), said
        assert pieces == []


@pytest.mark.parametrize("name", ["text without end", "thoughts without end"])
async def test_an_answer_without_end_is_cut_and_what_came_is_kept(base_url, name):
    _, pieces = await streamed(settings(base_url, timeout_s=PATIENCE_S), name)
    said = sum(len(piece.text) + len(piece.reasoning) for piece in pieces)
    assert MOST_CHARACTERS - len(BIG) < said <= MOST_CHARACTERS


@pytest.mark.parametrize("name", [name for name in AT_ONCE if "bomb" in name])
async def test_a_bomb_does_not_fill_the_memory(base_url, name):
    tracemalloc.start()
    try:
        await streamed(settings(base_url, timeout_s=PATIENCE_S), name)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < MOST_MEMORY


@pytest.mark.parametrize("ask", [whole, embedded])
@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("text without end", ENDLESS),
        ("a bomb of one line", ENDLESS),
        ("wide JSON", NONSENSE),
        ("numbers without end", NONSENSE),
        ("brackets without end", NONSENSE),
    ],
)
async def test_an_answer_that_is_read_at_once_is_bounded(base_url, ask, name, why):
    async with unhindered():
        said, _ = await ask(settings(base_url, timeout_s=PATIENCE_S), name)
    assert re.search(why, said), said

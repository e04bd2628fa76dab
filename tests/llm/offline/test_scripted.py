"""The scripted models keep to their script and remember what they were asked."""

import asyncio
from contextlib import aclosing

import numpy as np
import pytest

from smart_context.base.errors import ModelFailed
from smart_context.llm.models import ToolCall, Usage
from tests.patience import settled
from tests.scripted import Scripted, ScriptedChatModel, ScriptedEmbedder

pytestmark = pytest.mark.anyio

ASK = [{"role": "user", "content": "Hi"}]


async def texts(stream):
    return [piece.text async for piece in stream]


async def test_replies_come_in_order_streamed_word_by_word_or_whole():
    model = ScriptedChatModel(["one two", "three"])
    assert await texts(model.stream(ASK)) == ["one", " two"]
    assert (await model.complete(ASK, json_reply=True)).text == "three"
    assert [(asked.streamed, asked.json_reply) for asked in model.asked] == [
        (True, False),
        (False, True),
    ]
    assert model.asked[0].messages == tuple(ASK)


async def test_a_script_that_has_run_out_says_so():
    with pytest.raises(ModelFailed, match="run out"):
        await ScriptedChatModel().complete(ASK)


async def test_a_function_answers_by_what_was_asked():
    model = ScriptedChatModel(lambda messages: messages[-1]["content"].upper())
    assert (await model.complete(ASK)).text == "HI"


async def test_tool_calls_and_usage_come_last():
    call = ToolCall(id="1", name="f", arguments="{}")
    usage = Usage(prompt_tokens=1, completion_tokens=2)
    reply = Scripted(pieces=("a",), tool_calls=(call,), usage=usage)
    model = ScriptedChatModel([reply, reply])
    last = [piece async for piece in model.stream(ASK)][-1]
    assert (last.tool_calls, last.usage) == ((call,), usage)
    whole = await model.complete(ASK)
    assert (whole.text, whole.tool_calls, whole.usage) == ("a", (call,), usage)


async def test_an_error_is_raised_after_its_pieces():
    model = ScriptedChatModel([Scripted(pieces=("a", "b"), error=ModelFailed("gone"))])
    seen = []

    async def read():
        async for piece in model.stream(ASK):
            seen.append(piece.text)  # noqa: PERF401 - what came before the failure counts

    with pytest.raises(ModelFailed, match="gone"):
        await read()
    assert seen == ["a", "b"]
    assert model.cancelled == 0


async def test_a_gate_holds_the_answer_after_some_pieces():
    gate = asyncio.Event()
    model = ScriptedChatModel([Scripted(pieces=("a", "b"), gate=gate, hold_after=1)])
    async with aclosing(model.stream(ASK)) as stream:
        assert (await anext(stream)).text == "a"
        waiting = asyncio.ensure_future(anext(stream))
        await settled()
        assert not waiting.done()
        gate.set()
        assert (await waiting).text == "b"


async def test_a_stream_closed_in_mid_answer_is_counted():
    model = ScriptedChatModel(["one two"])
    async with aclosing(model.stream(ASK)) as stream:
        await anext(stream)
    assert model.cancelled == 1


async def test_scripted_vectors_are_scaled_and_other_texts_are_bags_of_words():
    embedder = ScriptedEmbedder({"a": [3.0, 4.0]})
    np.testing.assert_allclose(await embedder.embed(["a"]), [[0.6, 0.8]], rtol=1e-6)
    bags = await ScriptedEmbedder().embed(["red roses", "red tulips", "oil", " "])
    assert bags[0] @ bags[1] > bags[0] @ bags[2]
    assert not bags[3].any()
    assert embedder.asked == [("a",)]


async def test_an_error_that_was_set_is_raised():
    embedder = ScriptedEmbedder()
    embedder.error = ModelFailed("gone")
    with pytest.raises(ModelFailed, match="gone"):
        await embedder.embed(["a"])

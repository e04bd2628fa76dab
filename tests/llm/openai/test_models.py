"""Models behind the OpenAI API, over HTTP, on good and bad days."""

import asyncio
import logging
import math
import threading
from contextlib import aclosing

import numpy as np
import pytest

from smart_context.base.config import EndpointSettings
from smart_context.base.errors import ModelFailed
from smart_context.llm.models import AnswerPiece, ToolCall, Usage
from smart_context.llm.openai.connection import EndpointClient
from smart_context.llm.openai.models import OpenAIChatModel, OpenAIEmbedder
from tests.fake_openai import EMBEDDINGS, FakeOpenAI, Reply, cut, failure, held, nonsense
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.anyio

KEY = "sk-very-secret"
ASK = [{"role": "user", "content": "Hi there"}]


@pytest.fixture
def endpoint():
    with FakeOpenAI() as running:
        yield running


class Waits(list):
    """Sleeps at once and remembers for how long it should have been."""

    async def __call__(self, seconds):
        self.append(seconds)


@pytest.fixture
def waits():
    return Waits()


def settings(endpoint, **changes):
    given = {
        "base_url": endpoint.base_url,
        "model": "gpt-4o",
        "api_key": KEY,
        "api_key_env": "MY_KEY",
        "timeout_s": 5.0,
    }
    return EndpointSettings(**{**given, **changes})


@pytest.fixture
async def chat(endpoint, waits):
    model = OpenAIChatModel(settings(endpoint), EndpointClient(sleep=waits, jitter=lambda: 0.0))
    yield model
    await model.aclose()


@pytest.fixture
async def embedder(endpoint, waits):
    model = OpenAIEmbedder(settings(endpoint), EndpointClient(sleep=waits, jitter=lambda: 0.0))
    yield model
    await model.aclose()


async def collected(stream):
    return [piece async for piece in stream]


async def text_until_failure(stream):
    arrived = []

    async def read():
        async for piece in stream:
            arrived.append(piece.text)  # noqa: PERF401 - what came before the failure counts

    with pytest.raises(ModelFailed) as failed:
        await read()
    return "".join(arrived), str(failed.value)


# Answers


async def test_a_whole_answer_comes_with_its_usage(endpoint, chat):
    answer = await chat.complete(ASK)
    assert answer.text == "You said: Hi there"
    assert answer.usage == Usage(prompt_tokens=7, completion_tokens=3)
    request = endpoint.chat_requests[0]
    assert request.body == {"model": "gpt-4o", "messages": ASK}
    assert request.key == KEY


async def test_a_streamed_answer_comes_in_pieces_and_its_usage_last(endpoint, chat):
    endpoint.reply_with("one two three")
    pieces = await collected(chat.stream(ASK))
    assert [piece.text for piece in pieces] == ["one", " two", " three", ""]
    assert pieces[-1] == AnswerPiece(usage=Usage(prompt_tokens=7, completion_tokens=3))


@pytest.mark.parametrize("reason", ["length", "content_filter", "stop"])
async def test_an_answer_that_was_ended_says_by_what(endpoint, chat, reason):
    endpoint.reply_with(*[Reply(pieces=("one ", "two"), finish_reason=reason)] * 2)
    pieces = await collected(chat.stream(ASK))
    whole = await chat.complete(ASK)
    is_cut_off = reason == "length"
    assert any(piece.is_cut_off for piece in pieces) is whole.is_cut_off is is_cut_off
    is_filtered = reason == "content_filter"
    assert any(piece.is_filtered for piece in pieces) is whole.is_filtered is is_filtered


@pytest.mark.parametrize("streamed", [True, False])
async def test_tool_calls_arrive_whole(endpoint, chat, streamed):
    tools = [{"type": "function", "function": {"name": "look", "parameters": {}}}]
    endpoint.reply_with(
        Reply(tool_calls=(("c1", "look", '{"at": "the sky"}'), ("c2", "listen", "{}")))
    )
    if streamed:
        calls = (await collected(chat.stream(ASK, tools=tools)))[-1].tool_calls
    else:
        calls = (await chat.complete(ASK, tools=tools)).tool_calls
    assert calls == (
        ToolCall(id="c1", name="look", arguments='{"at": "the sky"}'),
        ToolCall(id="c2", name="listen", arguments="{}"),
    )
    assert endpoint.chat_requests[0].body["tools"] == tools


async def test_a_json_reply_is_asked_for_as_an_object(endpoint, chat):
    endpoint.reply_with('{"topics": []}')
    assert (await chat.complete(ASK, json_reply=True)).text == '{"topics": []}'
    assert endpoint.chat_requests[0].body["response_format"] == {"type": "json_object"}


SCHEMA = {"type": "object", "properties": {"1": {"type": "string"}}, "required": ["1"]}


async def test_a_json_reply_is_asked_for_by_its_schema(endpoint, chat):
    endpoint.reply_with('{"1": "Bread"}')
    assert (await chat.complete(ASK, json_reply=SCHEMA)).text == '{"1": "Bread"}'
    assert endpoint.chat_requests[0].body["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "reply", "strict": True, "schema": SCHEMA},
    }


async def test_only_a_json_reply_is_asked_for_in_the_likeliest_words(endpoint, chat):
    endpoint.reply_with("{}", "Good day")
    await chat.complete(ASK, json_reply=True)
    await chat.complete(ASK)
    assert [r.body.get("temperature") for r in endpoint.chat_requests] == [0, None]


@pytest.mark.parametrize(
    ("refusals", "kinds"),
    [
        (["response_format of type json_schema is not supported"], ["json_schema", "json_object"]),
        (["Failed to parse grammar", "no json mode"], ["json_schema", "json_object", None]),
    ],
)
async def test_a_server_without_schemas_is_asked_for_any_object_and_then_for_text(
    endpoint, chat, refusals, kinds
):
    endpoint.reply_with(*(failure(400, words) for words in refusals), "{}", "{}")
    await chat.complete(ASK, json_reply=SCHEMA)
    await chat.complete(ASK, json_reply=SCHEMA)
    asked = [request.body.get("response_format") for request in endpoint.chat_requests]
    assert [form and form["type"] for form in asked] == [*kinds, kinds[-1]]


async def test_a_json_reply_is_complete_when_it_closes_whatever_follows(endpoint, chat):
    endpoint.reply_with(
        Reply(pieces=('{"1": "Bread"}', " and"), gate=threading.Event(), hold_after=1)
    )
    assert (await chat.complete(ASK, json_reply=True)).text == '{"1": "Bread"}'
    await asyncio.to_thread(endpoint.wait_for_hang_up)


async def test_a_local_server_without_a_key_gets_a_placeholder(endpoint):
    model = OpenAIChatModel(settings(endpoint, api_key=None))
    await model.complete(ASK)
    await model.aclose()
    assert endpoint.chat_requests[0].key == "not-needed"


async def test_halves_of_characters_are_replaced_before_they_are_sent(endpoint, chat):
    await chat.complete([{"role": "user", "content": [{"type": "text", "text": "a\ud83db"}]}])
    assert endpoint.chat_requests[0].messages[0]["content"][0]["text"] == "a\ufffdb"


async def test_a_server_that_ignores_streaming_is_understood_all_the_same(endpoint, chat):
    body = b'{"choices": [{"message": {"content": "all at once"}, "finish_reason": "stop"}]}'
    endpoint.reply_with(nonsense(body, "application/json"))
    assert [piece.text for piece in await collected(chat.stream(ASK))] == ["all at once"]


async def test_an_answer_without_done_is_whole_when_its_end_was_announced(endpoint, chat):
    endpoint.reply_with(Reply(text="fine", sends_done=False, usage=None))
    assert [piece.text for piece in await collected(chat.stream(ASK))] == ["fine"]


async def test_an_answer_without_a_finish_reason_is_whole_when_it_ends_with_done(endpoint, chat):
    endpoint.reply_with(Reply(text="fine", finish_reason=None, usage=None))
    assert [piece.text for piece in await collected(chat.stream(ASK))] == ["fine"]


# Retries


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 529])
async def test_a_transient_refusal_is_asked_again_at_most_twice(endpoint, chat, waits, status):
    endpoint.reply_with(*[failure(status)] * 5)
    with pytest.raises(ModelFailed) as failed:
        await chat.complete(ASK)
    assert failed.value.status == status
    assert len(endpoint.chat_requests) == 3
    assert waits == [0.5, 1.0]


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 422])
@pytest.mark.parametrize("streamed", [True, False])
async def test_a_final_refusal_is_not_asked_again(endpoint, chat, waits, status, streamed):
    endpoint.reply_with(failure(status, "no such luck"))
    with pytest.raises(ModelFailed, match=f"status {status}: no such luck") as failed:
        await (collected(chat.stream(ASK)) if streamed else chat.complete(ASK))
    assert failed.value.status == status
    assert len(endpoint.chat_requests) == 1
    assert waits == []


async def test_a_stream_is_begun_again_after_a_transient_refusal(endpoint, chat):
    endpoint.reply_with(failure(503), failure(429), "fine")
    assert (await collected(chat.stream(ASK)))[0].text == "fine"


async def test_no_retries_means_one_request(endpoint, waits):
    endpoint.reply_with(failure(500))
    model = OpenAIChatModel(settings(endpoint, max_retries=0), EndpointClient(sleep=waits))
    with pytest.raises(ModelFailed):
        await model.complete(ASK)
    await model.aclose()
    await asyncio.to_thread(endpoint.wait_for_requests, 1)
    assert len(endpoint.chat_requests) == 1


async def test_retry_after_is_honoured_to_the_second(endpoint, chat, waits):
    endpoint.reply_with(failure(429, retry_after="7"), "fine")
    assert (await chat.complete(ASK)).text == "fine"
    assert waits == [7.0]


async def test_an_endpoint_that_asks_for_an_hour_is_not_asked_again(endpoint, chat, waits):
    endpoint.reply_with(failure(429, retry_after="3600"))
    with pytest.raises(ModelFailed, match="Wait 3600 s, then try again"):
        await chat.complete(ASK)
    assert waits == []


async def test_a_connection_that_breaks_before_the_answer_is_made_again(endpoint, chat, waits):
    broken = Reply(body=b"{", headers={"Content-Length": "50", "Connection": "close"})
    endpoint.reply_with(broken, "fine")
    assert (await chat.complete(ASK)).text == "fine"
    assert waits == [0.5]


async def test_a_server_that_is_not_there_is_named_with_a_hint(waits):
    with FakeOpenAI() as gone:
        url = gone.base_url
    model = OpenAIChatModel(
        EndpointSettings(base_url=url, model="llama3"), EndpointClient(sleep=waits)
    )
    with pytest.raises(ModelFailed) as failed:
        await model.complete(ASK)
    await model.aclose()
    assert f"chat model llama3 at {url} can't be reached" in str(failed.value)
    assert "Is the server running?" in str(failed.value)
    assert len(waits) == 2


@pytest.mark.parametrize(
    ("field", "words"),
    [
        pytest.param("response_format", "Unknown parameter: response_format", id="by its name"),
        pytest.param("response_format", "json_object is not supported", id="by its value"),
        pytest.param(
            "temperature",
            "Unsupported value: 'temperature' does not support 0 with this model. Only the default "
            "(1) value is supported.",
            id="that takes one value alone",
        ),
    ],
)
async def test_a_field_that_the_endpoint_does_not_know_is_left_out_from_then_on(
    endpoint, chat, field, words
):
    endpoint.reply_with(failure(400, words), "{}", "{}")
    await chat.complete(ASK, json_reply=True)
    await chat.complete(ASK, json_reply=True)
    assert [field in request.body for request in endpoint.chat_requests] == [True, False, False]


async def test_a_server_without_stream_options_still_streams(endpoint, chat):
    endpoint.unknown_fields = {"stream_options"}
    pieces = await collected(chat.stream(ASK))
    assert "".join(piece.text for piece in pieces) == "You said: Hi there"
    assert pieces[-1].usage is None


# Bad days in mid-answer


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(cut("one two three", after=2), id="the connection breaks"),
        pytest.param(
            Reply(text="one two three", cut_after=2, ends_quietly=True, sends_done=False),
            id="the answer just stops",
        ),
    ],
)
async def test_a_cut_stream_fails_after_the_pieces_that_arrived(endpoint, chat, waits, reply):
    endpoint.reply_with(reply)
    text, message = await text_until_failure(chat.stream(ASK))
    assert text == "one two"
    assert "broke off" in message
    assert waits == []


async def test_an_error_in_mid_stream_is_passed_on_in_the_vendors_words(endpoint, chat):
    events = (
        b'data: {"choices": [{"delta": {"content": "one"}}]}\n\n'
        b'data: {"error": {"message": "the model fell over"}}\n\n'
    )
    endpoint.reply_with(nonsense(events, "text/event-stream"))
    text, message = await text_until_failure(chat.stream(ASK))
    assert text == "one"
    assert "the model fell over" in message


async def test_a_slow_first_byte_runs_into_the_timeout_and_is_not_asked_again(endpoint, waits):
    endpoint.reply_with(held("late", threading.Event()))
    impatient = settings(endpoint, timeout_s=0.1, patience=5)
    model = OpenAIChatModel(impatient, EndpointClient(sleep=waits))
    with pytest.raises(ModelFailed, match=r"did not answer within 0\.5 s.*raise timeout_s"):
        await collected(model.stream(ASK))
    await model.aclose()
    assert len(endpoint.chat_requests) == 1


async def test_a_stream_that_falls_silent_runs_into_the_timeout(endpoint, waits):
    endpoint.reply_with(held("one two", threading.Event(), after=1))
    model = OpenAIChatModel(settings(endpoint, timeout_s=0.5), EndpointClient(sleep=waits))
    text, message = await text_until_failure(model.stream(ASK))
    await model.aclose()
    assert text == "one"
    assert "0.5 s" in message


async def test_closing_a_stream_hangs_up(endpoint, chat):
    endpoint.reply_with(held("one two", threading.Event(), after=1))
    async with aclosing(chat.stream(ASK)) as stream:
        assert (await anext(stream)).text == "one"
    await asyncio.to_thread(endpoint.wait_for_hang_up)


async def test_cancelling_the_reader_hangs_up(endpoint, chat):
    endpoint.reply_with(held("one two", threading.Event()))
    reader = asyncio.create_task(collected(chat.stream(ASK)))
    await asyncio.to_thread(endpoint.wait_for_requests, 1)
    reader.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reader
    await asyncio.to_thread(endpoint.wait_for_hang_up)


async def test_a_cancelled_reader_has_all_that_came_even_what_might_begin_the_key(endpoint, chat):
    said = f"One {KEY[:2]}"
    endpoint.reply_with(Reply(pieces=(said, "y"), gate=threading.Event(), hold_after=1))
    heard, begun = [], asyncio.Event()

    async def read():
        async for piece in chat.stream(ASK):
            heard.append(piece.text)
            begun.set()

    reader = asyncio.create_task(read())
    async with asyncio.timeout(PATIENCE_S):
        await begun.wait()
    assert "".join(heard) != said
    reader.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reader
    assert "".join(heard) == said


async def test_cancelling_a_whole_answer_hangs_up(endpoint, chat):
    endpoint.reply_with(held("late", threading.Event()))
    asked = asyncio.create_task(chat.complete(ASK))
    await asyncio.to_thread(endpoint.wait_for_requests, 1)
    asked.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asked
    await asyncio.to_thread(endpoint.wait_for_hang_up)


@pytest.mark.parametrize("streamed", [True, False])
@pytest.mark.parametrize(
    ("reply", "shown"),
    [
        pytest.param(nonsense(), "It works!", id="a web page"),
        pytest.param(nonsense(b"\xff\xfe\x00"), "", id="not text"),
        pytest.param(nonsense(b"", "application/json"), "", id="nothing"),
        pytest.param(nonsense(b"[]", "application/json"), "[]", id="another JSON"),
        pytest.param(nonsense(b'{"choices": []}', "application/json"), "choices", id="no choice"),
    ],
)
async def test_nonsense_is_shown_and_not_asked_again(endpoint, chat, reply, shown, streamed):
    endpoint.reply_with(reply)
    with pytest.raises(ModelFailed, match="does not follow the OpenAI API") as failed:
        await (collected(chat.stream(ASK)) if streamed else chat.complete(ASK))
    assert shown in str(failed.value)
    assert "/v1" in str(failed.value)
    assert len(endpoint.chat_requests) == 1


# What people are told


@pytest.mark.parametrize(
    ("reply", "hint"),
    [
        pytest.param(failure(401), "environment variable MY_KEY", id="401 names the variable"),
        pytest.param(failure(403), "may use this model", id="403"),
        pytest.param(failure(404), "Check the model's name", id="404"),
        pytest.param(failure(429), "too many requests", id="429"),
        pytest.param(failure(500), "itself has a problem", id="500"),
        pytest.param(
            failure(400, "This model's maximum context length is 8192 tokens"),
            "Pick a topic",
            id="a prompt that is too long",
        ),
    ],
)
async def test_an_error_says_which_model_where_and_what_to_do(endpoint, chat, reply, hint):
    endpoint.reply_with(*[reply] * 3)
    with pytest.raises(ModelFailed) as failed:
        await chat.complete(ASK)
    said = str(failed.value)
    assert f"The chat model gpt-4o at {endpoint.base_url}" in said
    assert hint in said


async def test_a_vendor_that_echoes_the_key_does_not_make_us_show_it(endpoint, waits, caplog):
    caplog.set_level(logging.INFO)
    endpoint.reply_with(failure(500, f"bad {KEY} " + "x" * 5_000), failure(401, f"bad key {KEY}"))
    model = OpenAIChatModel(settings(endpoint), EndpointClient(sleep=waits))
    with pytest.raises(ModelFailed) as failed:
        await model.complete(ASK)
    await model.aclose()
    assert "bad key [key]" in str(failed.value)
    assert KEY not in caplog.text + repr(model) + repr(failed.value)
    assert failed.value.__cause__ is None


async def test_a_key_with_a_line_break_is_refused_before_it_is_sent(endpoint, waits):
    model = OpenAIChatModel(settings(endpoint, api_key=f"{KEY}\n"), EndpointClient(sleep=waits))
    with pytest.raises(ModelFailed, match="environment variable MY_KEY") as failed:
        await model.complete(ASK)
    assert KEY not in str(failed.value)
    assert endpoint.requests == []


async def test_a_password_in_the_address_is_not_shown(waits):
    url = "http://me:hunter2@127.0.0.1:1/v1"
    model = OpenAIChatModel(EndpointSettings(base_url=url, model="m"), EndpointClient(sleep=waits))
    with pytest.raises(ModelFailed) as failed:
        await model.complete(ASK)
    await model.aclose()
    assert "hunter2" not in str(failed.value)
    assert "hunter2" not in OpenAIEmbedder(EndpointSettings(base_url=url, model="m")).name


@pytest.mark.parametrize("url", ["", "ftp://x/v1", "http://[x/v1", "http://a b/", "http://x:99999"])
async def test_an_address_that_is_none_is_an_error_not_a_traceback(url, waits):
    model = OpenAIChatModel(
        EndpointSettings(base_url=url, model="m", max_retries=0), EndpointClient(sleep=waits)
    )
    with pytest.raises(ModelFailed, match="base_url is not a web address"):
        await model.complete(ASK)


# Embeddings


async def test_embeddings_are_unit_rows_in_the_order_of_the_texts(endpoint, embedder):
    rows = await embedder.embed(["red roses", "engine oil", "red tulips"])
    assert rows.dtype == np.float32
    assert rows.shape == (3, endpoint.dimension)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-6)
    assert rows[0] @ rows[2] > rows[0] @ rows[1]


async def test_plain_lists_of_numbers_are_understood_too(endpoint, embedder):
    body = b'{"data": [{"embedding": [0, 2], "index": 1}, {"embedding": [3, 0], "index": 0}]}'
    endpoint.reply_with(nonsense(body, "application/json"), path=EMBEDDINGS)
    assert (await embedder.embed(["a", "b"])).tolist() == [[1, 0], [0, 1]]


async def test_a_server_without_base64_is_asked_for_plain_numbers_from_then_on(endpoint, embedder):
    endpoint.reply_with(failure(400, "base64 is not supported"), path=EMBEDDINGS)
    assert (await embedder.embed(["a"])).shape == (1, 64)
    assert (await embedder.embed(["a"])).shape == (1, 64)
    encodings = [request.body["encoding_format"] for request in endpoint.embedding_requests]
    assert encodings == ["base64", "float", "float"]


async def test_a_server_that_refuses_an_encoding_of_any_kind_is_not_asked_for_ever(
    endpoint, embedder
):
    endpoint.unknown_fields = {"encoding_format"}
    with pytest.raises(ModelFailed):
        await embedder.embed(["a"])
    assert len(endpoint.embedding_requests) == 2


async def test_blank_texts_are_not_sent_and_give_zero_rows(endpoint, embedder):
    rows = await embedder.embed(["", "word", " \n"])
    assert endpoint.embedding_requests[0].body["input"] == ["word"]
    assert [row.any() for row in rows] == [False, True, False]


async def test_nothing_to_embed_asks_nobody(endpoint, embedder):
    assert (await embedder.embed([])).shape[0] == 0
    assert (await embedder.embed([" "])).shape[0] == 1
    assert endpoint.requests == []


async def test_many_texts_go_in_batches(endpoint, embedder):
    rows = await embedder.embed([f"text {number}" for number in range(300)])
    assert rows.shape == (300, 64)
    assert [len(r.body["input"]) for r in endpoint.embedding_requests] == [128, 128, 44]


async def test_long_texts_go_in_smaller_batches_and_only_as_far_as_a_model_reads(
    endpoint, embedder
):
    await embedder.embed(["x" * 90_000] * 28 + ["语" * 90_000])
    first, second = (request.body["input"] for request in endpoint.embedding_requests)
    assert [len(text) for text in first] == [7_200] * 27
    assert [len(text) for text in second] == [7_200, 1_028]


async def test_an_endpoint_with_a_short_window_gets_short_texts_from_then_on(endpoint, embedder):
    endpoint.reply_with(failure(400, "input exceeds the context length of 512"), path=EMBEDDINGS)
    await embedder.embed(["x" * 9_000])
    await embedder.embed(["x" * 9_000])
    sent = [len(request.body["input"][0]) for request in endpoint.embedding_requests]
    assert sent == [7_200, 1_600, 1_600]


@pytest.mark.parametrize(
    ("vectors", "found"),
    [
        pytest.param([[1.0]], "expected 2 embeddings, found 1", id="too few"),
        pytest.param([[1.0], [1.0, 2.0]], r"found lengths \[1, 2\]", id="of two lengths"),
        pytest.param([[], []], r"found lengths \[0\]", id="of no length"),
        pytest.param([[1.0], [math.nan]], "found NaN", id="not a number"),
    ],
)
async def test_vectors_that_can_t_be_used_say_what_was_found(endpoint, embedder, vectors, found):
    endpoint.reply_with(Reply(vectors=vectors), path=EMBEDDINGS)
    with pytest.raises(ModelFailed, match=f"embedding model gpt-4o.*{found}"):
        await embedder.embed(["a", "b"])


async def test_a_dimension_that_changes_between_batches_is_an_error(endpoint, embedder):
    endpoint.reply_with(Reply(vectors=[[1.0, 0.0]] * 128), Reply(vectors=[[1.0]]), path=EMBEDDINGS)
    with pytest.raises(ModelFailed, match="of one length"):
        await embedder.embed(["a"] * 129)


async def test_the_same_model_elsewhere_has_another_name():
    names = {
        OpenAIEmbedder(EndpointSettings(base_url=url, model="nomic")).name
        for url in ("http://a/v1", "http://b/v1")
    }
    assert names == {"http://a/v1|nomic", "http://b/v1|nomic"}


async def test_an_object_without_an_end_is_cut_off(chat, endpoint):
    endpoint.reply_with(Reply(pieces=('{"a": "', *["again "] * 9_999)))
    reply = await chat.complete(ASK, json_reply=True, most_characters=600)
    assert reply.is_cut_off
    assert 600 < len(reply.text) < 60_000

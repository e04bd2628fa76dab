"""The fake endpoint keeps its own promises, as the official client sees them."""

import socket
import threading

import openai
import pytest

from smart_context.chat.messages import Message
from smart_context.topics.prompting.prompt import extraction_prompt
from tests.fake_openai import EMBEDDINGS, FOR_TOPICS, FakeOpenAI, Reply, cut, failure, held

ASK = {"model": "gpt-4o", "messages": [{"role": "user", "content": "Hi there"}]}


@pytest.fixture
def endpoint():
    with FakeOpenAI() as running:
        yield running


@pytest.fixture
def client(endpoint):
    with openai.OpenAI(base_url=endpoint.base_url, api_key="secret", max_retries=0) as made:
        yield made


def test_an_unscripted_request_is_echoed_and_recorded(endpoint, client):
    answer = client.chat.completions.create(**ASK)
    assert answer.choices[0].message.content == "You said: Hi there"
    assert endpoint.chat_requests[0].messages == ASK["messages"]
    assert endpoint.chat_requests[0].key == "secret"


def test_a_request_whose_client_ends_in_the_midst_of_it_is_none(endpoint, client):
    with socket.create_connection(("127.0.0.1", endpoint.port)) as ended:
        ended.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: 9\r\n\r\n{")
        ended.shutdown(socket.SHUT_WR)
        assert ended.recv(1) == b""
    client.chat.completions.create(**ASK)
    assert [request.messages for request in endpoint.chat_requests] == [ASK["messages"]]


def test_a_stream_brings_the_text_in_pieces_and_then_the_usage(endpoint, client):
    endpoint.reply_with("one two three")
    events = list(
        client.chat.completions.create(**ASK, stream=True, stream_options={"include_usage": True})
    )
    pieces = [event.choices[0].delta.content for event in events if event.choices]
    assert pieces == ["one", " two", " three", None]
    assert events[-1].usage.prompt_tokens == 7


def test_tool_calls_are_streamed_in_fragments(endpoint, client):
    endpoint.reply_with(Reply(tool_calls=(("c1", "look", '{"at": "the sky"}'),)))
    calls = [
        call
        for event in client.chat.completions.create(**ASK, stream=True)
        for call in event.choices[0].delta.tool_calls or ()
    ]
    assert calls[0].function.name == "look"
    assert "".join(call.function.arguments for call in calls) == '{"at": "the sky"}'


def test_the_script_is_played_once_in_order(endpoint, client):
    endpoint.reply_with(failure(429, "slow down", retry_after="3"), "fine")
    with pytest.raises(openai.RateLimitError) as refused:
        client.chat.completions.create(**ASK)
    assert refused.value.response.headers["Retry-After"] == "3"
    assert client.chat.completions.create(**ASK).choices[0].message.content == "fine"
    assert client.chat.completions.create(**ASK).choices[0].message.content.startswith("You said")


def test_topics_have_a_script_of_their_own(endpoint, client):
    said = Message.from_dict(ASK["messages"][0])
    sort = {**ASK, "messages": extraction_prompt([said], max_tokens=10_000).messages}
    endpoint.reply_with("an answer")
    endpoint.reply_with("topics", path=FOR_TOPICS)
    replies = [client.chat.completions.create(**each) for each in (sort, ASK)]
    assert [reply.choices[0].message.content for reply in replies] == ["topics", "an answer"]
    assert [request.messages for request in endpoint.chat_requests] == [ASK["messages"]]
    assert len(endpoint.topics_requests) == 1


def test_a_cut_stream_breaks_after_its_pieces(endpoint, client):
    endpoint.reply_with(cut("one two three", after=2))
    pieces = []
    with pytest.raises(openai.APIError):
        pieces.extend(
            event.choices[0].delta.content
            for event in client.chat.completions.create(**ASK, stream=True)
        )
    assert len(pieces) <= 2


def test_a_held_answer_notices_that_the_client_left(endpoint, client):
    gate = threading.Event()
    endpoint.reply_with(held("one two", gate, after=1))
    stream = client.chat.completions.create(**ASK, stream=True)
    assert next(iter(stream)).choices[0].delta.content == "one"
    stream.close()
    endpoint.wait_for_hang_up()
    assert not gate.is_set()


def test_a_held_answer_goes_on_when_its_gate_opens(endpoint, client):
    gate = threading.Event()
    endpoint.reply_with(held("one two", gate, after=1))
    stream = iter(client.chat.completions.create(**ASK, stream=True))
    first = next(stream).choices[0].delta.content
    gate.set()
    assert first + next(stream).choices[0].delta.content == "one two"


def test_texts_that_share_words_are_embedded_alike_in_both_encodings(endpoint, client):
    texts = ["red roses", "red tulips", "engine oil"]
    as_floats, as_base64 = (
        [
            row.embedding
            for row in client.embeddings.create(
                model="e", input=texts, **({"encoding_format": "float"} if plain else {})
            ).data
        ]
        for plain in (True, False)
    )
    assert as_floats == as_base64
    rose, tulip, oil = as_floats
    assert sum(a * b for a, b in zip(rose, tulip, strict=True)) > sum(
        a * b for a, b in zip(rose, oil, strict=True)
    )


def test_scripted_vectors_are_sent_as_they_are(endpoint, client):
    endpoint.reply_with(Reply(vectors=[[1.0, 2.0]]), path=EMBEDDINGS)
    rows = client.embeddings.create(model="e", input=["a"], encoding_format="float").data
    assert rows[0].embedding == [1.0, 2.0]


def test_models_are_listed(client):
    assert "gpt-4o" in [model.id for model in client.models.list()]

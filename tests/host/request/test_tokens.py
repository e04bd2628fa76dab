"""What a request costs: counted here by characters, one token each."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smart_context.chat.messages import Message, MessageId
from smart_context.host.request.tokens import (
    PER_CALL,
    PER_IMAGE,
    PER_MESSAGE,
    message_tokens,
    prompt_tokens,
    system_tokens,
    texts_of,
    tokens_by_message,
)

IMAGE = {"type": "image_url", "image_url": {"url": "data:…"}}
CALL = {"id": "c", "type": "function", "function": {"name": "look", "arguments": "{}"}}


def text(said):
    return {"type": "text", "text": said}


@pytest.mark.parametrize(
    ("prompt", "tokens"),
    [
        pytest.param([], 0, id="nothing"),
        pytest.param([{"content": "four"}, {"content": "x"}], 5 + 2 * PER_MESSAGE, id="texts"),
        pytest.param(
            [{"content": [text("ab"), IMAGE, text("c"), IMAGE]}],
            3 + 2 * PER_IMAGE + PER_MESSAGE,
            id="images",
        ),
        pytest.param(
            [{"content": "", "tool_calls": [CALL, CALL]}],
            2 * len("look{}") + 2 * PER_CALL + PER_MESSAGE,
            id="calls",
        ),
        pytest.param([{"content": [text("a"), {}]}], 1 + PER_MESSAGE, id="a part without a type"),
    ],
)
def test_a_request_costs_its_texts_and_what_is_around_them(prompt, tokens):
    assert prompt_tokens(prompt, len) == tokens


@pytest.mark.parametrize(
    ("content", "tokens"),
    [
        ("four", 4 + PER_MESSAGE),
        ((text("four"),), 4 + PER_CALL + 2 * PER_MESSAGE),
        ((), PER_MESSAGE),
        (
            (
                text("a"),
                {"type": "tool_call", "tool_name": "look", "args": "{}", "result": "found"},
            ),
            len("a\nlook\n{}\nfound") + 2 * PER_CALL + 3 * PER_MESSAGE,
        ),
    ],
)
def test_a_stored_message_costs_its_text_and_each_of_its_parts(content, tokens):
    message = Message(id=MessageId("m"), role="assistant", content=content)
    assert message_tokens(message, len) == tokens


@pytest.mark.parametrize(
    ("message", "texts"),
    [
        ({"content": "Hi"}, ["Hi"]),
        ({"content": None}, []),
        ({}, []),
        ({"content": [text("a"), IMAGE, "no part", {"text": 5}, text("b")]}, ["a", "b"]),
        ({"content": "Hi", "tool_calls": [CALL]}, ["Hi", "look", "{}"]),
        ({"tool_calls": [{"id": "c"}, {"function": {"name": 5, "arguments": "x"}}]}, ["x"]),
        ({"tool_calls": "none"}, []),
        ({"type": "function_call", "name": "look", "arguments": "{}"}, ["{}"]),
        ({"type": "function_call_output", "output": "found"}, ["found"]),
        ({"output": [text("a")]}, []),
    ],
)
def test_the_texts_of_a_message_are_found_whatever_a_client_sends(message, texts):
    assert list(texts_of(message)) == texts


def test_each_message_that_a_page_shows_has_its_tokens():
    prompt = [{"content": "four"}, {"content": [text("ab")], "tool_calls": [CALL]}]
    assert tokens_by_message(prompt, len) == [4, 2 + len("look{}")]
    assert len(tokens_by_message([{"content": "x" * 90_000}] * 9, len)) == 3


@given(
    st.lists(st.text(min_size=1).filter(lambda t: t == t.strip()), min_size=1),
    st.sampled_from([len, lambda t: len(t) // 3 + 1, lambda t: sum(map(ord, t)) % 97]),
)
def test_the_parts_of_a_system_prompt_sum_up_to_it_however_texts_are_counted(parts, count):
    whole = system_tokens("\n\n".join(parts), count)
    assert whole == sum(system_tokens(part, count) for part in parts)


def test_a_blank_part_of_a_system_prompt_costs_nothing():
    assert system_tokens(" \n", len) == 0

"""A client's request within the window of its model."""

import asyncio
import json
from itertools import chain

from hypothesis import given
from hypothesis import strategies as st

from smart_context.gateway.requests.body import read_body
from smart_context.gateway.requests.outgoing import kept_units, last_question, outgoing
from smart_context.gateway.requests.units import chat_units
from smart_context.gateway.turns.fitting import (
    countable,
    tokens_of,
    whole_list,
    within_window,
)
from smart_context.host.request.window import Window
from smart_context.llm.tokens import count_tokens
from tests.gateway.saying import assistant, system, user

CALL = {"type": "function", "function": {"name": "look", "arguments": "{}"}}
WORDS = st.integers(0, 60).map(lambda n: "bread " * n)
SAID = st.one_of(
    WORDS.map(lambda text: [system(text)]),
    WORDS.map(lambda text: [user(text)]),
    WORDS.map(lambda text: [assistant(text)]),
    st.tuples(WORDS, st.integers()).map(
        lambda pair: [
            {"role": "assistant", "content": None, "tool_calls": [{**CALL, "id": str(pair[1])}]},
            {"role": "tool", "tool_call_id": str(pair[1]), "content": pair[0]},
        ]
    ),
)


def within(messages, tokens, **fields):
    """The whole body, and the one that is sent."""
    raw = json.dumps({"model": "m", "messages": messages, **fields})
    body = read_body(raw.encode(), "messages")
    units = list(chat_units(messages))
    request, ids = whole_list(units)

    def made(less):
        kept = kept_units(units, ids, {message.id for message in less.history})
        return outgoing("chat", body, units, kept, brought_back={})

    window = Window(tokens=tokens, model="m", count=count_tokens)
    return made(request), asyncio.run(within_window(request, window, made))[1]


@given(st.lists(SAID), st.integers(256, 800), st.booleans())
def test_what_is_sent_fits_or_is_all_and_keeps_what_always_stays(said, tokens, has_tools):
    messages = [*chain(*said), user("And now?"), assistant("Aye."), user("So?")]
    tools = {"tools": [{"type": "function", "function": {"name": "f" * 200}}]} if has_tools else {}
    whole, sent = within(messages, tokens, **tools)
    room = int(0.9 * tokens)
    is_whole = sent.text == whole.text
    assert is_whole or tokens_of(sent, count_tokens) <= room
    assert is_whole or tokens_of(whole, count_tokens) > room
    values = [*sent.values()]
    assert values[-1] == messages[-1]
    assert [m for m in values if m["role"] == "system"] == [
        m for m in messages if m["role"] == "system"
    ]
    calls = {call["id"] for m in values for call in m.get("tool_calls") or ()}
    assert calls == {m["tool_call_id"] for m in values if m["role"] == "tool"}


def test_what_can_go_in_no_way_goes_with_all_the_rest():
    messages = [user("bread " * 100), assistant("Aye."), user("knead " * 900)]
    whole, sent = within(messages, 300)
    assert sent.text == whole.text
    assert last_question(list(chat_units(messages))) == 2


def test_a_body_with_more_than_texts_is_no_lesson_in_counting():
    shown = {"type": "image_url", "image_url": {"url": "data:,"}}
    tools = [{"type": "function"}]
    plain, _ = within([user("bread")], 300, tools=tools)
    assert countable(plain) == ([user("bread")], '[{"type": "function"}]')
    picture, _ = within([user("bread"), user([{"type": "text", "text": "a"}, shown])], 300)
    assert countable(picture) == ((), "")

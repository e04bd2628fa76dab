"""The order of a request's messages that endpoints demand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smart_context.base.errors import ModelFailed
from smart_context.host.request.speaking_order import SpeakingOrder, in_order, order_wanted

IN_TURN, WITHOUT_SYSTEM = SpeakingOrder.IN_TURN, SpeakingOrder.WITHOUT_SYSTEM
CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}


def said(roles):
    """Messages of these roles: system, user, assistant, call (of a tool), tool."""
    return [one(role, f"{role}{place}") for place, role in enumerate(roles.split())]


def one(role, text):
    if role == "call":
        return {"role": "assistant", "content": None, "tool_calls": [CALL]}
    more = {"tool_call_id": "c"} if role == "tool" else {}
    return {"role": role, "content": text, **more}


def shape(messages):
    return [(message["role"], message["content"]) for message in messages]


@pytest.mark.parametrize(
    ("words", "order"),
    [
        ("Conversation roles must alternate user/assistant/user/assistant/...", IN_TURN),
        ("System message must be at the beginning.", IN_TURN),
        ("Unexpected role 'user' after role 'tool'", IN_TURN),
        ('found multiple "user" roles in a row', IN_TURN),
        ("After the optional system message, conversation roles must alternate", IN_TURN),
        (
            (
                "Only user and assistant roles are supported, with the exception of an initial "
                "optional system message!"
            ),
            IN_TURN,
        ),
        ("Only user and assistant roles are supported!", WITHOUT_SYSTEM),
        ("System role not supported", WITHOUT_SYSTEM),
        ("This model does not support tools", SpeakingOrder.ANY),
    ],
)
@pytest.mark.parametrize("status", [400, 500])
def test_the_order_is_read_from_what_the_endpoint_says(words, order, status):
    assert order_wanted(ModelFailed(words, status=status)) == order
    assert order_wanted(ModelFailed(words, status=401)) == SpeakingOrder.ANY


@pytest.mark.parametrize(
    ("roles", "order", "sent"),
    [
        pytest.param(
            "system user user assistant user",
            IN_TURN,
            [
                ("system", "system0"),
                ("user", "user1\n\nuser2"),
                ("assistant", "assistant3"),
                ("user", "user4"),
            ],
            id="two questions in a row",
        ),
        pytest.param(
            "assistant user",
            IN_TURN,
            [("user", "(You begin.)"), ("assistant", "assistant0"), ("user", "user1")],
            id="a chat that the model begins",
        ),
        pytest.param(
            "system user assistant system user",
            IN_TURN,
            [
                ("system", "system0"),
                ("user", "user1"),
                ("assistant", "assistant2"),
                ("user", "system3\n\nuser4"),
            ],
            id="a system message in the middle",
        ),
        pytest.param(
            "system user", WITHOUT_SYSTEM, [("user", "system0\n\nuser1")], id="no system message"
        ),
        pytest.param(
            "user call tool user",
            IN_TURN,
            [
                ("user", "user0"),
                ("assistant", None),
                ("tool", "tool2"),
                ("assistant", "(There was no answer.)"),
                ("user", "user3"),
            ],
            id="a result that nobody answered",
        ),
        pytest.param(
            "user assistant call tool call tool",
            IN_TURN,
            [
                ("user", "user0"),
                ("assistant", "assistant1"),
                ("tool", "tool3"),
                ("assistant", None),
                ("tool", "tool5"),
            ],
            id="rounds of calls",
        ),
    ],
)
def test_messages_are_joined_where_a_template_wants_turns(roles, order, sent):
    assert shape(in_order(said(roles), order)) == sent


def test_images_stay_in_a_joined_message():
    image = {"type": "image_url", "image_url": {"url": "data:,"}}
    shown = {"role": "user", "content": [{"type": "text", "text": "a"}, image]}
    (joined,) = in_order([shown, one("user", "b")], IN_TURN)
    assert joined["content"] == [*shown["content"], {"type": "text", "text": "b"}]


def test_texts_in_parts_are_parted_by_a_blank_line_too():
    parts = [{"type": "input_text", "text": "a"}]
    answer = {"type": "output_text", "text": "c", "annotations": []}
    items = [
        {"type": "message", "role": "user", "content": parts, "id": "m1"},
        one("user", "b"),
        {"type": "message", "role": "assistant", "content": [answer], "id": "m2"},
        one("assistant", "d"),
    ]
    assert in_order(items, IN_TURN) == (
        {"type": "message", "role": "user", "content": "a\n\nb"},
        {"type": "message", "role": "assistant", "content": "c\n\nd"},
    )


def test_items_without_a_role_stay_between_those_that_speak():
    thought, call = {"type": "reasoning"}, {"type": "function_call", "call_id": "c"}
    result = {"type": "function_call_output", "call_id": "c", "output": "d"}
    image = {"type": "input_image", "image_url": "data:,"}
    items = [one("user", "a"), thought, call, result, one("user", "b"), one("user", [image])]
    no_answer = one("assistant", "(There was no answer.)")
    joined = one("user", [{"type": "input_text", "text": "b"}, image])
    assert in_order(items, IN_TURN) == (*items[:4], no_answer, joined)


@given(
    st.lists(st.sampled_from(["system", "user", "assistant", "call tool"])),
    st.sampled_from([IN_TURN, WITHOUT_SYSTEM]),
)
def test_whatever_is_sent_ends_up_in_turn_and_no_text_is_lost(roles, order):
    messages = said(" ".join([*roles, "user"]))
    sent = in_order(messages, order)
    speakers = [m["role"] for m in sent if m["role"] != "tool" and not m.get("tool_calls")]
    speakers = speakers[speakers[:1] == ["system"] and order == IN_TURN :]
    assert all(role == ("user", "assistant")[n % 2] for n, role in enumerate(speakers))
    text = "\n".join(str(message["content"]) for message in sent)
    assert all(message["content"] is None or message["content"] in text for message in messages)
    assert in_order(sent, order) == sent

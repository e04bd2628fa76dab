"""The messages of a request."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smart_context.chat.messages import Message, MessageId
from smart_context.host.request.prompt import prompt_messages


def said(role, content, **extra):
    content = content if isinstance(content, str) else tuple(content)
    return Message(id=MessageId("i"), role=role, content=content, extra=extra, created_at="t")


def call(call_id, state="result", **more):
    return {
        "type": "tool_call",
        "state": state,
        "tool_call_id": call_id,
        "tool_name": "read",
        "args": {"path": "a.md"},
        **more,
    }


def text(words):
    return {"type": "text", "text": words}


CALLED = {
    "id": "1",
    "type": "function",
    "function": {"name": "read", "arguments": '{"path": "a.md"}'},
}


def test_system_prompt_history_then_the_message_with_no_other_keys():
    history = [said("user", "hi"), said("assistant", "hello", model="m")]
    assert prompt_messages("Be brief.", history, "and now?") == (
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": "hello"},
        {"role": "user", "content": "and now?"},
    )


@pytest.mark.parametrize(
    ("history", "expected"),
    [
        pytest.param([said("user", " ")], [], id="a blank message stays out"),
        pytest.param(
            [said("assistant", [{"type": "reasoning", "text": "hm"}, text("yes")])],
            [{"role": "assistant", "content": "yes"}],
            id="reasoning stays out",
        ),
        pytest.param(
            [said("assistant", [{"type": "info", "text": "stopped"}])], [], id="notices stay out"
        ),
        pytest.param(
            [said("assistant", [call("1", tool_name="web.run", args="look", result="a")])],
            [
                {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [
                        {
                            **CALLED,
                            "function": {"name": "web_run", "arguments": '{"input": "look"}'},
                        }
                    ],
                },
                {"role": "tool", "tool_call_id": "1", "content": "a"},
            ],
            id="calls of other programs are named and given as the API takes them",
        ),
        pytest.param(
            [said("user", [text("see"), {"type": "image", "storage_key": "k"}])],
            [{"role": "user", "content": "see"}],
            id="images stay out",
        ),
        pytest.param(
            [said("assistant", [text("a"), call("1", result={"n": 1}), text("b")])],
            [
                {"role": "assistant", "content": "a", "tool_calls": [CALLED]},
                {"role": "tool", "tool_call_id": "1", "content": '{"n": 1}'},
                {"role": "assistant", "content": "b"},
            ],
            id="a call is followed by its result, then by what was said after it",
        ),
        pytest.param(
            [said("assistant", [call("1", "error", result="no such file")])],
            [
                {"role": "assistant", "content": None, "tool_calls": [CALLED]},
                {"role": "tool", "tool_call_id": "1", "content": "no such file"},
            ],
            id="a failed call has a result too",
        ),
        pytest.param(
            [said("assistant", [text("a"), call("1", "call")])],
            [{"role": "assistant", "content": "a"}],
            id="a call without a result stays out",
        ),
        pytest.param(
            [
                said("assistant", [text("a"), call("1", "call")]),
                said("tool", "the text", tool_call_id="1"),
            ],
            [
                {"role": "assistant", "content": "a", "tool_calls": [CALLED]},
                {"role": "tool", "tool_call_id": "1", "content": "the text"},
            ],
            id="a result in a tool message follows its call",
        ),
        pytest.param(
            [
                said("assistant", [call("1", "call")]),
                said("tool", [call("1", result="r")]),
                said("tool", [call("1", result="again")]),
            ],
            [
                {"role": "assistant", "content": None, "tool_calls": [CALLED]},
                {"role": "tool", "tool_call_id": "1", "content": "r"},
            ],
            id="a result goes in once",
        ),
        pytest.param(
            [
                said("assistant", [text("a"), call("1", result="r"), call("2", "call")]),
                said("tool", "s", tool_call_id="2"),
            ],
            [
                {"role": "assistant", "content": "a", "tool_calls": [CALLED]},
                {"role": "tool", "tool_call_id": "1", "content": "r"},
                {"role": "assistant", "content": None, "tool_calls": [{**CALLED, "id": "2"}]},
                {"role": "tool", "tool_call_id": "2", "content": "s"},
            ],
            id="a call that is answered later comes after those answered at once",
        ),
        pytest.param(
            [said("assistant", "a"), said("tool", "lost", tool_call_id="9")],
            [{"role": "assistant", "content": "a"}],
            id="a result without its call stays out",
        ),
        pytest.param(
            [
                said("assistant", [call("1", "call")]),
                said("user", "between"),
                said("tool", "late", tool_call_id="1"),
            ],
            [{"role": "user", "content": "between"}],
            id="a result that comes too late stays out, with its call",
        ),
    ],
)
def test_what_becomes_of_a_history(history, expected):
    assert list(prompt_messages("", history, "q"))[:-1] == expected


parts = st.lists(
    st.builds(text, st.sampled_from(["", "a", "b"]))
    | st.builds(
        call, st.sampled_from(["1", "2", "3"]), st.sampled_from(["call", "result", "error"])
    ),
    max_size=4,
)
messages = st.builds(said, st.sampled_from(["user", "assistant", "tool", "system"]), parts)


@given(st.lists(messages, max_size=6))
def test_every_call_is_answered_right_after_it_and_every_result_was_called(history):
    awaited = set()
    for message in prompt_messages("", history, "q"):
        if message["role"] == "tool":
            assert message["tool_call_id"] in awaited
            awaited.remove(message["tool_call_id"])
            continue
        assert not awaited
        calls = [entry["id"] for entry in message.get("tool_calls", ())]
        awaited = set(calls)
    assert not awaited

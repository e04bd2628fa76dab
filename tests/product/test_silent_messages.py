"""Messages of which a request has nothing are not shown as sent."""

import pytest

from tests.vaults import write_chat

QUESTION = {"id": "q", "role": "user", "content": "What of the sea?"}
STOPPED = [{"type": "info", "text": "Stopped before an answer came."}]
CALL = {"type": "tool_call", "tool_call_id": "c1", "tool_name": "tide", "args": {}}
OLD_CALL = [
    QUESTION,
    {"id": "call", "role": "assistant", "content": [CALL]},
    {"id": "told", "role": "tool", "tool_call_id": "c1", "content": "High at six."},
    {"id": "a", "role": "assistant", "content": "It is rising."},
    *(
        {"id": f"{role}{n}", "role": role, "content": f"More of it, {n}"}
        for n in range(3)
        for role in ("user", "assistant")
    ),
]


def answered(content):
    return [QUESTION, {"id": "a", "role": "assistant", "content": content}]


@pytest.mark.parametrize(
    ("messages", "pinned", "silent", "words"),
    [
        pytest.param(answered("It is wide."), [], [], "", id="none"),
        pytest.param(answered(STOPPED), [], ["a"], "nothing to send", id="a stopped answer"),
        pytest.param(answered(STOPPED), ["a"], ["a"], "nothing to send", id="a pinned one"),
        pytest.param(answered(" \n"), [], ["a"], "nothing to send", id="white space"),
        pytest.param(
            answered([{"type": "reasoning", "text": "Hm."}]),
            *([], ["a"], "nothing to send"),
            id="only reasoning",
        ),
        pytest.param(OLD_CALL, [], ["call", "told"], "part of a tool call", id="an old call"),
        pytest.param(OLD_CALL, ["told"], [], "", id="an old call whose result is pinned"),
        pytest.param(OLD_CALL, ["call"], [], "", id="an old call that is pinned"),
    ],
)
def test_the_count_of_the_status_is_that_of_the_request(
    server, client, endpoint, messages, pinned, silent, words
):
    write_chat(server.vault, "sea", messages)
    shown = client.call("smart_context.pin", chat_id="sea", message_ids=pinned)
    sent = [message["id"] for message in messages if message["id"] not in silent]
    assert shown["message_ids"] == sent
    counted = f"{len(sent)} of {len(messages)} messages in context"
    assert shown["status"] == ("All messages in context" if not silent else counted)

    turn = client.call("chat.send", chat_id="sea", message="And now?")["message_ids"][1]
    request = next(r for r in endpoint.chat_requests if r.body["model"] == "gpt-4o")
    assert len(request.messages) == len(sent) + 1
    receipt = client.call("smart_context.receipt", chat_id="sea", turn=turn)
    rows = {row["id"]: row for row in receipt["messages"]}
    for message in messages:
        row = rows[message["id"]]
        assert row["in"] is (message["id"] in sent)
        assert row["in"] or words in row["reason"]


def test_a_picture_without_words_is_sent_again_in_later_turns(server, client, endpoint):
    picture = {"id": "f", "name": "map.png", "file_type": "image/png", "storage_key": "gone.png"}
    messages = [
        {"id": "seen", "role": "user", "content": "", "files": [picture]},
        {"id": "a", "role": "assistant", "content": "A map."},
    ]
    write_chat(server.vault, "maps", messages)
    shown = client.call("smart_context.get_topics", chat_id="maps")
    assert shown["status"] == "All messages in context"
    client.call("chat.send", chat_id="maps", message="Of what?")
    request = next(r for r in endpoint.chat_requests if r.body["model"] == "gpt-4o")
    assert [message["role"] for message in request.messages] == ["user", "assistant", "user"]
    assert "map.png" in request.messages[0]["content"]

"""A model asks for files of the vault: tool calls over HTTP, as an endpoint makes them."""

import json

from tests.fake_openai import Reply, failure
from tests.vaults import read_chat


def call(name, arguments, call_id="call_1"):
    return Reply(
        text="", tool_calls=((call_id, name, json.dumps(arguments)),), finish_reason="tool_calls"
    )


def test_a_tool_call_is_answered_from_the_vault_and_kept_in_the_chat(
    vault, server, client, endpoint
):
    (vault / "plan.md").write_text("Sail on Sunday.", encoding="utf-8")
    endpoint.reply_with(call("read_file", {"path": "plan.md"}), "On Sunday.")
    client.call("chat.send", message="When do we sail?", chat_id="c1")

    first, second = endpoint.chat_requests[:2]
    assert {tool["function"]["name"] for tool in first.body["tools"]} >= {
        "read_file",
        "search_files",
        "list_files",
    }
    said, result = second.messages[-2:]
    assert said["tool_calls"][0]["function"]["name"] == "read_file"
    assert "Sail on Sunday." in result["content"]
    assert result["tool_call_id"] == said["tool_calls"][0]["id"] == "call_1"
    stored = read_chat(vault, "c1")["messages"][1]["content"]
    assert [part["type"] for part in stored] == ["tool_call", "text"]

    _, page = server.request("GET", "/chats/c1")
    assert "read_file answered" in str(page)


def test_an_endpoint_without_tools_is_asked_in_plain_text(vault, server, client, endpoint):
    (vault / "plan.md").write_text("Sail on Sunday.", encoding="utf-8")
    endpoint.reply_with(
        failure(400, "gemma does not support tools"), "```read_file\nplan.md\n```", "On Sunday."
    )
    client.call("chat.send", message="When do we sail?", chat_id="c1")
    refused, asked, answered = endpoint.chat_requests[:3]
    assert "tools" in refused.body
    assert "tools" not in asked.body
    assert "Sail on Sunday." in answered.messages[-1]["content"]
    assert {message["role"] for message in answered.messages} == {"system", "user", "assistant"}

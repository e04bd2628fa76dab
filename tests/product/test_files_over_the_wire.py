"""A model asks for files of the vault: tool calls over HTTP, as an endpoint makes them."""

import json
import signal
import tempfile
import threading

import pytest

from smart_context.llm.tokens import count_tokens
from tests.fake_openai import Reply, failure, held
from tests.preloaded import run_to_end
from tests.serving import serving
from tests.vaults import KEY, read_chat


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


def test_kill_9_in_mid_round_loses_no_step(configured, endpoint):
    gate = threading.Event()
    vault = configured()
    (vault / "plan.md").write_text("Sail on Sunday.", encoding="utf-8")
    asked = call("read_file", {"path": "plan.md"})
    endpoint.reply_with(asked, held("On Sunday", gate, after=1))
    with serving(vault, env=KEY) as server, server.connect() as client:
        client.start("chat.send", chat_id="c1", message="When do we sail?")
        client.wait_for("chat.token", text="On")
        server.stop(signal.SIGKILL)
    gate.set()
    with serving(vault, env=KEY) as server, server.connect() as client:
        client.call("chat.open", chat_id="c1")
        answer = client.call("memory.load_chat", chat_id="c1")["messages"][1]
    step, said = answer["content"]
    assert (step["type"], step["state"], step["tool_name"]) == ("tool_call", "result", "read_file")
    assert "Sail on Sunday." in step["result"]
    assert said == {"type": "text", "text": "On"}
    assert "interrupted" in answer["error"]


def test_results_that_fill_a_small_window_are_cut_and_no_request_exceeds_it(configured, endpoint):
    vault = configured()
    (vault / "long.md").write_text("All of it matters. " * 3_000, encoding="utf-8")
    path = vault / ".vault.toml"
    config = path.read_text(encoding="utf-8")
    path.write_text(config.replace("max_retries", "context_window = 3000\nmax_retries"))
    rounds = [call("read_file", {"path": "long.md"}, f"call_{n}") for n in range(3)]
    endpoint.reply_with(*rounds, "It all does.")
    with serving(vault, env=KEY) as server, server.connect() as client:
        client.call("chat.send", chat_id="c1", message="What matters?")
    requests = endpoint.chat_requests[:4]
    assert len(requests) == 4
    for request in requests:
        tools = json.dumps(request.body.get("tools", []))
        texts = [str(message["content"] or "") for message in request.messages]
        assert sum(count_tokens(text, "gpt-4o") for text in (*texts, tools)) < 3_000 * 0.9
        assert request.messages[0]["content"] == "What matters?"
    results = [m["content"] for m in requests[-1].messages if m["role"] == "tool"]
    assert "Left out: this result no longer fits" in results[0]
    assert "Left out: this result no longer fits" in results[1]
    assert "All of it matters." in results[2]
    assert "ask for a smaller part" in results[2]
    stored = read_chat(vault, "c1")["messages"][1]["content"]
    assert all("All of it matters." in part["result"] for part in stored[:3])


def test_a_vault_and_a_temporary_folder_behind_a_link_are_as_any_other(
    configured, endpoint, tmp_path, monkeypatch
):
    """As below `/tmp` of macOS, which is a link to `/private/tmp`."""
    (tmp_path / "link").symlink_to(tmp_path, target_is_directory=True)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "link"))
    vault = tmp_path / "link" / configured().name
    (vault / "sub").mkdir()
    (vault / "sub" / "plan.md").write_text("Sail on Sunday.", encoding="utf-8")
    with serving(vault, env={**KEY, "TMPDIR": str(tmp_path / "link")}) as server:
        page = b"<html><body><p>Bake it at 250 degrees.</p></body></html>"
        _, stored = server.request("POST", "/api/files", page, {"X-File-Name": "rye.html"})
        files = [{"storage_key": stored["storage_key"], "name": "rye.html"}]
        server.ask("smart_context.save_context", key="Plans", items=["sub/plan.md"])
        server.ask("smart_context.attach_context", chat_id="c1", key="Plans")
        server.ask("chat.send", chat_id="c1", message="When, and how hot?", files=files)
        sent = json.dumps(endpoint.chat_requests[-1].body)
        assert "Sail on Sunday." in sent
        assert "250 degrees" in sent
        with server.connect() as client:
            client.call("tools.search_notes", query="Sunday")
            for number in range(1_000):  # the vault is watched soon after the first question
                (vault / "sub" / "rope.md").write_text(f"Splice {number} ropes.", encoding="utf-8")
                found = client.call("tools.search_notes", query="splice ropes")
                is_found = "sub/rope.md" in json.dumps(found)
                if is_found and any("notes_changed" in params for _, params in client.events):
                    break
            else:
                pytest.fail(f"the change was not heard of, or the note not found: {found}")
    code, listed, _ = run_to_end(["trust", "--list"])
    assert code == 0
    assert str(tmp_path / vault.name) in listed

"""Real agents get the vault as tools by the lines that we show, and use them for a fake model."""

import json
from functools import partial

import pytest

from smart_context.gateway.connecting import CLIENTS
from tests.clients.programs import FOLDER, Client, Codex, Inspector, Opencode
from tests.clients.responding import answering, calling
from tests.fake_openai import FakeOpenAI, Reply
from tests.serving import TOKEN, serving

pytestmark = pytest.mark.clients

FOUND, ANSWER = "Rye from the mill", "From the mill."


@pytest.fixture(scope="module")
def vault(tmp_path_factory):
    folder = tmp_path_factory.mktemp("agents") / "My vault"
    folder.mkdir()
    (folder / "Bread.md").write_text(f"# Bread\n{FOUND}\n", encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def server(vault):
    with serving(vault) as running:
        yield running


def lines_for(client, server, vault, *, is_local):
    tools = CLIENTS[client].tools
    if is_local:
        return tools.local_lines(str(vault))
    return tools.served_lines(f"{server.origin}/v1", TOKEN)


def needed(path):
    if not path.exists():
        pytest.skip(f"{path} is not there: python -m tests.clients.programs")


@pytest.mark.parametrize("is_local", [True, False], ids=["starts it", "asks the server"])
@pytest.mark.parametrize("client", [Codex, Opencode])
def test_an_agent_reads_a_note_for_its_model(client, is_local, vault, server, tmp_path):
    needed(client.needs)
    name = client.__name__.lower()
    with FakeOpenAI() as provider:
        arguments = {"query": "rye"}
        call = Reply(
            tool_calls=(("call_1", "notes_search_notes", json.dumps(arguments)),),
            finish_reason="tool_calls",
        )
        provider.reply_with(call, ANSWER)
        responses = calling("mcp__notes", "search_notes", **arguments), answering(ANSWER)
        provider.reply_with(*responses, path="/responses")
        agent = client(provider.base_url, tmp_path)
        agent.take_tools(lines_for(name, server, vault, is_local=is_local))
        assert ANSWER in agent.ask("Where is the rye from?")
        asked = [
            request for request in provider.requests if request.raw and FOUND in str(request.body)
        ]
        assert len(asked) == 1


@pytest.mark.parametrize("is_local", [True, False], ids=["starts it", "asks the server"])
def test_claude_code_is_connected_by_its_line(is_local, vault, server, tmp_path):
    needed(FOLDER / "node_modules/.bin/claude")
    terminal = Client("", tmp_path)
    terminal.proxy = ""
    terminal.run("sh", "-c", lines_for("claude-code", server, vault, is_local=is_local))
    assert "Connected" in terminal.run("claude", "mcp", "list")


@pytest.mark.parametrize("is_local", [True, False], ids=["starts it", "asks the server"])
def test_the_inspector_lists_and_calls_tools_reads_resources_and_prompts(
    is_local, vault, server, tmp_path
):
    needed(Inspector.needs)
    url, key = f"{server.origin}/mcp", f"Authorization: Bearer {TOKEN}"
    target = ["smart-context", "mcp", vault] if is_local else [url, "--header", key]
    asked = partial(Inspector("", tmp_path).asked, target)
    tools = {tool["name"]: tool for tool in asked("tools/list")["tools"]}
    assert tools["search_notes"]["annotations"]["readOnlyHint"] is True
    assert tools["search_notes"]["inputSchema"]["properties"]["query"]["description"]
    found = asked("tools/call", "--tool-name", "search_notes", "--tool-arg", "query=rye")
    assert found["structuredContent"]["notes"][0]["text"] == FOUND
    read = asked("resources/read", "--uri", "note://Bread.md")
    assert FOUND in read["contents"][0]["text"]
    assert {prompt["name"] for prompt in asked("prompts/list")["prompts"]} == {
        "continue_chat",
        "with_context",
    }

"""Agents use the vault by MCP with the official client."""

import asyncio
import json
import re
import sys
from contextlib import asynccontextmanager
from urllib.parse import quote

import httpx2
import pytest
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.exceptions import MCPError
from mcp.types import INVALID_PARAMS
from openai import AsyncOpenAI

from smart_context.app.browsers import key_file
from smart_context.app.composition import running_host
from smart_context.base.installed import how_to_add
from smart_context.base.values import OWNER
from smart_context.host.commands.registry import Caller
from smart_context.llm.tokens import count_tokens
from smart_context.mcp_server import endpoint
from smart_context.mcp_server.protocol import make_server
from smart_context.mcp_server.toolbox import Toolbox
from tests.app.test_who_asks import CHAT, CONTEXT, STRANGER, serving
from tests.app.test_who_asks import KEY as CLIENT
from tests.fake_openai import FakeOpenAI, Reply
from tests.trusting import trust
from tests.web.asking import asked_by

pytestmark = pytest.mark.anyio

KEY = "sk-" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY"
MESSAGES = [
    {"id": "m1", "role": "user", "content": "The ferry to Lisbon?", "_private": "x"},
    {"id": "m2", "role": "assistant", "content": "It leaves at nine. " * 400},
    {"id": "m3", "role": "user", "content": "And bread with rye?"},
]
URL = "http://localhost/mcp"
WRITERS = {
    *("recall", "set_filter", "pin", "hide", "release"),
    *("split", "fork", "compact_topics"),
}


def fill(folder):
    folder.mkdir()
    (folder / ".vault.toml").write_text("[plugins.smart_context]\nenabled = true\n")
    (folder / ".gitignore").write_text("drafts/\n")
    (folder / "drafts").mkdir()
    (folder / "drafts" / "Plan.md").write_text("rye hidden")
    (folder / "Bread.md").write_text("# Bread\nrye\n## Oven\nhot ^heat\n\n[[Ferry]]\n")
    (folder / "Ferry.md").write_text("# Ferry\nrye on board\n")
    (folder / "Keys.md").write_text(f"rye at the door\n{KEY}\n[[Ferry]]\n")
    return folder


class Agent:
    def __init__(self, client, host):
        self.client, self.host = client, host

    async def ask(self, tool, **arguments):
        result = await self.client.call_tool(tool, arguments)
        assert not result.is_error, result.content[0].text
        assert json.loads(result.content[0].text) == result.structured_content
        return result.structured_content

    async def refused(self, tool, **arguments):
        result = await self.client.call_tool(tool, arguments)
        assert result.is_error
        assert "Traceback" not in result.content[0].text
        return result.content[0].text

    async def call(self, name, **params):
        return await self.host.commands.call(name, params, Caller(OWNER))


@asynccontextmanager
async def agent_of(folder, *, writes=False):
    async with running_host(folder) as host:
        server = make_server(Toolbox(host, is_writable=writes), lambda _: Caller(OWNER))
        async with Client(server) as client:
            agent = Agent(client, host)
            data = {"title": "Ferries", "messages": MESSAGES}
            await agent.call("memory.save_chat", chat_id="c1", data=data)
            await agent.call("smart_context.save_context", key="Baking", items=["Bread.md"])
            yield agent


@pytest.fixture
def own_settings(tmp_path, monkeypatch):
    """The user's own `config.toml`, not written yet."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    (tmp_path / "config" / "smart-context").mkdir(parents=True)
    return tmp_path / "config" / "smart-context" / "config.toml"


@pytest.fixture
async def agent(tmp_path):
    async with agent_of(fill(tmp_path / "vault")) as agent:
        yield agent


async def test_tools_only_read_and_say_so_unless_more_is_allowed(agent, tmp_path):
    tools = (await agent.client.list_tools()).tools

    assert all(tool.annotations.read_only_hint and tool.description for tool in tools)
    assert not WRITERS & {tool.name for tool in tools}
    for tool in tools:
        properties = tool.input_schema["properties"].values()
        assert all(known["description"] and known["type"] != "null" for known in properties)
        assert "next_cursor" in tool.output_schema["required"]
    told = await agent.refused("set_filter", chat_id="c1", topics=[])
    assert "--write" in told
    for name in ("system.status", "memory.delete_chat", "tools.read_note", "nothing"):
        assert "There is no tool" in await agent.refused(name)


WRITE = "[mcp]\nwrite = true\n"


def add(folder, text):
    with (folder / ".vault.toml").open("a") as settings:
        settings.write(text)


@pytest.mark.parametrize("how", ["the option", "the user", "the trusted vault"])
async def test_writing_is_allowed_by_option_user_or_trusted_vault(tmp_path, how, own_settings):
    folder = fill(tmp_path / "vault")
    if how == "the user":
        own_settings.write_text(WRITE)
    if how == "the trusted vault":
        add(folder, WRITE)
        trust(folder)
    async with agent_of(folder, writes=how == "the option") as agent:
        tools = {tool.name: tool for tool in (await agent.client.list_tools()).tools}
        assert not any(tools[name].annotations.read_only_hint for name in WRITERS)
        for name in WRITERS:
            assert all(p["description"] for p in tools[name].input_schema["properties"].values())
        made = await agent.ask("fork", chat_id="c1", message_id="m1")
        assert made["messages"] == 1
        assert "has no topic 'Cars'" in await agent.refused("split", chat_id="c1", topics=["Cars"])
        await agent.ask("hide", chat_id="c1", message_ids=["m3"])
        rows = (await agent.ask("explain", chat_id="c1", message="m3"))["messages"]
        assert [row["in"] for row in rows] == [False]
        await agent.ask("release", chat_id="c1", message_ids=["m3"])
        assert "100 or more" in await agent.refused(
            "pin", chat_id="c1", message_ids=["m1"], max_tokens=1
        )
        assert (await agent.call("smart_context.get_topics", chat_id="c1"))["pinned"] == []


@pytest.mark.parametrize("told", ["true by a stranger", "false by the vault"])
async def test_a_vault_may_forbid_writing_but_not_allow_it_untrusted(tmp_path, told, own_settings):
    folder = fill(tmp_path / "vault")
    if told == "true by a stranger":
        add(folder, WRITE)
    else:
        own_settings.write_text(WRITE)
        add(folder, "[mcp]\nwrite = false\n")
    async with agent_of(folder) as agent:
        assert not WRITERS & {tool.name for tool in (await agent.client.list_tools()).tools}
        assert "only reads" in await agent.refused("hide", chat_id="c1", message_ids=["m3"])


async def test_roles_of_a_vault_are_packed_once_it_is_trusted_and_let_no_keys_out(
    tmp_path, own_settings
):
    folder = fill(tmp_path / "vault")
    role = 'system_prompt = "You bake."\n[context]\ninclude = ["*.md"]\n'
    (folder / "roles").mkdir()
    (folder / "roles" / "baker.toml").write_text(role)
    (own_settings.parent / "roles").mkdir()
    (own_settings.parent / "roles" / "cook.toml").write_text(f"{role}allow_secrets = true\n")
    async with agent_of(folder) as agent:
        told = await agent.refused("pack", role="baker")
        assert "until you trust it" in told
        assert "You bake" not in told
        trust(folder)
        for name in ("baker", "cook"):
            packed = (await agent.ask("pack", role=name))["text"]
            assert "You bake." in packed
            assert "rye on board" in packed
            assert KEY not in packed
        told = await agent.refused("pack", role="nobody")
        assert "no role 'nobody'" in told
        assert str(tmp_path) not in told


async def test_chats_are_listed_searched_and_read_in_pages(agent):
    assert (await agent.ask("list_chats"))["chats"][0]["chat_id"] == "c1"
    assert (await agent.ask("list_chats", query="rye"))["total"] == 1
    assert (await agent.ask("list_chats", query="nowhere"))["chats"] == []
    found = await agent.ask("read_chat", chat_id="c1", query="RYE")
    assert [row["id"] for row in found["messages"]] == ["m3"]

    text, cursor = "", ""
    while cursor is not None:
        page = await agent.ask("read_chat", chat_id="c1", max_tokens=300, cursor=cursor)
        assert count_tokens(json.dumps(page, ensure_ascii=False)) <= 330
        assert "_private" not in json.dumps(page)
        text += "".join(row["content"] for row in page["messages"])
        cursor = page["next_cursor"]
    assert text == "".join(message["content"] for message in MESSAGES)


@pytest.mark.parametrize("tool", ["pin", "hide"])
async def test_a_message_that_is_not_there_is_not_marked(tmp_path, tool):
    async with agent_of(fill(tmp_path / "vault"), writes=True) as agent:
        assert "read_chat" in await agent.refused(tool, chat_id="c1", message_ids=["m1", "gone"])
        assert (await agent.ask("topics", chat_id="c1"))["pinned"] == []


async def test_what_if_shows_what_other_topics_would_send_and_changes_nothing(agent):
    await agent.call("smart_context.refresh_topics", chat_id="c1", wait=True)
    before = await agent.ask("topics", chat_id="c1")
    shown = await agent.ask("what_if", chat_id="c1", topics=["Ferry"])

    assert shown["total"] == 3
    assert {row["id"] for row in shown["messages"]} == {"m1", "m2", "m3"}
    assert await agent.ask("topics", chat_id="c1") == before


async def test_an_agent_is_told_that_no_message_is_about_a_topic(agent):
    for tool in ("read_chat", "explain"):
        found = await agent.ask(tool, chat_id="c1", topics=["Volcanoes"])
        assert found["status"] == "No message matches; all 3 messages in context"


async def test_notes_are_searched_read_by_part_and_their_links_listed(agent):
    found = await agent.ask("search_notes", query="rye")
    assert {row["path"] for row in found["notes"]} == {"Bread.md", "Ferry.md"}
    assert (await agent.ask("read_note", path="Bread", heading="oven"))["text"].startswith(
        "## Oven"
    )
    assert "hot" in (await agent.ask("read_note", path="Bread.md", block="heat"))["text"]
    assert "'Oven'" in await agent.refused("read_note", path="Bread.md", heading="Cellar")
    links = (await agent.ask("links", path="Ferry.md"))["links"]
    assert links == [{"backlink": "Bread.md"}]


async def test_contexts_are_built_by_name_or_items_to_a_depth(agent):
    shallow = await agent.ask("build_context", name="Baking")
    deep = await agent.ask("build_context", name="Baking", depth=1)

    assert shallow["items"] == ["Bread.md"]
    assert deep["items"] == ["Bread.md", "Ferry.md"]
    assert "context://" in await agent.refused("build_context", name="Nothing")
    assert "expected one" in await agent.refused("build_context")
    packed = await agent.ask("pack", task="Bake it", target="Bread.md")
    assert "Bake it" in packed["text"]
    assert "rye" in packed["text"]


@pytest.mark.parametrize(
    "path", ["../outside.md", "/etc/passwd", "drafts/Plan.md", ".vault.toml", ".memory", "Keys.md"]
)
async def test_hidden_ignored_secret_and_outside_files_stay_out(agent, path):
    for tool in ("read_note", "links"):
        assert KEY not in await agent.refused(tool, path=path)
    result = await agent.client.call_tool("build_context", {"items": [path, "Bread.md"]})
    told = result.content[0].text
    assert result.is_error or json.loads(told)["items"] == ["Bread.md"]
    assert KEY not in told
    assert "hidden" not in told
    packed = await agent.client.call_tool("pack", {"task": "x", "target": path})
    assert KEY not in packed.content[0].text
    assert "rye hidden" not in packed.content[0].text


async def test_topics_bring_a_page_that_shows_them_and_needs_no_network(agent):
    tools = {tool.name: tool for tool in (await agent.client.list_tools()).tools}
    uri = tools["topics"].meta["ui"]["resourceUri"]
    (page,) = (await agent.client.read_resource(uri)).contents
    assert page.mime_type == "text/html;profile=mcp-app"
    assert not re.search(r"""(src|href)=|import |https?:|fetch\(""", page.text)
    assert "io.modelcontextprotocol/ui" in agent.client.server_capabilities.extensions


async def test_a_model_calls_the_tools_by_their_schemas_and_reads_what_they_give(agent):
    """An agent in a loop: what the model asks for is called, until it answers."""
    scripted = [
        Reply(tool_calls=(("1", "list_chats", '{"query": "rye"}'),), finish_reason="tool_calls"),
        lambda body: read(last_result(body)["chats"][0]["chat_id"]),
        lambda body: f"It says: {last_result(body)['messages'][0]['content']}",
    ]

    def read(chat):
        arguments = json.dumps({"chat_id": chat, "query": "rye"})
        call = ("2", "read_chat", arguments)
        return Reply(tool_calls=(call,), finish_reason="tool_calls")

    def last_result(body):
        return json.loads(body["messages"][-1]["content"])

    tools = [
        {
            "type": "function",
            "function": {
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.input_schema,
            },
        }
        for tool in (await agent.client.list_tools()).tools
    ]
    with FakeOpenAI() as provider:
        provider.reply_with(*scripted)
        said = [{"role": "user", "content": "What did I ask about rye?"}]
        async with AsyncOpenAI(base_url=provider.base_url, api_key="k") as model:
            while said[-1]["role"] != "assistant" or said[-1].get("tool_calls"):
                answer = await model.chat.completions.create(
                    model="gpt-4o", messages=said, tools=tools
                )
                message = answer.choices[0].message
                said.append(message.model_dump(exclude_none=True))
                for call in message.tool_calls or ():
                    arguments = json.loads(call.function.arguments)
                    result = await agent.client.call_tool(call.function.name, arguments)
                    text = result.content[0].text
                    said.append({"role": "tool", "tool_call_id": call.id, "content": text})
        assert said[-1]["content"] == "It says: And bread with rye?"


async def test_resources_and_prompts_give_the_same_texts(agent):
    uris = {str(each.uri) for each in (await agent.client.list_resources()).resources}
    assert uris == {"chat://c1", "context://Baking"}
    for uri, words in (
        ("chat://c1", "rye?"),
        ("context://Baking", "hot"),
        ("note://Bread.md#Oven", "hot"),
    ):
        found = await agent.client.read_resource(uri)
        assert words in found.contents[0].text
    prompt = await agent.client.get_prompt("with_context", {"name": "Baking", "task": "Bake."})
    assert prompt.messages[0].content.text.startswith("Bake.\n\n")
    prompt = await agent.client.get_prompt("continue_chat", {"chat_id": "c1"})
    assert "ferry to Lisbon" in prompt.messages[0].content.text


@pytest.mark.parametrize(
    "uri",
    [
        *("note://../x", "note://None.md", "note://Bread.md#Nothing", "note://Bread.md#^none"),
        *("chat://none", "chat://caf%C3%A9", "context://", "context://Caf%C3%A9"),
        *("file:///etc/passwd", "note://%FF", "ui://other"),
    ],
)
async def test_a_resource_that_does_not_exist_is_a_wrong_parameter(agent, uri):
    with pytest.raises(MCPError) as refused:
        await agent.client.read_resource(uri)
    assert refused.value.error.code == INVALID_PARAMS


@pytest.mark.parametrize("name", ["C# notes", "Café", "100% rye", "#first", "a?b=c&d", "焼く 🍞"])
async def test_a_resource_is_found_by_its_encoded_name(agent, tmp_path, name):
    (tmp_path / "vault" / f"{name}.md").write_text("sweet\n## Part é\nhot\n")
    await agent.call("smart_context.save_context", key=name, items=["Bread.md"])
    listed = (await agent.client.list_resources()).resources
    uri = next(str(each.uri) for each in listed if each.name == name)
    assert uri == f"context://{quote(name, safe='')}"
    assert "rye" in (await agent.client.read_resource(uri)).contents[0].text

    note = f"note://{quote(name)}.md"
    for uri in (note, f"note://{quote(name, safe='')}.md"):
        assert "sweet" in (await agent.client.read_resource(uri)).contents[0].text
    part = (await agent.client.read_resource(f"{note}#Part%20%C3%A9")).contents[0].text
    assert part == "## Part é\nhot\n"


@pytest.mark.parametrize("path", ["Bread.md#Oven", "Bread#Oven", "Bread#^heat"])
async def test_a_part_may_be_named_as_in_a_link(agent, path):
    text = (await agent.ask("read_note", path=path))["text"]
    assert "hot" in text
    assert "rye" not in text
    uri = f"note://{quote(path, safe='')}"
    assert (await agent.client.read_resource(uri)).contents[0].text == text
    told = await agent.refused("read_note", path="Bread#Nothing")
    assert "'Oven'" in told


@asynccontextmanager
async def served(folder, person=OWNER):
    async with serving(folder) as vault:
        transport = httpx2.ASGITransport(app=asked_by(vault.app.router, person))
        async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as http:
            try:
                yield vault, http
            finally:
                key_file().revoke(CLIENT)


async def test_a_stranger_finds_nothing_of_the_owners_by_http(tmp_path):
    async with served(tmp_path / "vault", STRANGER) as (_, http):
        transport = streamable_http_client(URL, http_client=http)
        async with Client(transport) as client:
            assert (await client.list_resources()).resources == []
            chat = await client.call_tool("read_chat", {"chat_id": CHAT})
            context = await client.call_tool("build_context", {"name": CONTEXT})

    assert chat.is_error
    assert context.is_error


async def test_a_cancelled_call_leaves_the_next_one_its_answer(agent):
    async with asyncio.TaskGroup() as group:
        calls = [group.create_task(agent.ask("search_notes", query="rye")) for _ in range(5)]
        await asyncio.sleep(0)
        for call in calls[:4]:
            call.cancel()

    assert calls[4].result()["total"] == 2
    assert (await agent.ask("search_notes", query="rye"))["total"] == 2


async def test_without_the_extra_the_address_says_how_to_install_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "mcp.server.streamable_http_manager", None)
    async with served(tmp_path / "vault") as (_, http):
        answer = await http.post("/mcp", json={})

    assert answer.status_code == 404
    assert how_to_add("mcp") in answer.json()["error"]["message"]


async def test_an_endpoint_that_does_not_start_says_so_and_tries_again(tmp_path, monkeypatch):
    started = StreamableHTTPSessionManager.run

    def fail(self):
        raise OSError("no more threads")

    async with served(tmp_path / "vault") as (_, http):
        monkeypatch.setattr(StreamableHTTPSessionManager, "run", fail)
        answers = await asyncio.gather(*(http.post("/mcp", json={}) for _ in range(3)))
        assert [answer.status_code for answer in answers] == [503] * 3
        assert endpoint.NOT_RUNNING in answers[0].json()["error"]["message"]
        monkeypatch.setattr(StreamableHTTPSessionManager, "run", started)
        async with Client(streamable_http_client(URL, http_client=http)) as client:
            assert (await client.list_tools()).tools

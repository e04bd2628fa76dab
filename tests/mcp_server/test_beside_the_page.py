"""Agents and pages change the same filters, each with what the other one chose."""

import asyncio
import sys

import httpx2
import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from tests.serving import serving
from tests.vaults import about, write_chat

pytestmark = pytest.mark.anyio

CATS, BOATS = "cats sleep", "boats sail"
MESSAGES = about("cats purr when they sleep", "cats sleep all day", "boats need new sails")
FILTER_CHANGED = "smart_context.filter_changed"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("agents")
    vault = folder / "vault"
    vault.mkdir()
    write_chat(vault, "pets", MESSAGES, topics=[{"label": CATS}, {"label": BOATS}])
    env = {"XDG_CONFIG_HOME": str(folder / "config")}
    with serving(vault, env=env, trusted=False) as running:
        yield running


@pytest.fixture
def page(server):
    with server.connect() as connected:
        yield connected


async def pick_in_turn(agent, page):
    """The agent picks a topic, which the page is told, then the page one, which the agent sees."""
    change = {"chat_id": "pets", "topics": [CATS]}
    await asyncio.to_thread(page.call, "smart_context.get_topics", chat_id="pets")  # as once opened
    seen = len(page.events)
    made = await agent.call_tool("set_filter", change)
    assert not made.is_error, made.content
    told = {"chat_id": "pets", "active_topics": [CATS]}
    await asyncio.to_thread(page.wait_for, FILTER_CHANGED, after=seen, **told)

    await asyncio.to_thread(page.call, "smart_context.set_filter", chat_id="pets", topics=[BOATS])
    found = await agent.call_tool("topics", {"chat_id": "pets"})
    assert found.structured_content["active_topics"] == [BOATS]


async def test_an_agent_with_a_key_steers_by_http_once_it_may_without_a_restart(server, page):
    key = page.call("system.new_client_key", client="an-agent")["key"]
    url = f"{server.origin}/mcp"
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {key}"}) as http,
        Client(streamable_http_client(url, http_client=http)) as agent,
    ):
        change = {"chat_id": "pets", "topics": [CATS]}
        assert (await agent.call_tool("set_filter", change)).is_error
        page.call("system.change_settings", values={"mcp.write": True}, scope="vault")
        await pick_in_turn(agent, page)
    page.call("system.change_settings", values={"mcp.write": None}, scope="vault")
    assert server.request("POST", "/mcp", b"{}", {"Authorization": "Bearer x"})[0] == 401


@pytest.mark.slow
async def test_a_process_on_stdio_and_a_running_server_show_each_others_picks(server, page):
    args = ["-m", "smart_context", "mcp", str(server.vault), "--write"]
    async with Client(StdioServerParameters(command=sys.executable, args=args)) as agent:
        await pick_in_turn(agent, page)

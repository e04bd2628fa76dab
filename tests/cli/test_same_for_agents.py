"""An agent on stdio is told the rows that the command line prints."""

import json
import sys
from contextlib import asynccontextmanager

import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters

from tests.serving import serving

pytestmark = pytest.mark.anyio

CHAT, TOPIC, NOTE, MANY = "agent-debugging", "Python Async", "Start here.md", 100_000


def fields_of(told, *left_out):
    """What a tool told of its subject, without its page."""
    return {key: value for key, value in told.items() if key not in {"next_cursor", *left_out}}


@asynccontextmanager
async def asked_by_agents(vault):
    """Asks the vault's tools over stdio."""
    args = ["-m", "smart_context", "mcp", str(vault)]
    async with Client(StdioServerParameters(command=sys.executable, args=args)) as client:

        async def ask(tool, **arguments):
            result = await client.call_tool(tool, {**arguments, "max_tokens": MANY})
            assert not result.is_error, result.content[0].text
            return result.structured_content

        yield ask


@pytest.fixture
def terminal(smart_context, vault):
    """Gives what the program prints, as JSON unless another form is asked for."""

    def run(*arguments, form=("--format", "json")):
        code, out, err = smart_context(*arguments, *form, cwd=vault)
        assert code == 0, err
        return json.loads(out) if form else out

    return run


async def test_of_chats_agents_and_the_terminal_get_the_same(terminal, vault):
    with serving(vault) as server:
        server.ask("chat.send", chat_id=CHAT, message="Where is the state lost?")
    async with asked_by_agents(vault) as agent:
        assert (await agent("list_chats"))["chats"] == terminal("chats", "list")
        topics = await agent("topics", chat_id=CHAT)
        assert fields_of(topics, "chat_id") == terminal("topics", CHAT)

        chosen = terminal("filter", CHAT, "--topics", TOPIC)
        forecast = await agent("what_if", chat_id=CHAT, topics=[TOPIC])
        explained = await agent("explain", chat_id=CHAT, topics=[TOPIC])
        shared = forecast.keys() & chosen.keys()
        assert {"in", "total", "tokens", "by_topic", "threshold", "status"} <= shared
        assert {key: forecast[key] for key in shared} == {key: chosen[key] for key in shared}
        assert explained["messages"] == chosen["messages"]

        receipt, told = terminal("receipt", CHAT), await agent("receipt", chat_id=CHAT)
        shared = told.keys() & receipt.keys()
        assert {"turn", "messages"} <= shared
        assert {key: told[key] for key in shared} == {key: receipt[key] for key in shared}


async def test_of_notes_agents_and_the_terminal_get_the_same(terminal, vault):
    async with asked_by_agents(vault) as agent:
        found = (await agent("search_notes", query="solar"))["notes"]
        assert found
        assert found == terminal("search", "solar")
        links = (await agent("links", path=NOTE))["links"]
        assert [row for row in links if "link" in row] == terminal("links", "--path", NOTE)
        told = [row["backlink"] for row in links if "backlink" in row]
        assert told == [row["path"] for row in terminal("backlinks", "--path", NOTE)]

        built = await agent("build_context", items=[NOTE], depth=1)
        printed = terminal("contexts", "build", NOTE, "--depth", "1", form=())
        assert built["text"].strip() == printed.strip()
        packed = await agent("pack", task="Be brief.", target="Home")
        printed = terminal("pack", "--task", "Be brief.", "--target", "Home", form=())
        assert packed["text"].strip() == printed.strip()

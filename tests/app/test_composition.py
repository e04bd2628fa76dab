import asyncio
import os
import signal
import subprocess
import sys

import pytest

from smart_context.app.composition import (
    FILE_READERS,
    FORMATTERS,
    composed,
    make_host,
    models_of,
    read_vault,
    running_host,
)
from smart_context.base.processes.needed import needed_by
from smart_context.base.values import OWNER
from smart_context.chat.files.file_text import pdf_text_of
from smart_context.gateway.edge.upstream import ProviderCall, Upstream
from smart_context.host.commands.registry import Caller
from smart_context.packing.templates import costly
from smart_context.web.pages.markup.message_html import unsafe_html, unsafe_htmls
from tests.fake_openai import FakeOpenAI
from tests.trusting import trust
from tests.vaults import settings_text

pytestmark = pytest.mark.anyio


async def test_the_responder_and_the_plugins_share_one_index_of_the_notes(tmp_path):
    (tmp_path / "a.md").write_text("Roses want sun.")
    os.utime(tmp_path / "a.md", (1, 1))  # not changed just now, so it is read once
    async with composed(read_vault(tmp_path)) as parts:
        host = make_host(parts)
        assert host.notes is parts.notes
        async with models_of(parts.config, host.notes, parts.client) as others:
            asked = [{"role": "user", "content": "Which sun do roses want?"}]
            answer = await others.chat.complete(asked)
        assert "Roses want sun." in answer.text
        assert parts.notes.index.revision == 1
        await parts.notes.ask(lambda index: index.close())


async def test_the_models_and_the_gateway_ask_a_provider_by_one_connection(tmp_path):
    with FakeOpenAI() as provider:
        (tmp_path / ".vault.toml").write_text(settings_text(provider.base_url))
        trust(tmp_path)
        async with composed(read_vault(tmp_path)) as parts:
            question = [{"role": "user", "content": "Who?"}]
            for model in (parts.models.chat, parts.models.fast):
                assert (await model.complete(question)).text == "You said: Who?"
            assert (await parts.models.embedder.embed(["a"])).shape[0] == 1
            chat = parts.config.chat
            call = ProviderCall(endpoint=chat, method="GET", path="/models", headers={})
            answer = await Upstream(parts.client).send(call)
            assert b"data" in b"".join([chunk async for chunk in answer.chunks()])
            await answer.aclose()
        assert (len(provider.requests), provider.connections) == (4, 1)


async def test_the_children_never_have_to_be_replaced_for_what_a_job_needs():
    assert set(needed_by(pdf_text_of)) <= set(FILE_READERS)
    assert {*needed_by(unsafe_html), *needed_by(unsafe_htmls)} <= set(FORMATTERS)
    assert set(needed_by(costly._outcome)) <= set(FORMATTERS)


WHO_ASKS = """
from smart_context.host.commands.registry import Caller

class Plugin:
    async def on_load(self, context):
        self.context = context
        context.register_command("who.asks", self.asks)

    async def asks(self, caller: Caller) -> dict:
        theirs = self.context.for_person(caller.person)
        await theirs.chats.save("plans", {"messages": []})
        return {
            "theirs": [row.id for row in await theirs.chats.listing.rows(caller.person)],
            "found": [await each.chats.exists("plans") for each in self.reaching("ann", "bob")],
        }

    def reaching(self, *people):
        return [self.context, *map(self.context.for_person, people)]
"""


async def test_on_the_command_line_commands_are_a_persons_and_a_plugin_reaches_what_is_theirs(
    tmp_path, monkeypatch
):
    monkeypatch.setenv("SMART_CONTEXT_USER", "bob")
    folder = tmp_path / "plugins" / "who"
    folder.mkdir(parents=True)
    (folder / "main.py").write_text(WHO_ASKS)
    (folder / "plugin.toml").write_text(
        'id = "who"\nname = "Who"\nversion = "0.1.0"\nentry = "main:Plugin"\n'
        'description = "Tells who asks."\ncommands = ["who.asks"]\n'
    )
    (tmp_path / ".vault.toml").write_text("[plugins.who]\nenabled = true\n")
    trust(tmp_path)
    async with running_host(tmp_path) as host:
        told = await host.commands.call("who.asks", {}, host.caller)
    assert told == {"theirs": ["plans"], "found": [True, False, True]}


WITHOUT_A_TEAM = """
import sys

for name in ("authlib", "joserfc", "psycopg", "psycopg_pool", "redis"):
    sys.modules[name] = None  # as if it were not installed
from smart_context.__main__ import main

main()
"""


def test_a_vault_in_files_is_served_without_the_libraries_of_a_team(tmp_path):
    command = [sys.executable, "-c", WITHOUT_A_TEAM, "serve", tmp_path, "--port", "0"]
    process = subprocess.Popen([*command, "--no-browser"], stdout=subprocess.PIPE, text=True)
    with process:
        assert any("http://127.0.0.1" in line for line in process.stdout)
        process.send_signal(signal.SIGTERM)


async def test_while_a_message_is_written_the_background_asks_models_nothing(tmp_path):
    begun = asyncio.Event()

    async def names():
        begun.set()

    async with composed(read_vault(tmp_path)) as parts:
        host = make_host(parts)
        await host.start()
        try:
            for words, waits in (("", False), ("And what of", True)):
                params = {"chat_id": "c", "message": words}
                await host.commands.call("smart_context.preview", params, Caller(OWNER))
                begun.clear()
                server = parts.client.traffic.in_order("http://127.0.0.1:9/v1", names)
                asking = asyncio.create_task(server)
                for _ in range(9):
                    await asyncio.sleep(0)
                assert begun.is_set() is not waits
                asking.cancel()
                await asyncio.wait([asking])
        finally:
            await host.stop()

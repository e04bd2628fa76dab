"""A host on a temporary vault, with scripted models and a client that notes what it is sent."""

import asyncio
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from smart_context.base.values import OWNER
from smart_context.chat.history import ContextBuilderOptions, build_context
from smart_context.chat.messages import messages_of
from smart_context.host.commands.registry import Caller
from smart_context.host.host import Host, HostOptions, Models
from smart_context.storage.files.storage import file_storage
from smart_context.vault.trust.vault import TrustRecord, VaultTrust
from tests.patience import PATIENCE_S
from tests.scripted import ScriptedChatModel, ScriptedEmbedder
from tests.trusting import grant_all, settings_of

BARE = """\
id = "quiet"
name = "Quiet"
version = "1"
entry = "tests.host.quiet_plugin:Quiet"
"""
USUAL = {"repairs": True, "load_timeout_s": PATIENCE_S}


class NoAttachments:
    async def read(self, attachment_id):
        return None


async def without_attachments(messages, **_more):
    options = ContextBuilderOptions(attachment_resolver=NoAttachments())
    return await build_context(messages, options)


class Page:
    """A client that notes the events it is sent."""

    def __init__(self, name="page"):
        self.id = name
        self.chat_id = None
        self.events = []

    def send(self, event, payload):
        self.events.append((event, payload))


class Bench:
    """A host and all that a test needs around it."""

    def __init__(self, vault: Path, outside: Path, **options):
        self.vault = vault
        self.outside = outside
        self.model = ScriptedChatModel(lambda _: "An answer in words")
        self.trust = VaultTrust(vault, TrustRecord(outside / "trust.json"))
        self.events = []
        self.page = Page()
        manifest = outside / "plugin.toml"
        manifest.parent.mkdir(exist_ok=True)
        manifest.write_text(BARE)
        self.options = HostOptions(built_in=manifest, **{**USUAL, **options})
        self.host = None
        self.builder = without_attachments

    def configure(self, text):
        (self.vault / ".vault.toml").write_text(text)
        self.trust_the_vault()

    def config(self):
        return settings_of(self.vault, self.trust, built_in=self.options.built_in)

    def add_plugin(self, name, code, manifest="", *, trust=True, **files):
        folder = self.vault / "plugins" / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "plugin.toml").write_text(
            f'id = "{name}"\nname = "{name.title()}"\nversion = "1"\nentry = "main:Plugin"\n'
            + manifest
        )
        (folder / "main.py").write_text(code)
        for module, text in files.items():
            (folder / f"{module}.py").write_text(text)
        with (self.vault / ".vault.toml").open("a") as file:
            file.write(f"[plugins.{name}]\nenabled = true\n")
        if trust:
            self.trust_the_vault()
        return folder

    def trust_the_vault(self):
        grant_all(self.trust, self.config())

    def models(self):
        return Models(
            chat=self.model, fast=None, embedder=ScriptedEmbedder(), chat_is_embedded=False
        )

    async def start(self):
        config = self.config()
        self.host = Host(
            config=config,
            storage=file_storage(config.memory_dir),
            models=self.models(),
            trust=self.trust,
            build_history=self._build_history,
            options=self.options,
        )
        self.host.on_event(lambda name, payload, audience: self.events.append((name, payload)))
        await self.host.start()
        return self

    async def _build_history(self, messages, **more):
        return await self.builder(messages, **more)  # tests exchange it

    async def call(self, name, **params):
        return await self.host.commands.call(name, params, Caller(OWNER, self.page))

    def named(self, name):
        return [payload for event, payload in self.events if event == name]

    async def messages(self, chat_id):
        return messages_of(await self.host.services.storage.chats.load(chat_id))

    def states(self):
        return {state.id: state.state for state in self.host.plugins.states()}

    def reason(self, plugin_id):
        (found,) = [s for s in self.host.plugins.states() if s.id == plugin_id]
        return found.reason

    def reply(self, *replies):
        self.model = ScriptedChatModel(replies)
        if self.host:
            self.host.services.current.models = replace(self.host.models, chat=self.model)
        return self.model


async def until(is_so):
    """Let other tasks run until something is so."""
    async with asyncio.timeout(PATIENCE_S):
        while not is_so():
            await asyncio.sleep(0.001)


@pytest.fixture
def make_bench(tmp_path):
    def make(**options):
        vault = tmp_path / "my vault ü"
        vault.mkdir(exist_ok=True)
        return Bench(vault, tmp_path / "outside", **options)

    return make


@pytest.fixture
def running():
    @asynccontextmanager
    async def run(bench):
        await bench.start()
        try:
            yield bench
        finally:
            async with asyncio.timeout(PATIENCE_S):
                await bench.host.stop()

    return run


@pytest.fixture
async def bench(make_bench, running):
    async with running(make_bench()) as bench:
        yield bench

"""A host that runs the product's own plugin on a vault of notes, with a scripted model."""

import asyncio
from contextlib import asynccontextmanager

import pytest

from smart_context.base.values import OWNER
from smart_context.chat.history import ContextBuilderOptions, build_context
from smart_context.host.commands.registry import Caller
from smart_context.host.host import Host, Models
from smart_context.storage.files.storage import file_storage
from smart_context.vault.trust.vault import TrustRecord, VaultTrust
from tests.patience import PATIENCE_S
from tests.scripted import ScriptedChatModel, ScriptedEmbedder
from tests.trusting import grant_all, settings_of


class NoAttachments:
    async def read(self, attachment_id):
        return None


class Served:
    """A running host and what it said."""

    def __init__(
        self, vault, record, *, embedder=None, fast=None, trusted=True, embedded=False, chat=None
    ):
        self.vault = vault
        self.trust = VaultTrust(vault, TrustRecord(record))
        if trusted:
            self.trust_the_vault()
        self.model = chat or ScriptedChatModel(lambda _: "An answer")
        config = settings_of(vault, self.trust)
        self.host = Host(
            config=config,
            storage=file_storage(config.memory_dir),
            models=Models(
                chat=self.model,
                fast=fast,
                embedder=embedder or ScriptedEmbedder(),
                chat_is_embedded=False,
                embedder_is_embedded=embedded,
            ),
            trust=self.trust,
            build_history=lambda messages, **_more: build_context(
                messages, ContextBuilderOptions(attachment_resolver=NoAttachments())
            ),
        )
        self.events = []
        self.host.on_event(lambda name, payload, audience: self.events.append((name, payload)))

    def trust_the_vault(self):
        grant_all(self.trust, settings_of(self.vault, self.trust))

    async def call(self, verb, **params):
        name = verb if "." in verb else f"smart_context.{verb}"
        return await self.host.commands.call(name, params, Caller(OWNER))

    def named(self, name):
        return [payload for event, payload in self.events if event == name]

    @property
    def asked(self):
        """The messages of the last request."""
        return [dict(message) for message in self.model.asked[-1].messages]


@pytest.fixture
def vault(tmp_path):
    folder = tmp_path / "vault ü"
    folder.mkdir()
    return folder


@pytest.fixture
def notes(vault):
    """Writes notes, given by path."""

    def put(texts):
        for path, text in texts.items():
            (vault / path).parent.mkdir(parents=True, exist_ok=True)
            (vault / path).write_text(text, encoding="utf-8")
        return vault

    return put


@pytest.fixture
def served(vault, tmp_path):
    @asynccontextmanager
    async def run(*, trusted=True, **models):
        running = Served(vault, tmp_path / "trust.json", trusted=trusted, **models)
        await running.host.start()
        try:
            yield running
        finally:
            async with asyncio.timeout(PATIENCE_S):
                await running.host.stop()

    return run

"""An atlas that is brought up to date, with an embedder that can be held."""

import asyncio
import logging

import numpy as np
import pytest

from smart_context.base.values import OWNER
from smart_context.plugin.atlas.atlases import Atlases
from smart_context.relevance.vectors.cache import EmbeddingCache
from smart_context.storage.files.storage import file_storage
from tests.vaults import about, write_chat

pytestmark = pytest.mark.anyio


class HeldEmbedder:
    """Knows a text by its length, once its gate is open."""

    name = "held"

    def __init__(self):
        self.gate = asyncio.Event()

    async def embed(self, texts):
        await self.gate.wait()
        return np.array([[1.0, float(len(text))] for text in texts], dtype=np.float32)


def atlases_of(folder, embedder):
    storage = file_storage(folder)
    cache = EmbeddingCache(storage.vectors, embedder)
    return Atlases(storage, embedder, cache, lambda *_: None, logging.getLogger("atlas"))


def write(vault, chat_id, **more):
    topic = {"label": "Bread", "count": 2, "id": "t1", "message_ids": ["m0", "m1"]}
    write_chat(vault, chat_id, about("How is bread made?", "Of flour."), topics=[topic], **more)


async def test_after_a_restart_only_chats_that_were_not_read_are_pending(tmp_path):
    embedder = HeldEmbedder()
    embedder.gate.set()
    write(tmp_path, "known")
    await atlases_of(tmp_path / ".memory", embedder).refreshed(OWNER)
    write(tmp_path, "new")
    embedder.gate.clear()
    atlases = atlases_of(tmp_path / ".memory", embedder)
    refreshing = asyncio.create_task(atlases.refreshed(OWNER))
    mine = atlases.known(OWNER)
    while not mine.unread:
        await asyncio.sleep(0)
    assert (mine.pending, mine.account()["chats"]) == (1, 1)
    embedder.gate.set()
    assert (await refreshing).pending == 0
    assert mine.account()["chats"] == 2


async def test_a_renamed_chat_has_its_new_title_at_once(tmp_path):
    embedder = HeldEmbedder()
    embedder.gate.set()
    write(tmp_path, "chat")
    atlases = atlases_of(tmp_path / ".memory", embedder)
    before = (await atlases.refreshed(OWNER)).account()
    assert (await atlases.refreshed(OWNER)).account() is before
    write(tmp_path, "chat", title="Baking")
    (topic,) = (await atlases.refreshed(OWNER)).account()["topics"]
    assert topic["chats"][0]["title"] == "Baking"

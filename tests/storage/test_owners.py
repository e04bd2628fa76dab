"""Whose a chat is, also while it changes."""

from dataclasses import replace

import pytest

from smart_context.chat.documents.document import OWNED_BY, Ownership
from smart_context.storage.guarded.owners import Owners
from tests.storage.memory import memory_storage

pytestmark = pytest.mark.anyio


class MadeMeanwhile:
    """Chats of which one is made right after it was looked for."""

    def __init__(self, chats, document):
        self._chats = chats
        self._document = document

    def __getattr__(self, name):
        return getattr(self._chats, name)

    async def value(self, chat_id, key):
        found = await self._chats.value(chat_id, key)
        await self._chats.update(chat_id, lambda document: document.update(self._document))
        return found


async def test_a_chat_that_is_just_being_made_is_not_taken_for_the_owners():
    alices = Ownership("alice")
    storage = memory_storage()
    made = MadeMeanwhile(storage.chats, {"title": "Plans", OWNED_BY: alices.value()})
    assert await Owners(replace(storage, chats=made)).of_chat("c") == alices

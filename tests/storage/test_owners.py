"""Whose a chat is, also while it changes."""

from dataclasses import replace

import pytest

from smart_context.base.errors import StoreFailed
from smart_context.base.values import OWNER
from smart_context.chat.documents.ownership import OWNED_BY, Ownership
from smart_context.storage.files.documents import FileVaultDocuments
from smart_context.storage.guarded.owners import OwnershipIndex
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
    assert await OwnershipIndex(replace(storage, chats=made)).of_chat("c") == alices


class Unlisted:
    """Documents whose names can't be listed for a while."""

    def __init__(self, documents):
        self._documents = documents

    def __getattr__(self, name):
        return getattr(self._documents, name)

    def keys(self, kind):
        raise StoreFailed(f"{kind} can't be listed.")


async def test_a_file_is_not_the_owners_while_nobody_can_tell_whose_it_is():
    storage = memory_storage()
    key = (await storage.blobs.put("a.txt", b"words")).storage_key
    await OwnershipIndex(storage).person_has("alice", key)
    broken = replace(storage, vault_documents=Unlisted(storage.vault_documents))
    with pytest.raises(StoreFailed):
        await OwnershipIndex(broken).has_file(OWNER, key)
    assert not await OwnershipIndex(storage).has_file(OWNER, key)


def test_a_folder_that_can_not_be_listed_is_not_an_empty_one(tmp_path):
    documents = FileVaultDocuments(tmp_path)
    assert documents.keys("holders") == []
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "holders").symlink_to("elsewhere")
    with pytest.raises(StoreFailed, match="holders can't be listed"):
        documents.keys("holders")

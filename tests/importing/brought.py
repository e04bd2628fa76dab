"""Brings a program's file in, and shows what came."""

import base64
import json

from smart_context.base.values import OWNER
from smart_context.importing.taking_in import Importer
from tests.storage.memory import memory_storage

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
PICTURE = f"data:image/png;base64,{base64.b64encode(PNG).decode()}"


async def brought(path, content=None, storage=None):
    """The documents of the chats in a file, by their titles or else ids, and the account."""
    if content is not None:
        path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    storage = storage or memory_storage()
    account = (await Importer(storage).run([path])).row()
    assert account["failed"] == []
    documents = [
        await storage.chats.load(row.id) for row in await storage.chats.listing.rows(OWNER)
    ]
    return {doc.get("title") or doc["source"]["id"]: doc for doc in documents}, account


async def only(path, content=None):
    documents, _ = await brought(path, content)
    (document,) = documents.values()
    return document


def words(document):
    return [
        message["content"]
        if isinstance(message["content"], str)
        else message["content"][-1]["text"]
        for message in document["messages"]
    ]


def parts(document, kind):
    contents = [m["content"] for m in document["messages"] if isinstance(m["content"], list)]
    return [part for content in contents for part in content if kind in {None, part["type"]}]

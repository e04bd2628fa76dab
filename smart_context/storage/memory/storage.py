"""All storage of a vault in this process's memory."""

from smart_context.chat.files.costly_files import ReadText
from smart_context.chat.files.file_text import text_of
from smart_context.storage.alone import NoOthers, OwnLeases
from smart_context.storage.memory.chats import MemoryAnswers, memory_chats
from smart_context.storage.memory.documents import (
    MemoryBlobs,
    MemoryCaches,
    MemoryDocuments,
    MemoryLogs,
    MemoryVaultDocuments,
    MemoryVectors,
)
from smart_context.storage.memory.held import Held
from smart_context.storage.ports import Storage


def memory_storage(held: Held | None = None, *, read_text: ReadText = text_of) -> Storage:
    """A storage that is gone with its process.

    Args:
        held: What other storages hold together with it; by default it holds its own.
        read_text: Reads new attached files.
    """
    held = held or Held()
    blobs = MemoryBlobs(held, read_text)
    return Storage(
        chats=memory_chats(held),
        documents=MemoryDocuments(held),
        vault_documents=MemoryVaultDocuments(held),
        logs=MemoryLogs(held),
        vectors=MemoryVectors(held),
        blobs=blobs,
        answers=MemoryAnswers(held),
        events=NoOthers(),
        leases=OwnLeases(),
        caches=MemoryCaches(),
        clear_up=blobs.remove_unused,
    )

"""All storage of a vault in its memory folder."""

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path

from smart_context.base.disk.files import sweep
from smart_context.base.disk.places import Place, folder_of
from smart_context.chat.files.attached_file import ReadText
from smart_context.chat.files.file_text import text_of
from smart_context.storage.alone import NoOthers, OwnLeases
from smart_context.storage.files.answers import FileAnswers
from smart_context.storage.files.blobs import FILES_FOLDER, FileBlobs
from smart_context.storage.files.caches import FileCaches
from smart_context.storage.files.chats import FileChats, utc_now
from smart_context.storage.files.documents import FileDocuments, FileVaultDocuments
from smart_context.storage.files.logs import FileLogs
from smart_context.storage.files.unused_files import remove_unused
from smart_context.storage.files.vectors import FileVectors
from smart_context.storage.ports import Storage


def file_storage(
    memory: Path | Place,
    *,
    read_text: ReadText = text_of,
    clock: Callable[[], datetime] = utc_now,
    has_people: bool = False,
) -> Storage:
    """The storage in a memory folder; reads and writes nothing yet.

    Args:
        memory: The folder; need not exist.
        read_text: Reads new attached files; a server passes one that a hostile file can't block.
        clock: The time, for the names of deleted chats and of files set aside.
        has_people: Several people share the vault.
    """
    folder = folder_of(memory)
    return Storage(
        chats=FileChats(folder, clock=clock, has_people=has_people),
        documents=FileDocuments(folder),
        vault_documents=FileVaultDocuments(folder),
        logs=FileLogs(folder),
        vectors=FileVectors(folder),
        blobs=FileBlobs(folder / FILES_FOLDER, read_text),
        answers=FileAnswers(folder),
        events=NoOthers(),
        leases=OwnLeases(),
        caches=FileCaches(folder),
        clear_up=partial(_clear_up, folder),
    )


def _clear_up(memory: Place, now: float) -> Sequence[str]:
    sweep(memory)
    return remove_unused(memory, now=now)

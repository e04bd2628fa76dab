"""The defaults of `SmartContexts` for programs that give it only a folder: files of that vault."""

from pathlib import Path

from smart_context.base.caches import Caches
from smart_context.base.disk.places import place_below
from smart_context.storage.files.caches import FileCaches
from smart_context.storage.files.documents import FileVaultDocuments
from smart_context.storage.ports import VaultDocuments


def library_caches(root: Path, memory: Path) -> Caches:
    """Files in the memory folder, which is made when it is missing."""
    return FileCaches(place_below(root, memory), makes_folder=True)


def library_documents(root: Path, memory: Path) -> VaultDocuments:
    """Files in the memory folder."""
    return FileVaultDocuments(place_below(root, memory))

"""`doctor --prove`: shows that only the memory folder of a vault is written.

All files are hashed, everything that reads the vault runs once, and they are hashed again.
"""

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

from smart_context.app.composition import open_storage, read_vault, running_host
from smart_context.app.examination import Finding
from smart_context.base.errors import SmartContextError
from smart_context.base.text.scores import counted
from smart_context.base.values import OWNER
from smart_context.contexts import SmartContexts
from smart_context.host.commands.registry import Caller
from smart_context.storage.ports import Storage
from smart_context.vault import survey
from smart_context.vault.index.passages import VaultPassages
from smart_context.vault.index.vault_index import VaultIndex

_CHUNK = 1 << 20
_MAX_NAMED = 10
_MAX_NOTES = 50

Print = tuple[int, int, str]
"""A file's mode, time of change in ns, and hash of the content."""


@dataclass(frozen=True, slots=True)
class Proof:
    """The result of the comparison."""

    files: int  # number of files and folders that were compared
    changed: tuple[str, ...]  # changed paths, sorted, relative to the vault
    done: tuple[str, ...]  # what ran in between

    def as_finding(self) -> Finding:
        """The result as a finding of the doctor."""
        if not self.changed:
            found = f"{self.files} files and folders unchanged after {', '.join(self.done)}"
            return Finding(what="nothing is written", state="ok", found=found)
        named = ", ".join(self.changed[:_MAX_NAMED])
        more = len(self.changed) - _MAX_NAMED
        return Finding(
            what="nothing is written",
            state="failed",
            found=f"changed: {named}" + (f" and {more} more" if more > 0 else ""),
            next_step="Close other programs that may write there, and try again.",
        )


async def prove(root: Path) -> Proof:
    """Compare the vault at `root` before and after everything that reads it runs.

    Raises:
        ConfigInvalid: If `.vault.toml` has faults.
    """
    memory = read_vault(root).memory_dir
    before = dict(prints(root, memory))
    done = [*_read_notes(root, memory, open_storage(root)), *await _preview_turns(root)]
    after = dict(prints(root, memory))
    names = before.keys() | after.keys()
    changed = sorted(name for name in names if before.get(name) != after.get(name))
    return Proof(len(before), tuple(changed), tuple(done))


def prints(root: Path, memory: Path) -> Iterator[tuple[str, Print]]:
    """A print of each file and folder of the vault, without the memory folder.

    Dot-folders and ignored files are included. Of a link, the target's name is hashed.
    """
    pending = [root]
    while pending:
        folder = pending.pop()
        for entry in _entries(folder):
            path = Path(entry.path)
            if path == memory:
                continue
            try:
                status = entry.stat(follow_symlinks=False)
            except OSError:
                continue  # removed since it was listed
            is_folder = stat.S_ISDIR(status.st_mode)
            if is_folder:
                pending.append(path)
            # A folder's time changes when the memory folder is created; its entries don't.
            time = 0 if is_folder else status.st_mtime_ns
            yield path.relative_to(root).as_posix(), (status.st_mode, time, _hash(path, status))


def _entries(folder: Path) -> "list[os.DirEntry[str]]":
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []


def _hash(path: Path, status: os.stat_result) -> str:
    digest = blake2b(digest_size=16)
    try:
        if stat.S_ISLNK(status.st_mode):
            return f"link to {path.readlink()}"
        if not stat.S_ISREG(status.st_mode):
            return ""
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK):
                digest.update(chunk)
    except OSError as error:
        return f"unreadable: {error.strerror}"
    return digest.hexdigest()


def _read_notes(root: Path, memory: Path, storage: Storage) -> list[str]:
    """Index the vault, query the index, and build contexts."""
    index = VaultIndex(root, memory, caches=storage.caches)
    try:
        index.refresh()
        paths = index.names.all()
        for _ in survey.unresolved(index):
            pass
        survey.orphans(index)
        survey.tags(index)
        contexts = SmartContexts(root, None, memory, index=index, documents=storage.vault_documents)
        built = 0
        for key in contexts.keys():  # noqa: SIM118 - not a dict
            if context := contexts.get(key):
                context.compile()
                built += 1
        some = dict.fromkeys(paths[:_MAX_NOTES], True)
        options = contexts.options.override(
            {"link_depth": 2, "inlinks": True, "expand_embeds": True, "max_len": 1_000_000}
        )
        contexts.snapshot_of(some, options)
        VaultPassages(index).find("What is this about?", 5)
    finally:
        index.close()
    return [
        f"an index of {counted(len(paths), 'file')}",
        counted(built + 1, "context"),
        "a search for passages",
    ]


async def _preview_turns(root: Path) -> list[str]:
    """Preview a turn in each chat."""
    chats = [summary.id for summary in await open_storage(root).chats.listing.rows(OWNER)]
    shown = 0
    async with running_host(root) as host:
        for chat_id in chats:
            params = {"chat_id": chat_id, "message": "And now?"}
            try:
                await host.commands.call("smart_context.preview", params, Caller(OWNER))
                shown += 1
            except SmartContextError:
                continue  # the plugin is off, or the chat damaged: other findings say so
    return [f"the preview of a turn in {counted(shown, 'chat')}"]

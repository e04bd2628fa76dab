"""Named contexts, stored in the memory folder and built from the vault on demand."""

import hashlib
import json
import time
import unicodedata
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from smart_context.base.errors import PathRefused, StoreFailed
from smart_context.base.text.names import names_device
from smart_context.base.values import JsonObject
from smart_context.contexts.as_a_library import library_caches, library_documents
from smart_context.contexts.embeds import EmbeddedTexts
from smart_context.contexts.options import ContextOptions, stored_options
from smart_context.contexts.render import Compiled, path_of, render
from smart_context.contexts.snapshot import (
    Snapshot,
    VaultTexts,
    patterns_of,
    select_items,
    take_snapshot,
)
from smart_context.storage.ports import VaultDocuments
from smart_context.vault.guarded.paths import status_of
from smart_context.vault.index.vault_index import VaultIndex

_KIND = "contexts"
_AGE = "{{ITEM_TIME_AGO}}"


class SmartContexts:
    """The named contexts of a vault; constructing it reads and writes nothing.

    Args:
        settings: Options of all contexts; a context's and a call's override them.
        memory_dir: The folder for stored contexts, relative to the vault.
        index: The vault's index; by default a new one.
        documents: Keeps the contexts; by default the files in the memory folder.

    Raises:
        TypeError: If an option in `settings` is unknown.
        ValueError: If an option is of the wrong kind.
    """

    def __init__(
        self,
        vault_path: str | Path,
        settings: Mapping[str, Any] | None = None,
        memory_dir: str | Path = ".memory",
        *,
        index: VaultIndex | None = None,
        documents: VaultDocuments | None = None,
    ) -> None:
        self.root = Path(vault_path)
        self.options = ContextOptions().override(settings)
        memory = self.root / memory_dir
        self.index = index or VaultIndex(
            self.root, memory, caches=library_caches(self.root, memory)
        )
        self._documents = documents or library_documents(self.root, memory)

    def create(
        self,
        context_items: Mapping[str, Any],
        key: str | None = None,
        context_opts: Mapping[str, Any] | None = None,
    ) -> "SmartContext":
        """Store a context; one of the same key is replaced.

        Args:
            context_items: Names of notes, folders, `note#Heading` and `note#^block`; one with a
                falsy flag is ignored.
            key: Its name; default: a hash of the items.

        Raises:
            TypeError: If an option in `context_opts` is unknown.
            ValueError: If an option is of the wrong kind, or the key is too long for a file name;
                or it is new, and some system takes it for another's or for a device.
            StoreFailed: If it can't be written.
        """
        items = {str(name): bool(flag) for name, flag in context_items.items()}
        context = SmartContext(self, key or _hash_of(items), items, stored_options(context_opts))
        _check_new(context.key, self.keys())
        document = {
            "key": context.key,
            "context_items": context.context_items,
            "context_opts": context.context_opts,
        }
        self._documents.write(_KIND, context.key, document)
        return context

    def get(self, key: str) -> "SmartContext | None":
        """The context of that name; `None` if there is none.

        Raises:
            StoreFailed: If its file is damaged.
        """
        try:
            document = self._documents.read(_KIND, key) if key else None
            return None if document is None else self._of(key, document)
        except (StoreFailed, ValueError, TypeError, KeyError, AttributeError) as error:
            raise StoreFailed(
                f"The context {key!r} can't be read: {error} "
                "Repair its file, or delete it and save the context again."
            ) from error

    def keys(self) -> list[str]:
        """The names of all contexts, sorted."""
        return self._documents.keys(_KIND)

    def delete(self, key: str) -> bool:
        """Delete a context; True if there was one.

        Raises:
            StoreFailed: If the disk refuses.
        """
        return bool(key) and self._documents.delete(_KIND, key)

    def close(self) -> None:
        """Close the index's file; it is reopened when needed."""
        self.index.close()

    def snapshot_of(self, items: Mapping[str, Any], options: ContextOptions) -> Snapshot:
        """The current content of items, stored as a context or not; see `take_snapshot`."""
        selected = select_items(self.root, items, self.index.files_below)
        if options.link_depth or options.expand_embeds:
            self.index.catch_up()
        texts: VaultTexts = self.index
        if options.expand_embeds:
            texts = EmbeddedTexts(self.index, patterns_of(options))
        return take_snapshot(selected, options, texts)

    def modified(self, keys: Iterable[str]) -> dict[str, float]:
        """The modification times of items' files, in seconds, by key; without missing files."""
        times: dict[str, float] = {}
        for key in keys:
            try:
                times[key] = status_of(self.root, path_of(key)).st_mtime
            except (OSError, ValueError, PathRefused):
                continue
        return times

    def _of(self, key: str, document: JsonObject) -> "SmartContext":
        return SmartContext(
            self,
            key,
            {str(name): bool(flag) for name, flag in document["context_items"].items()},
            stored_options(document.get("context_opts")),
        )


class SmartContext:
    """One named context: its items and its options.

    Attributes:
        context_items: The listed names with their flags.
        context_opts: Its own options, as JSON values.
    """

    def __init__(
        self,
        contexts: SmartContexts,
        key: str,
        context_items: Mapping[str, bool],
        context_opts: Mapping[str, Any],
    ) -> None:
        self.key = key
        self.context_items = dict(context_items)
        self.context_opts = dict(context_opts)
        self._contexts = contexts

    def get_snapshot(self, opts: Mapping[str, Any] | None = None, **more: Any) -> Snapshot:
        """The current content by depth, and what is left out; unknown names are reported in it.

        Args:
            more: Options of this call by name; they override `opts`.

        Raises:
            TypeError: If an option in `opts` or `more` is unknown.
            ValueError: If an option is of the wrong kind.
        """
        return self._contexts.snapshot_of(self.context_items, self.options(opts).override(more))

    def compile(
        self,
        snapshot: Snapshot | None = None,
        opts: Mapping[str, Any] | None = None,
        **more: Any,
    ) -> Compiled:
        """The text of a snapshot, by default of the current content; see `render`.

        Args:
            snapshot: Taken earlier, or made by hand.
            more: Options of this call by name; they override `opts`.

        Raises:
            TypeError: If an option in `opts` or `more` is unknown.
            ValueError: If an option is of the wrong kind.
        """
        options = self.options(opts).override(more)
        if snapshot is None:
            snapshot = self._contexts.snapshot_of(self.context_items, options)
        modified: dict[str, float] = {}
        if any(_AGE in part.before + part.after for part in options.templates.values()):
            keys = (key for texts in snapshot.items.values() for key in texts)
            modified = self._contexts.modified(keys)
        return render(snapshot, options, modified=modified, now=time.time())

    def options(self, opts: Mapping[str, Any] | None = None) -> ContextOptions:
        """The effective options: of the call, else the context, else all contexts."""
        return self._contexts.options.override(self.context_opts).override(opts)


def _check_new(key: str, present: Collection[str]) -> None:
    """Refuse a new key that some system takes for a device, or for another context's."""
    if key in present:
        return
    if names_device(key):
        raise ValueError(f"key: Windows keeps the name {key!r} for a device; choose another")
    alike = next((other for other in present if _folded(other) == _folded(key)), None)
    if alike is not None:
        raise ValueError(
            f"key: there is a context {alike!r}, which some systems take for {key!r}; choose a name"
            " that differs in more than case"
        )


def _folded(key: str) -> str:
    return unicodedata.normalize("NFC", key).casefold()


def _hash_of(items: Mapping[str, bool]) -> str:
    listed = json.dumps(list(items.items()), separators=(",", ":"))
    return hashlib.sha256(listed.encode()).hexdigest()[:16]

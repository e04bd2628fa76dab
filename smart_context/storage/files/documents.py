"""JSON objects on disk: side-cars of chats, and objects of the vault as a whole."""

import contextlib
import json
import logging
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import Any, cast

from smart_context.base.disk.files import (
    FileReplaced,
    Signature,
    atomic_write,
    read_file,
    replace_unless_changed,
    signature_of,
    sweep,
)
from smart_context.base.disk.folders import opened
from smart_context.base.disk.places import Place, folder_of
from smart_context.base.errors import StoreFailed
from smart_context.base.threads import run_uncancelled
from smart_context.base.values import JsonObject, encoded, parsed
from smart_context.chat.ids import check_chat_id, file_stamp, sidecar_name
from smart_context.storage.names import key_of, name_of
from smart_context.storage.ports import Conflict, Document, Revision

MAX_BYTES = 32 << 20
"""The largest side-car of a chat, in bytes."""

MAX_VAULT_BYTES = 16 << 20
"""The largest object of the vault as a whole, in bytes."""

_logger = logging.getLogger(__name__)


class FileDocuments:
    """The files `<chat_id>.<name>.json`, next to the chats; satisfies `ChatDocuments`."""

    def __init__(self, folder: Path | Place) -> None:
        self._folder = folder_of(folder)

    async def read(
        self, chat_id: str, *names: str, known: Sequence[Document] = ()
    ) -> tuple[Document, ...]:
        """The objects of these names; a damaged one is empty and marked as damaged."""
        places = [self._place(chat_id, name) for name in names]
        before = zip_longest(places, known[: len(places)])
        return await run_uncancelled(lambda: tuple(_read(place, last) for place, last in before))

    async def replace(
        self,
        chat_id: str,
        name: str,
        value: Mapping[str, Any],
        *,
        expected: Revision | None,
        keeps_copy: bool = False,
    ) -> Document:
        return await run_uncancelled(
            partial(_replaced, self._place(chat_id, name), value, expected, keeps_copy=keeps_copy)
        )

    def _place(self, chat_id: str, name: str) -> Place:
        return self._folder / sidecar_name(check_chat_id(chat_id), f"{name}.json")


def _read(place: Place, last: Document | None) -> Document:
    if last is not None and signature_of(place) == last.revision:
        return last
    found = read_file(place, max_bytes=MAX_BYTES)
    if found is None:
        return Document()
    signature, content = found
    value = parsed(content)
    if value is None:
        _logger.warning("%s can't be read as a JSON object.", place)
        return Document(revision=signature, is_damaged=True)
    return Document(value=value, revision=signature)


def _replaced(
    place: Place, value: Mapping[str, Any], expected: Revision | None, *, keeps_copy: bool = False
) -> Document:
    before = cast("Signature | None", expected)  # as `_read` or this function returned it
    try:
        if keeps_copy and before is not None:
            _keep_copy(place, before)
        signature = replace_unless_changed(place, encoded(value), before)
    except FileReplaced as error:
        raise Conflict(str(error)) from error
    return Document(value=dict(value), revision=signature)


def _keep_copy(place: Place, damaged: Signature) -> None:
    """Keep a copy of a damaged file, under another name in the same folder."""
    found = read_file(place, max_bytes=MAX_BYTES)
    if found is None or found[0] != damaged:
        raise FileReplaced(str(place))
    seconds, rest = divmod(damaged.mtime_ns, 10**9)
    stamp = f"{file_stamp(datetime.fromtimestamp(seconds, UTC))}-{rest:09}"
    copy = place.parent / f"{place.name.removesuffix('.json')}.damaged-{stamp}.json"
    with contextlib.suppress(FileReplaced):  # the copy of an earlier try
        replace_unless_changed(copy, found[1], None)
    _logger.warning("%s is replaced; as it was, it is kept as %s.", place, copy.name)


_ATLAS = "atlas"
"""The key of the atlas. Its file is `atlas.jsonl`: with `.json` it would be a chat's file."""


class FileVaultDocuments:
    """The files `<kind>/<key>.json`, without a kind `.<key>.json`; satisfies `VaultDocuments`.

    A file has the name of its key, with escapes for characters that no file name can hold.
    """

    def __init__(self, folder: Path | Place) -> None:
        self._folder = folder_of(folder)

    def read(self, kind: str, key: str) -> JsonObject | None:
        try:
            place = self._place(kind, key)
        except ValueError:
            return None
        try:
            with opened(place.parent) as folder:
                if not folder.lists(place.name):  # a file of another key, where case folds
                    return None
                value = json.loads(folder.read(place.name, MAX_VAULT_BYTES)[1])
        except FileNotFoundError:
            return None
        except (OSError, ValueError, RecursionError) as error:  # nested too deeply
            raise StoreFailed(f"{place} can't be read: {error}.") from error
        if not isinstance(value, dict):
            raise StoreFailed(f"{place} can't be read: it holds no JSON object.")
        return value

    def write(self, kind: str, key: str, value: Mapping[str, Any]) -> str:
        place = self._place(kind, key)
        _check_spelling(place)
        sweep(place.parent)
        atomic_write(place, _as_file(place, value))
        return str(place)

    def add(self, kind: str, key: str, value: Mapping[str, Any]) -> bool:
        place = self._place(kind, key)
        _check_spelling(place)
        try:
            replace_unless_changed(place, _as_file(place, value), None)
        except FileReplaced:
            return False
        return True

    def delete(self, kind: str, key: str) -> bool:
        try:
            place = self._place(kind, key)
        except ValueError:
            return False
        try:
            with opened(place.parent) as folder:
                if not folder.lists(place.name):
                    return False
                folder.remove(place.name)
        except FileNotFoundError:
            return False
        except OSError as error:
            raise StoreFailed(f"{place} can't be deleted: {error}.") from error
        return True

    def keys(self, kind: str) -> list[str]:
        place = self._folder / kind
        try:
            with opened(place) as folder:
                names = list(folder.names())
        except FileNotFoundError:
            return []
        except OSError as error:
            raise StoreFailed(f"{place} can't be listed: {error}.") from error
        return sorted(
            key_of(name.removesuffix(".json"))
            for name in names
            if name.endswith(".json") and not name.startswith(".")
        )

    def _place(self, kind: str, key: str) -> Place:
        name = name_of(key)
        if not kind:
            return self._folder / (f"{name}.jsonl" if key == _ATLAS else f".{name}.json")
        return self._folder / f"{kind}/{name}.json"


def _check_spelling(place: Place) -> None:
    """Refuse to replace the file of another key, which some systems find by this name, too."""
    with contextlib.suppress(OSError), opened(place.parent) as folder:
        if not folder.lists(place.name):
            raise StoreFailed(f"{place} is kept under another spelling of its name; rename one.")


def _as_file(place: Place, value: Mapping[str, Any]) -> bytes:
    return encoded(value, indent=2 if place.name.endswith(".json") else None)

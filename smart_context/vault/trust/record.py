"""The user's grants: `trust.json` in the user's configuration folder."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from smart_context.base.config import CATEGORIES
from smart_context.base.disk.files import locked, write_object
from smart_context.base.disk.folders import Folder, opened
from smart_context.base.disk.places import Place
from smart_context.base.errors import StoreFailed
from smart_context.base.values import parsed
from smart_context.vault.trust.parts import NOTHING_GRANTED, Grant, Kind, Pin

RECORD_NAME = "trust.json"

_VERSION = 3
_CONTENT_KEYS = {
    "endpoint": "base_url",
    "plugins": "digest",
    "roles": "digest",
    "instructions": "digest",
    "agents": "",
    "storage": "url",
    "access": "digest",
    "git": "",
}


class TrustRecord:
    """Remembers what the user has granted to each vault. All of it blocks.

    A record that is missing, damaged or of a later version grants nothing.

    Args:
        path: The record, outside every vault; made when trust is first given.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def granted(self, root: Path) -> Grant:
        """The grant of the vault at `root`."""
        return self.vaults().get(root.resolve(), NOTHING_GRANTED)

    def vaults(self) -> Mapping[Path, Grant]:
        """The grants of all vaults that have any."""
        entries = {Path(root): _grant_of(entry) for root, entry in self._read().items()}
        return {root: grant for root, grant in entries.items() if grant.pins}

    def store(self, root: Path, grant: Grant) -> None:
        """Replace the grant of the vault at `root`.

        Raises:
            StoreFailed: If the record can't be written.
        """
        key = str(root.resolve())
        with _opened(self.path.parent) as folder, locked(folder):
            vaults = self._read()
            if grant.pins:
                vaults[key] = _entry_of(grant)
            elif vaults.pop(key, None) is None:
                return
            self._write(vaults)

    def _read(self) -> dict[str, Any]:
        try:
            record = parsed(self.path.read_bytes()) or {}
        except OSError:
            return {}
        vaults = record.get("vaults") if record.get("version") in (1, 2, _VERSION) else None
        return vaults if isinstance(vaults, dict) else {}

    def _write(self, vaults: Mapping[str, Any]) -> None:
        record = {"version": _VERSION, "vaults": vaults}
        private = Place(self.path.parent, (self.path.name,))
        write_object(private, record, indent=2)


def _opened(folder: Path) -> Folder:
    try:
        return opened(Place(folder), make=True)
    except OSError as error:
        reason = error.strerror or error
        raise StoreFailed(
            f"{folder} can't be opened: {reason}. Nothing was granted or revoked."
        ) from error


def _grant_of(entry: object) -> Grant:
    """The grant of an entry; in version 1 it has only the digest of the plugins.

    In version 2 endpoints have no category, so they are granted for none.
    """
    if not isinstance(entry, dict):
        return NOTHING_GRANTED
    listed = entry.get("parts", [{"kind": "plugins", "digest": entry.get("digest")}])
    pins = (_pin_of(part) for part in listed) if isinstance(listed, list) else ()
    granted_at = entry.get("granted_at")
    return Grant(
        pins=frozenset(pin for pin in pins if pin is not None),
        granted_at=granted_at if isinstance(granted_at, str) else "",
    )


def _pin_of(part: object) -> Pin | None:
    kind = part.get("kind") if isinstance(part, dict) else None
    if not isinstance(part, dict) or not isinstance(kind, str) or kind not in _CONTENT_KEYS:
        return None
    content, variable = part.get(_CONTENT_KEYS[kind], ""), part.get("api_key_env", "")
    category = part.get("category", "")
    if not isinstance(content, str) or not isinstance(variable, str):
        return None
    if category not in (CATEGORIES if kind == "endpoint" else ("",)):
        return None
    return Pin(cast("Kind", kind), content, variable, category)


def _entry_of(grant: Grant) -> dict[str, Any]:
    parts = []
    for pin in sorted(grant.pins):
        content = {_CONTENT_KEYS[pin.kind]: pin.content} if pin.content else {}
        of_endpoint = {"api_key_env": pin.api_key_env, "category": pin.category}
        parts.append({"kind": pin.kind, **content, **(of_endpoint if pin.category else {})})
    return {"granted_at": grant.granted_at, "parts": parts}

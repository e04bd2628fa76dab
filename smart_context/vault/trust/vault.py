"""Compares a vault's files and settings with the user's record of trust, `trust.json`.

Everything here blocks; run it in a thread. The record is read each time, so consent given or
revoked in another process counts at once.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

from smart_context.base.config import CATEGORIES, VaultConfig
from smart_context.base.config.storage import IN_FILES
from smart_context.base.disk.files import could_not
from smart_context.base.disk.folders import Folder, opened
from smart_context.base.disk.locks import locked
from smart_context.base.disk.places import Place
from smart_context.base.disk.shared_file import write_object
from smart_context.base.errors import StoreFailed, TrustRequired
from smart_context.base.text.names import shown
from smart_context.base.times import utc_stamp
from smart_context.base.values import parsed
from smart_context.vault.trust.files import (
    FoundFiles,
    RoleFiles,
    find_plugin_files,
    find_role_files,
    plugin_files,
    role_files,
)
from smart_context.vault.trust.parts import (
    AGENTS_PIN,
    NOTHING_GRANTED,
    FileSet,
    Grant,
    Pin,
    Review,
    TrustKind,
    VaultPart,
    access_part,
    connection_pin,
    endpoint_pin,
    files_by_folder,
    granted_after,
    instructions_pin,
    parts_of,
    storage_pin,
)

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
            StoreFailed: If the record can't be read, so that its grants could be lost or stay in
                force, or can't be written.
        """
        key = str(root.resolve())
        with _opened(self.path.parent) as folder, locked(folder):
            vaults = self._read_surely()
            if grant.pins:
                vaults[key] = _entry_of(grant)
            elif vaults.pop(key, None) is None:
                return
            self._write(vaults)

    def _read(self) -> dict[str, Any]:
        try:
            return self._read_surely()
        except StoreFailed:
            return {}

    def _read_surely(self) -> dict[str, Any]:
        try:
            record = parsed(self.path.read_bytes()) or {}
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise could_not("read", self.path, error) from error
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
    return Pin(cast("TrustKind", kind), content, variable, category)


def _entry_of(grant: Grant) -> dict[str, Any]:
    parts = []
    for pin in sorted(grant.pins):
        content = {_CONTENT_KEYS[pin.kind]: pin.content} if pin.content else {}
        of_endpoint = {"api_key_env": pin.api_key_env, "category": pin.category}
        parts.append({"kind": pin.kind, **content, **(of_endpoint if pin.category else {})})
    return {"granted_at": grant.granted_at, "parts": parts}


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnRoles:
    """The trusted roles and templates of a vault."""

    names: frozenset[str] = frozenset()  # all files, by their paths below `roles/`
    # the trusted bytes; empty while the roles are off
    contents: Mapping[str, bytes] = field(default_factory=dict)

    @property
    def are_off(self) -> bool:
        """True if there are roles that may not be used."""
        return bool(self.names) and not self.contents


class VaultTrust:
    """The trust in one vault."""

    def __init__(self, root: Path, record: TrustRecord) -> None:
        self.root = root.resolve()
        self._record = record
        self._plugins: tuple[FoundFiles, FileSet] | None = None
        self._roles: tuple[FoundFiles, RoleFiles] | None = None
        self._missed_git = False

    def grant(self) -> Grant:
        """The vault's grant."""
        return self._record.granted(self.root)

    def review(self, config: VaultConfig) -> Review:
        """The vault's parts, compared with its grant."""
        enabled = {name for name, of in config.plugins.items() if of.get("enabled") is True}
        parts, grant = _endpoint_parts(config), self.grant()
        if not (plugins := self._plugin_files()).is_empty:
            parts.append(_plugins_part(plugins, enabled))
        if not (roles := self._role_files().set).is_empty:
            parts.append(VaultPart(pin=Pin("roles", roles.digest), files=roles))
        if config.named_instructions:
            told = config.named_instructions
            parts.append(VaultPart(pin=instructions_pin(told), text=told))
        if config.named_agents_may_write:
            parts.append(VaultPart(pin=AGENTS_PIN))
        if config.named_storage != IN_FILES:
            parts.append(VaultPart(pin=storage_pin(config.named_storage)))
        if access := access_part(config, grant):
            parts.append(access)
        if is_repository(self.root):
            parts.append(VaultPart(pin=Pin("git"), is_in_use=self._missed_git))
        return Review(parts=tuple(parts), grant=grant)

    def plugins(self) -> FileSet | None:
        """The files of the vault's plugins; `None` when they may not run."""
        grant = self.grant()
        if not any(pin.kind == "plugins" for pin in grant.pins):
            return None
        files = self._plugin_files()
        part = VaultPart(pin=Pin("plugins", files.digest), files=files)
        return files if grant.covers(part) else None

    def roles(self) -> OwnRoles:
        """The vault's roles and templates; not read while they are off."""
        found = find_role_files(self.root)
        names = frozenset((*found.refused, *(name for name, *_ in found.stamps)))
        grant = self.grant()
        if not names or not any(pin.kind == "roles" for pin in grant.pins):
            return OwnRoles(names=names)
        read = self._role_files()
        part = VaultPart(pin=Pin("roles", read.set.digest), files=read.set)
        return OwnRoles(names=names, contents=read.contents if grant.covers(part) else {})

    def allows_git(self) -> bool:
        """True if git may run in the vault; a refusal is remembered, to be shown."""
        allowed = Pin("git") in self.grant().pins
        self._missed_git = self._missed_git or not allowed
        return allowed

    def trust(self, review: Review, parts: tuple[VaultPart, ...]) -> None:
        """Grant the reviewed parts.

        Raises:
            TrustRequired: If one of them has files that can't be trusted; names them.
            StoreFailed: If the record can't be written.
        """
        for part in parts:
            if part.refused:
                names = ", ".join(shown(name) for name in part.refused)
                raise TrustRequired(
                    f"{self.root / part.pin.kind}: these can't be trusted, since they are links, "
                    f"special files, too large or unreadable: {names}. Replace or remove them"
                )
        grant = granted_after(review, parts, granted_at=utc_stamp())
        self._record.store(self.root, grant)

    def revoke(self) -> None:
        """Revoke all grants of the vault; raises `StoreFailed` if the record can't be written."""
        self._record.store(self.root, Grant())

    def _plugin_files(self) -> FileSet:
        found = find_plugin_files(self.root)
        if self._plugins is None or self._plugins[0] != found:
            self._plugins = found, plugin_files(found)
        return self._plugins[1]

    def _role_files(self) -> RoleFiles:
        found = find_role_files(self.root)
        if self._roles is None or self._roles[0] != found:
            self._roles = found, role_files(found)
        return self._roles[1]


def _endpoint_parts(config: VaultConfig) -> list[VaultPart]:
    """The endpoints that a vault names for categories, and those that it connects for chats."""
    asked: dict[Pin, set[str]] = {}
    for category, endpoint in config.named.items():
        if endpoint is not None:
            asked.setdefault(endpoint_pin(category, endpoint), set()).add(endpoint.model)
    for connection in config.named_connections.values():
        asked.setdefault(connection_pin(connection), set()).add(connection.endpoint.model)

    def models(pins: Iterable[Pin]) -> Iterator[tuple[str, str]]:
        for pin in pins:
            yield from ((pin.category, model) for model in sorted(asked[pin]) if model)

    return [
        replace(part, models=tuple(models(pin for pin in asked if pin in part.pins)))
        for part in parts_of(asked)
    ]


def _plugins_part(files: FileSet, enabled: set[str]) -> VaultPart:
    named = files_by_folder([*files.files, *files.refused])
    used = tuple(sorted(enabled.intersection(named)))
    return VaultPart(
        pin=Pin("plugins", files.digest), files=files, used_for=used, is_in_use=bool(used)
    )


_BARE = ("HEAD", "objects", "refs")


def is_repository(root: Path) -> bool:
    """True if `root`, or a folder above it, has a `.git` or is a bare repository."""
    folder = root.resolve()
    return any(_is_top(above) for above in (folder, *folder.parents))


def _is_top(folder: Path) -> bool:
    return (folder / ".git").exists() or all((folder / name).exists() for name in _BARE)

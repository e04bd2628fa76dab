"""Reads roles by name, merged with the roles that they extend.

A role is a TOML file with the fields of `RoleConfig`. Roles of a vault or repository, in
`roles/<name>.toml`, override shipped roles of the same name.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from smart_context.packing.roles.document import parse_role, role_fault
from smart_context.packing.roles.folder import ROLE_NAME, SHIPPED, RoleFolder, RoleSource
from smart_context.packing.roles.role import RoleConfig, RoleContext


class RoleLoader:
    """Reads roles by name.

    Args:
        root: The vault or repository whose `roles` folder comes first; `None` for the shipped
            roles only.
        folders: Folders to use before the shipped roles, instead of `root`'s.
        warn: Called with a warning about a setting that is ignored; logs it by default.
    """

    def __init__(
        self,
        root: Path | str | None = None,
        *,
        folders: Sequence[RoleFolder] | None = None,
        warn: Callable[[str], None] | None = None,
    ) -> None:
        if folders is None:
            path = None if root is None else Path(root) / "roles"
            folders = () if path is None else (RoleFolder(path=path, source="vault"),)
        self._folders = (*folders, SHIPPED)
        self._warn = warn or _log

    def names(self) -> list[str]:
        """The names of all roles, sorted."""
        return sorted({name for folder in self._folders for name in folder.names()})

    def source(self, name: str) -> RoleSource | None:
        """The owner of the role of that name; `None` if there is none."""
        return next((folder.source for folder in self._folders if folder.has(name)), None)

    def is_own(self, name: str) -> bool:
        """True if the role of that name is the vault's or repository's own."""
        return self.source(name) == "vault"

    def load_role(self, name: str) -> RoleConfig:
        """The role of that name, merged with the roles that it extends.

        A role that extends its own name extends the shipped one. Lists are appended, tables
        merged, other values overridden. `allow_secrets` is ignored in a vault's or repository's
        role, and in one extended by such a role.

        Raises:
            ConfigInvalid: If the role does not exist, extends itself in a circle, or its file or
                an extended one has faults; lists all faults of the first such file.
        """
        lineage = self._lineage(name)
        merged: dict[str, Any] = {}
        for _, document in reversed(lineage):
            merged = _merged(merged, document)
        is_ours = all(folder.source != "vault" for folder, _ in lineage)
        if not is_ours and merged.get("context", {}).pop("allow_secrets", False):
            self._warn(f"Role {name!r} can't allow secrets: it is this folder's role, not yours.")
        context: dict[str, Any] = {
            key: tuple(value) if isinstance(value, list) else value
            for key, value in merged.pop("context", {}).items()
        }
        merged.pop("extends", None)
        merged["name"] = lineage[0][1].get("name", name)
        return RoleConfig(**merged, context=RoleContext(**context))

    def _lineage(self, name: str) -> list[tuple[RoleFolder, dict[str, Any]]]:
        """Folder and document of the role, then of each role that it extends."""
        lineage: list[tuple[RoleFolder, dict[str, Any]]] = []
        before: list[Path] = []
        wanted: str | None = name
        while wanted is not None:
            folder = self._find(wanted, before)
            path = folder.file(wanted)
            if path in before:
                circle = " → ".join(entry.stem for entry in [*before, path])
                raise role_fault(before[-1], "extends", f"the roles extend each other: {circle}")
            lineage.append((folder, parse_role(path, _read(folder, wanted))))
            before.append(path)
            wanted = lineage[-1][1].get("extends")
        return lineage

    def _find(self, name: str, after: Sequence[Path]) -> RoleFolder:
        if not ROLE_NAME.fullmatch(name):
            place = after[-1] if after else self._folders[0].path
            raise role_fault(
                place, "extends" if after else "name", f"{name!r} is not a valid name of a role"
            )
        candidates = [*self._folders]
        if after and after[-1].stem == name:
            unseen = [folder for folder in candidates if folder.file(name) not in after]
            candidates = unseen or candidates
        for folder in candidates:
            if folder.has(name):
                return folder
        known = ", ".join(self.names())
        if not after:
            raise role_fault(
                self._folders[0].path, "", f"there is no role {name!r}; there are {known}"
            )
        if after[-1].stem == name:
            message = f"there is no shipped role {name!r} to extend; there are {known}"
            raise role_fault(after[-1], "extends", message)
        raise role_fault(after[-1], "extends", f"there is no role {name!r}; there are {known}")


def _log(warning: str) -> None:
    import logging  # noqa: PLC0415  11 ms, only for a warning

    logging.getLogger(__name__).warning("%s", warning)


def _merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in over.items():
        before = merged.get(key)
        if isinstance(before, list) and isinstance(value, list):
            merged[key] = [*before, *value]
        elif isinstance(before, Mapping) and isinstance(value, Mapping):
            merged[key] = _merged(before, value)
        else:
            merged[key] = value
    return merged


def _read(folder: RoleFolder, name: str) -> bytes:
    try:
        return folder.read(name)
    except OSError as error:
        reason = f"it can't be read: {error.strerror}"
        raise role_fault(folder.file(name), "", reason) from error

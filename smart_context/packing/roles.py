"""Roles: what a worker is told, and which files it is given (contract C).

A role is a TOML file with the fields of `RoleConfig`. Those of a vault or repository, in
`roles/<name>.toml`, come before the shipped ones of the same name.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal

from smart_context.disk.folders import read_inside
from smart_context.errors import ConfigInvalid, Fault
from smart_context.packing.templates.allowed import TEMPLATES_OF_ROLES

SHIPPED_ROLES = Path(__file__).resolve().parent / "shipped_roles"
DEFAULT_TOKEN_BUDGET = 20_000
MAX_ROLE_BYTES = 1024 * 1024

_TEMPLATES = sorted(TEMPLATES_OF_ROLES)
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,127}")


@dataclass(frozen=True, slots=True)
class RoleContext:
    """Which files and changes a role is given.

    Attributes:
        include: Exact paths, globs as in a `.gitignore`, names such as `$TARGET`, and the changes
            that `git diff` and `git diff --cached` show.
        exclude: Globs that take files out of what the other globs find.
        always_include: Paths and globs whose files are never dropped.
        git_diff: Give the staged changes.
        tree: Give the names of all files.
        priority_order: Section keys, most important first; the last is dropped first.
        allow_secrets: Give files that hold keys or tokens, too.
    """

    include: Sequence[str] = ()
    exclude: Sequence[str] = ()
    always_include: Sequence[str] = ()
    git_diff: bool = False
    tree: bool = False
    priority_order: Sequence[str] = ()
    allow_secrets: bool = False


@dataclass(frozen=True, slots=True)
class RoleConfig:
    """What a worker is told.

    Attributes:
        name: Names the role.
        description: What it does, for people.
        system_prompt: What stands before everything else.
        token_budget: The most tokens of a prompt.
        context: Which files and changes it is given.
        template: Puts the message of each turn of a chat with this role into words; empty, the
            message goes as it is. A packed prompt's template is named when it is packed.
    """

    name: str
    description: str = ""
    system_prompt: str = ""
    token_budget: int = DEFAULT_TOKEN_BUDGET
    context: RoleContext = field(default_factory=RoleContext)
    template: str = ""


RoleSource = Literal["vault", "user", "shipped"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleFolder:
    """A folder of roles.

    Attributes:
        path: Where it is.
        source: Whose it is. Only the user's own and the shipped roles may allow secrets.
        contents: The bytes of each file by its name, if they were read already; `None`: they are
            read from the folder.
    """

    path: Path
    source: RoleSource
    contents: Mapping[str, bytes] | None = None

    def names(self) -> Iterator[str]:
        """The names of its roles, in no order."""
        files = self.contents if self.contents is not None else self._files()
        names = (name.removesuffix(".toml") for name in files if name.endswith(".toml"))
        return (name for name in names if _NAME.fullmatch(name) and self.has(name))

    def has(self, name: str) -> bool:
        """Whether there is a role of that name."""
        if self.contents is not None:
            return f"{name}.toml" in self.contents
        return self.file(name).is_file()

    def file(self, name: str) -> Path:
        """Where the role of that name is, or would be."""
        return self.path / f"{name}.toml"

    def read(self, name: str) -> bytes:
        """The bytes of a role's file.

        Raises:
            OSError: If it can't be read, or is larger than any role.
        """
        if self.contents is not None:
            return self.contents[f"{name}.toml"]
        path = self.file(name)
        path = path if self.source == "vault" else path.resolve()
        return read_inside(path.parent, path.name, max_bytes=MAX_ROLE_BYTES)

    def _files(self) -> list[str]:
        try:
            return [path.name for path in self.path.iterdir()]
        except OSError:
            return []


SHIPPED = RoleFolder(path=SHIPPED_ROLES, source="shipped")


class RoleLoader:
    """Reads roles by name.

    Args:
        root: The vault or repository whose `roles` folder is looked into first; `None`, only the
            shipped roles.
        folders: Looked into before the shipped roles, in place of that folder.
        warn: Called with what of a role does not count, in words; by default that is logged.
    """

    def __init__(
        self,
        root: Path | str | None = None,
        *,
        folders: Sequence[RoleFolder] | None = None,
        warn: Callable[[str], None] | None = None,
    ) -> None:
        if folders is None:
            own = [] if root is None else [RoleFolder(path=Path(root) / "roles", source="vault")]
            folders = own
        self._folders = (*folders, SHIPPED)
        self._warn = warn or _log

    def names(self) -> list[str]:
        """The names of all roles, sorted."""
        return sorted({name for folder in self._folders for name in folder.names()})

    def source(self, name: str) -> RoleSource | None:
        """Whose role of that name is used; `None` when there is none."""
        return next((folder.source for folder in self._folders if folder.has(name)), None)

    def is_own(self, name: str) -> bool:
        """Whether the role of that name is the vault's or repository's own, not a shipped one."""
        return self.source(name) == "vault"

    def load_role(self, name: str) -> RoleConfig:
        """The role of that name, with what it extends merged in.

        A role that extends its own name extends the shipped one. Lists append, tables merge,
        other values override. `allow_secrets` of a vault's or repository's role does not count,
        nor what such a role extends.

        Raises:
            ConfigInvalid: If there is no such role, it extends itself in a circle, or its file,
                or one that it extends, has faults; all faults of the first such file are listed.
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
        """The role's folder and document, those that it extends, and so on."""
        lineage: list[tuple[RoleFolder, dict[str, Any]]] = []
        before: list[Path] = []
        wanted: str | None = name
        while wanted is not None:
            folder = self._find(wanted, before)
            path = folder.file(wanted)
            if path in before:
                circle = " → ".join(entry.stem for entry in [*before, path])
                raise _fault(before[-1], "extends", f"the roles extend each other: {circle}")
            lineage.append((folder, _checked(path, _read(folder, wanted))))
            before.append(path)
            wanted = lineage[-1][1].get("extends")
        return lineage

    def _find(self, name: str, after: Sequence[Path]) -> RoleFolder:
        if not _NAME.fullmatch(name):
            place = after[-1] if after else self._folders[0].path
            raise _fault(place, "extends" if after else "name", f"{name!r} is no name of a role")
        candidates = [*self._folders]
        if after and after[-1].stem == name:
            unseen = [folder for folder in candidates if folder.file(name) not in after]
            candidates = unseen or candidates
        for folder in candidates:
            if folder.has(name):
                return folder
        known = ", ".join(self.names())
        if not after:
            raise _fault(self._folders[0].path, "", f"there is no role {name!r}; there are {known}")
        if after[-1].stem == name:
            message = f"no role {name!r} is shipped that this one could extend; there are {known}"
            raise _fault(after[-1], "extends", message)
        raise _fault(after[-1], "extends", f"there is no role {name!r}; there are {known}")


def _log(warning: str) -> None:
    import logging  # noqa: PLC0415  11 ms, and only when there is something to say

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
        raise _fault(folder.file(name), "", reason) from error


def _checked(path: Path, content: bytes) -> dict[str, Any]:
    """A role file's document, with every value of the right type."""
    import tomllib  # noqa: PLC0415  12 ms that a pack without a role's file need not pay

    try:
        text = content.decode("utf-8")
        document = tomllib.loads(text)
    except UnicodeDecodeError as error:
        raise _fault(path, "", "it is not UTF-8 text") from error
    except tomllib.TOMLDecodeError as error:
        raise ConfigInvalid(path, [Fault(message=f"it is no valid TOML: {error}")]) from error
    faults = _faults(document, text)
    if faults:
        raise ConfigInvalid(path, faults)
    return document


def _faults(document: Mapping[str, Any], text: str) -> list[Fault]:
    allowed = {entry.name for entry in fields(RoleConfig)} | {"extends"}
    faults = _table_faults(document, allowed, "", text)
    context = document.get("context")
    if isinstance(context, dict):
        names = {entry.name for entry in fields(RoleContext)}
        faults += _table_faults(context, names, "context.", text)
    return faults


def _table_faults(
    table: Mapping[str, Any], allowed: set[str], prefix: str, text: str
) -> list[Fault]:
    faults = []
    for key, value in table.items():
        if key not in allowed:
            message = f"unknown; {_nearest(key, allowed)}"
        elif complaint := _complaint(key, value):
            message = f"expected {complaint}, found {value!r:.80}"
        else:
            continue
        faults.append(Fault(message=message, key=f"{prefix}{key}", line=_line_of(key, text)))
    return faults


def _complaint(key: str, value: object) -> str:
    """What was expected of a value; empty when it is right."""
    if key in {"name", "description", "system_prompt", "extends"}:
        is_right, expected = isinstance(value, str), "text"
    elif key == "template":
        is_right, expected = value in _TEMPLATES, f"one of {', '.join(_TEMPLATES)}"
    elif key == "token_budget":
        is_right, expected = type(value) is int and value >= 0, "a whole number of at least 0"
    elif key == "context":
        is_right, expected = isinstance(value, dict), "a table"
    elif key in {"git_diff", "tree", "allow_secrets"}:
        is_right, expected = isinstance(value, bool), "true or false"
    else:
        is_right = isinstance(value, list) and all(isinstance(entry, str) for entry in value)
        expected = "a list of texts"
    return "" if is_right else expected


def _nearest(key: str, allowed: set[str]) -> str:
    import difflib  # noqa: PLC0415  only for a faulty file

    close = difflib.get_close_matches(key, sorted(allowed), n=1)
    return f"did you mean {close[0]!r}?" if close else f"known are {', '.join(sorted(allowed))}"


def _line_of(key: str, text: str) -> int | None:
    found = re.search(
        rf"(?m)^[ \t]*[\"']?{re.escape(key)}[\"']?[ \t]*=|^\[{re.escape(key)}\]", text
    )
    return text.count("\n", 0, found.start()) + 1 if found else None


def _fault(path: Path, key: str, message: str) -> ConfigInvalid:
    return ConfigInvalid(path, [Fault(message=message, key=key)])

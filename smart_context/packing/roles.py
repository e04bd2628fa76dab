"""Roles: the instructions and files for one kind of task, and the folders that hold them.

A role is a TOML file with the fields of `RoleConfig`, and may extend others. Roles of a vault or
repository, in `roles/<name>.toml`, override shipped roles of the same name.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal

from smart_context.base.disk.folders import read_inside
from smart_context.base.errors import ConfigInvalid, Fault
from smart_context.base.text.names import names_device
from smart_context.packing.templates.templates import TEMPLATES_OF_ROLES

DEFAULT_TOKEN_BUDGET = 20_000


@dataclass(frozen=True, slots=True)
class RoleContext:
    """The files and changes for a role."""

    # exact paths, globs as in a `.gitignore`, names such as `$TARGET`, and the changes that `git
    # diff` and `git diff --cached` show
    include: Sequence[str] = ()
    exclude: Sequence[str] = ()  # globs that remove files from the matches of the other globs
    always_include: Sequence[str] = ()  # paths and globs whose files are never dropped
    git_diff: bool = False  # include the staged changes
    tree: bool = False  # include the names of all files
    # section keys, most important first; the last is dropped first
    priority_order: Sequence[str] = ()
    allow_secrets: bool = False  # also include files that hold keys or tokens


@dataclass(frozen=True, slots=True)
class RoleConfig:
    """A role: its instructions, budget and context."""

    name: str
    description: str = ""  # a sentence for people
    system_prompt: str = ""  # the beginning of every prompt
    token_budget: int = DEFAULT_TOKEN_BUDGET  # the most tokens of a prompt
    context: RoleContext = field(default_factory=RoleContext)  # the files and changes for it
    # the template for the user's message in each turn of a chat with this role; if empty, the
    # message is sent unchanged. `pack` is given its template separately.
    template: str = ""


def variables_of(
    role: RoleConfig, task_description: str, given: Mapping[str, Any]
) -> Mapping[str, Any]:
    """The variables of a template; extra values can't replace the role and the task."""
    context = given.get("context", given.get("file_context", ""))
    return {
        "target_files": (),
        "extra_context": {},
        **given,
        "context": context,
        "file_context": context,
        "role": role,
        "system_prompt": role.system_prompt,
        "task_description": task_description,
        "task": task_description,
    }


MAX_ROLE_BYTES = 1 << 18
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,127}")


def is_role_name(name: str) -> bool:
    """True for the names that a role can have, on any system."""
    return _NAME.fullmatch(name) is not None and not names_device(name)


RoleSource = Literal["vault", "user", "shipped"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleFolder:
    """A folder of roles."""

    path: Path
    source: RoleSource  # its owner. Only the user's own and the shipped roles may allow secrets.
    # the bytes of each file by name, if already read; `None` reads the folder
    contents: Mapping[str, bytes] | None = None

    def names(self) -> Iterator[str]:
        """The names of its roles, in any order."""
        files = self.contents if self.contents is not None else self._files()
        names = (name.removesuffix(".toml") for name in files if name.endswith(".toml"))
        return (name for name in names if is_role_name(name) and self.has(name))

    def has(self, name: str) -> bool:
        """True if it has a role of that name."""
        if self.contents is not None:
            return f"{name}.toml" in self.contents
        return self.file(name).is_file()

    def file(self, name: str) -> Path:
        """The path of the role of that name, whether it exists or not."""
        return self.path / f"{name}.toml"

    def read(self, name: str) -> bytes:
        """The bytes of a role's file; raises `OSError` if it can't be read or is too large."""
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


SHIPPED = RoleFolder(path=Path(__file__).with_name("shipped_roles"), source="shipped")


_TEMPLATES = sorted(TEMPLATES_OF_ROLES)


def parse_role(path: Path, content: bytes) -> dict[str, Any]:
    """The document in a role's file; raises `ConfigInvalid` with all its faults."""
    import tomli  # noqa: PLC0415  10 ms that a pack without a role saves

    try:
        text = content.decode("utf-8")
        document = tomli.loads(text)
    except UnicodeDecodeError as error:
        raise role_fault(path, "", "it is not UTF-8 text") from error
    except tomli.TOMLDecodeError as error:
        raise role_fault(path, "", f"it is not valid TOML: {error}") from error
    except (RecursionError, ValueError) as error:
        raise role_fault(
            path, "", "its tables or numbers are larger than any role needs"
        ) from error
    faults = _faults(document, text)
    if faults:
        raise ConfigInvalid(path, faults)
    return document


def _faults(document: Mapping[str, Any], text: str) -> list[Fault]:
    allowed = {entry.name for entry in fields(RoleConfig)} | {"extends"}
    faults = [*_table_faults(document, allowed, "")]
    context = document.get("context")
    if isinstance(context, dict):
        names = {entry.name for entry in fields(RoleContext)}
        faults += _table_faults(context, names, "context.")
    return _with_lines(faults, text) if faults else []


def _with_lines(faults: Iterable[Fault], text: str) -> list[Fault]:
    from smart_context.base.config.document import (  # noqa: PLC0415  only for a faulty file
        lines_of_keys,
    )

    lines = {".".join(path): line for path, line in lines_of_keys(text).items()}
    return [replace(fault, line=lines.get(fault.key)) for fault in faults]


def _table_faults(table: Mapping[str, Any], allowed: set[str], prefix: str) -> Iterator[Fault]:
    for key, value in table.items():
        if key not in allowed:
            message = f"unknown; {_nearest(key, allowed)}"
        elif complaint := _complaint(key, value):
            message = f"expected {complaint}, found {value!r:.80}"
        else:
            continue
        yield Fault(message=message, key=f"{prefix}{key}")


def _complaint(key: str, value: object) -> str:
    """The expected value, in words, if the given one is invalid; empty if it is valid."""
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


def role_fault(path: Path, key: str, message: str) -> ConfigInvalid:
    """The error that one key of a role is wrong; an empty key is the whole file."""
    return ConfigInvalid(path, [Fault(message=message, key=key)])


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
        if not is_role_name(name):
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

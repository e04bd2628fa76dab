"""Roles: what a worker is told, and which files it is given (contract C).

A role is a TOML file with the fields of `RoleConfig`. Those of a vault or repository, in
`roles/<name>.toml`, come before the shipped ones of the same name.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from smart_context.errors import ConfigInvalid, Fault
from smart_context.packing.allowed_templates import TEMPLATES_OF_ROLES

SHIPPED_ROLES = Path(__file__).resolve().parent / "shipped_roles"
DEFAULT_TOKEN_BUDGET = 20_000

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


class RoleLoader:
    """Reads roles by name.

    Args:
        root: The vault or repository whose `roles` folder is looked into first; `None`, only the
            shipped roles.
    """

    def __init__(self, root: Path | str | None = None) -> None:
        own = [] if root is None else [Path(root) / "roles"]
        self._folders = (*own, SHIPPED_ROLES)

    def names(self) -> list[str]:
        """The names of all roles, sorted."""
        paths = (path for folder in self._folders for path in folder.glob("*.toml"))
        found = {path.stem for path in paths if _NAME.fullmatch(path.stem) and path.is_file()}
        return sorted(found)

    def is_own(self, name: str) -> bool:
        """Whether the role of that name is the vault's or repository's own, not a shipped one."""
        first = self._folders[0]
        return first != SHIPPED_ROLES and (first / f"{name}.toml").is_file()

    def load_role(self, name: str) -> RoleConfig:
        """The role of that name, with what it extends merged in.

        A role that extends its own name extends the shipped one. Lists append, tables merge,
        other values override.

        Raises:
            ConfigInvalid: If there is no such role, it extends itself in a circle, or its file,
                or one that it extends, has faults; all faults of the first such file are listed.
        """
        lineage = self._lineage(name)
        merged: dict[str, Any] = {}
        for _, document in reversed(lineage):
            merged = _merged(merged, document)
        context: dict[str, Any] = {
            key: tuple(value) if isinstance(value, list) else value
            for key, value in merged.pop("context", {}).items()
        }
        merged.pop("extends", None)
        merged["name"] = lineage[0][1].get("name", name)
        return RoleConfig(**merged, context=RoleContext(**context))

    def _lineage(self, name: str) -> list[tuple[Path, dict[str, Any]]]:
        """The role's file and document, those that it extends, and so on."""
        lineage: list[tuple[Path, dict[str, Any]]] = []
        wanted: str | None = name
        while wanted is not None:
            before = [path for path, _ in lineage]
            path = self._find(wanted, before)
            if path in before:
                circle = " → ".join(entry.stem for entry in [*before, path])
                raise _fault(before[-1], "extends", f"the roles extend each other: {circle}")
            lineage.append((path, _checked(path)))
            wanted = lineage[-1][1].get("extends")
        return lineage

    def _find(self, name: str, after: Sequence[Path]) -> Path:
        if not _NAME.fullmatch(name):
            place = after[-1] if after else self._folders[0]
            raise _fault(place, "extends" if after else "name", f"{name!r} is no name of a role")
        candidates = [folder / f"{name}.toml" for folder in self._folders]
        if after and after[-1].stem == name:
            candidates = [path for path in candidates if path not in after] or candidates
        for path in candidates:
            if path.is_file():
                return path
        known = ", ".join(self.names())
        if not after:
            raise _fault(self._folders[0], "", f"there is no role {name!r}; there are {known}")
        if after[-1].stem == name:
            message = f"no role {name!r} is shipped that this one could extend; there are {known}"
            raise _fault(after[-1], "extends", message)
        raise _fault(after[-1], "extends", f"there is no role {name!r}; there are {known}")


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


def _checked(path: Path) -> dict[str, Any]:
    """The role file's document, with every value of the right type."""
    import tomllib  # noqa: PLC0415  12 ms that a pack without a role's file need not pay

    try:
        text = path.read_text(encoding="utf-8")
        document = tomllib.loads(text)
    except OSError as error:
        raise _fault(path, "", f"it can't be read: {error.strerror}") from error
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

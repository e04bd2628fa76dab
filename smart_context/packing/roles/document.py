"""Parses a role's file, and checks its keys and values."""

import re
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from smart_context.base.errors import ConfigInvalid, Fault
from smart_context.packing.roles.role import RoleConfig, RoleContext
from smart_context.packing.templates.allowed import TEMPLATES_OF_ROLES

_TEMPLATES = sorted(TEMPLATES_OF_ROLES)


def parse_role(path: Path, content: bytes) -> dict[str, Any]:
    """The document in a role's file.

    Args:
        path: The file, for errors.

    Raises:
        ConfigInvalid: With all its faults.
    """
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
    """What was expected instead of a value; empty if it is valid."""
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


def role_fault(path: Path, key: str, message: str) -> ConfigInvalid:
    """The error that one key of a role is wrong; an empty key is the whole file."""
    return ConfigInvalid(path, [Fault(message=message, key=key)])

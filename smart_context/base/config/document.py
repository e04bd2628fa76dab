"""Reads TOML files with the line of each key; settings files with all faults."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomli

from smart_context.base.config.lines import KeyPath, lines_of_keys
from smart_context.base.config.table import Faults, Table
from smart_context.base.disk.folders import NotPlain, TooLarge, read_inside
from smart_context.base.disk.places import Place, place_of
from smart_context.base.errors import ConfigInvalid, Fault

MAX_BYTES = 1 << 20


class TomlUnreadable(Exception):
    """The file can't be used; `fault` says why."""

    def __init__(self, message: str, line: int | None = None) -> None:
        self.fault = Fault(message=message, line=line)
        super().__init__(message)


@dataclass(frozen=True, slots=True, kw_only=True)
class TomlDocument:
    """The content of a TOML file."""

    values: Mapping[str, Any]  # its top-level table
    lines: Mapping[KeyPath, int]  # the line of each key, counted from 1


def read_toml(path: Path | Place, *, may_be_link: bool = False) -> TomlDocument:
    """The document in a file.

    Args:
        may_be_link: Follow a link: for the user's own files, not for a vault's.

    Raises:
        FileNotFoundError: If there is no such file.
        TomlUnreadable: If it is too large, can't be read, is not UTF-8 or not TOML.
    """
    return parse_toml(_read_text(path, may_be_link=may_be_link))


@contextmanager
def settings_in(
    path: Path, *, may_be_link: bool = False, text: str | None = None
) -> Iterator[Table]:
    """The top table of a settings file, empty without one; raises faults at the end.

    Args:
        may_be_link: Follow a link: for the user's own files, not for a vault's.
        text: Read this in place of the file, which names it in faults.

    Raises:
        ConfigInvalid: With every fault and its line.
    """
    try:
        document = read_toml(path, may_be_link=may_be_link) if text is None else parse_toml(text)
    except FileNotFoundError:
        document = TomlDocument(values={}, lines={})
    except TomlUnreadable as error:
        raise ConfigInvalid(path, [error.fault]) from error
    faults = Faults(document.lines)
    yield Table(document.values, (), faults)
    if listed := faults.listed():
        raise ConfigInvalid(path, listed)


def parse_toml(text: str) -> TomlDocument:
    """The document in a text.

    Raises:
        TomlUnreadable: If it is not TOML.
    """
    text = text.replace("\r\n", "\n")
    try:
        values = tomli.loads(text)
    except tomli.TOMLDecodeError as error:
        raise TomlUnreadable(f"not TOML: {error.msg}", error.lineno) from error
    except RecursionError as error:
        raise TomlUnreadable("not usable: arrays or tables are nested too deeply") from error
    except ValueError as error:
        raise TomlUnreadable("not usable: a number has too many digits") from error
    return TomlDocument(values=values, lines=lines_of_keys(text))


def _read_text(path: Path | Place, *, may_be_link: bool) -> str:
    path = path.resolve() if may_be_link and isinstance(path, Path) else path
    try:
        content = read_inside(place_of(path), max_bytes=MAX_BYTES)
    except FileNotFoundError:
        raise
    except NotPlain as error:
        raise TomlUnreadable(f"expected a file, found something that is {error.strerror}") from None
    except TooLarge:
        message = f"larger than {MAX_BYTES:,} bytes, which no settings file needs"
        raise TomlUnreadable(message) from None
    except OSError as error:
        raise TomlUnreadable(f"can't be read: {error.strerror or error}") from error
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise TomlUnreadable("not UTF-8; save the file in that encoding", line) from error

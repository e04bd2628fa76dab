"""Folders of roles: a vault's or repository's, the user's, and the shipped one."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from smart_context.base.disk.folders import read_inside

MAX_ROLE_BYTES = 1024 * 1024
ROLE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,127}")

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
        return (name for name in names if ROLE_NAME.fullmatch(name) and self.has(name))

    def has(self, name: str) -> bool:
        """True if it has a role of that name."""
        if self.contents is not None:
            return f"{name}.toml" in self.contents
        return self.file(name).is_file()

    def file(self, name: str) -> Path:
        """The path of the role of that name, whether it exists or not."""
        return self.path / f"{name}.toml"

    def read(self, name: str) -> bytes:
        """The bytes of a role's file.

        Raises:
            OSError: If it can't be read or is too large.
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


SHIPPED = RoleFolder(path=Path(__file__).with_name("shipped"), source="shipped")

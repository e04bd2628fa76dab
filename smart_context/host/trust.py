"""Whether the user trusts the plugins of a vault, which are code (contract A12).

Trust is given to content: one digest over the names and bytes of all files below `plugins/`,
byte code aside (which is never loaded). The record lies outside the vault.
"""

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from smart_context.disk.files import atomic_write
from smart_context.errors import TrustRequired

PLUGINS_FOLDER = "plugins"

_BYTE_CODE_FOLDER = "__pycache__"
_BYTE_CODE_SUFFIXES = (".pyc", ".pyo")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fingerprint:
    """The plugins of a vault as they are now.

    Attributes:
        digest: Of all names and contents.
        files: The digest of each file, by its path below `plugins/`, with `/`.
        refused: What can't be trusted: links and special files, whose content lies elsewhere.
    """

    digest: str
    files: Mapping[str, str]
    refused: tuple[str, ...]


def fingerprint(root: Path) -> Fingerprint:
    """Reads all files of the vault's plugins; blocks, so run it in a thread.

    A file that can't be read is refused too.
    """
    folder = root.resolve() / PLUGINS_FOLDER
    files: dict[str, str] = {}
    refused: list[str] = []
    if folder.is_symlink():
        refused.append(".")
    for path in () if refused else _plain_files(folder, refused, folder):
        name = path.relative_to(folder).as_posix()
        try:
            files[name] = file_digest(path.read_bytes())
        except OSError:
            refused.append(name)
    total = hashlib.sha256()
    for name, digest in sorted(files.items()):
        total.update(f"{len(os.fsencode(name))}:".encode() + os.fsencode(name) + digest.encode())
    return Fingerprint(digest=total.hexdigest(), files=files, refused=tuple(sorted(refused)))


def file_digest(content: bytes) -> str:
    """The digest of one file, as `Fingerprint.files` has it."""
    return hashlib.sha256(content).hexdigest()


class TrustRecord:
    """Remembers what the user trusts.

    Args:
        path: The record, outside every vault; made when trust is first given.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def is_trusted(self, root: Path, current: Fingerprint) -> bool:
        """Whether the user trusts just these files of the vault at `root`."""
        granted = self._read().get(str(root.resolve()))
        digest = granted.get("digest") if isinstance(granted, dict) else None
        return digest == current.digest and not current.refused

    def grant(self, root: Path, current: Fingerprint) -> None:
        """Trust these files of the vault at `root` from now on, and no others.

        Raises:
            TrustRequired: If there are files that can't be trusted; names them.
            StoreFailed: If the record can't be written.
        """
        if current.refused:
            raise TrustRequired(
                f"{root}: these can't be trusted, since their content lies elsewhere or can't be "
                f"read: {', '.join(current.refused)}. Replace links by the files themselves"
            )
        granted_at = datetime.now(UTC).isoformat(timespec="seconds")
        entry = {"digest": current.digest, "granted_at": granted_at}
        self._write({**self._read(), str(root.resolve()): entry})

    def withdraw(self, root: Path) -> None:
        """Trust the vault at `root` no longer.

        Raises:
            StoreFailed: If the record can't be written.
        """
        vaults = self._read()
        if vaults.pop(str(root.resolve()), None) is not None:
            self._write(vaults)

    def _read(self) -> dict[str, Any]:
        try:
            record = json.loads(self._path.read_bytes())
        except (OSError, ValueError, RecursionError):
            return {}  # no record, or a damaged one: nothing is trusted
        vaults = record.get("vaults") if isinstance(record, dict) else None
        return vaults if isinstance(vaults, dict) else {}

    def _write(self, vaults: Mapping[str, Any]) -> None:
        record = {"version": 1, "vaults": vaults}
        atomic_write(self._path, json.dumps(record, indent=2).encode())


def trust_path(environ: Mapping[str, str], home: Path) -> Path:
    """Where the record lies: in the user's configuration folder."""
    configured = environ.get("XDG_CONFIG_HOME") or environ.get("APPDATA") or ""
    folder = Path(configured) if Path(configured).is_absolute() else home / ".config"
    return folder / "smart-context" / "trust.json"


def _plain_files(folder: Path, refused: list[str], top: Path) -> Iterator[Path]:
    """The plain files below a folder; links and special files are noted as refused."""
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except FileNotFoundError:
        return
    except OSError:
        refused.append(folder.relative_to(top).as_posix())
        return
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            if entry.name != _BYTE_CODE_FOLDER:
                yield from _plain_files(Path(entry.path), refused, top)
        elif not entry.is_file(follow_symlinks=False):
            refused.append(Path(entry.path).relative_to(top).as_posix())
        elif not entry.name.endswith(_BYTE_CODE_SUFFIXES):
            yield Path(entry.path)

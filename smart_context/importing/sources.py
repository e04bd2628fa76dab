"""The files to read chats from: a file, a folder, or a ZIP that nothing is unpacked from.

Everything here blocks.
"""

import base64
import codecs
import json
import mimetypes
import os
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path, PurePath, PurePosixPath
from typing import IO, Any

from smart_context.chat.exported import ATTACHED_FOLDER, is_attached_name
from smart_context.importing.found import NotReadable

MOST_BYTES = 8 << 30
"""The largest file that is read, unpacked."""

MOST_ASSET_BYTES = 64 << 20
_MOST_FILES = 200_000
_RATIO, _SMALL = 400, 64 << 20
_READ_IN_ARCHIVES = (".json", ".jsonl", ".md", ".html")
_READ = (*_READ_IN_ARCHIVES, ".db", ".sqlite", ".zip")
_ENCRYPTED = 0x1
_ZIP = b"PK\x03\x04"
_SHORTEST_KEY = 6
_SHOWN_NAMES = "conversation_asset_file_names.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One file that may hold chats."""

    name: str  # its path, for people
    size: int  # its bytes
    path: Path | None = None  # the file itself; `None` inside an archive
    archive: zipfile.ZipFile | None = None  # the archive that it is in
    entry: zipfile.ZipInfo | None = None  # its entry there; two entries may have the same name
    assets: "Assets"  # where attached files may lie
    is_alone: bool = False  # the user named this file itself, not what holds it
    _streams: list[IO[bytes]] = field(default_factory=list)  # as opened, the last one being read

    @property
    def stem(self) -> str:
        """The file's name without its ending."""
        return Path(self.name).stem

    @property
    def passed(self) -> int:
        """How many bytes were read so far."""
        try:
            return self._streams[-1].tell() if self._streams else 0
        except ValueError:  # closed
            return self.size

    @contextmanager
    def opened(self) -> Iterator[IO[bytes]]:
        """The file's bytes.

        Raises:
            NotReadable: If it can't be opened.
        """
        try:
            if self.archive is not None and self.entry is not None:
                with self.archive.open(self.entry) as stream:
                    self._streams[:] = [stream]
                    yield _as_utf8(stream)
            elif self.path is not None:
                with self.path.open("rb") as stream:
                    self._streams[:] = [stream]
                    yield _as_utf8(stream)
        except (OSError, RuntimeError, NotImplementedError, zipfile.BadZipFile, EOFError) as error:
            raise NotReadable(f"can't be read: {error}") from error
        except Exception as error:
            if type(error).__module__ == "zlib":
                raise NotReadable(f"is damaged: {error}") from error
            raise


def _as_utf8(stream: Any) -> IO[bytes]:
    """The bytes in UTF-8, where they begin with the mark of UTF-16, as PowerShell writes files."""
    is_wide = stream.peek(2)[:2] in {codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE}
    return codecs.EncodedFile(stream, "utf-8", "utf-16", "replace") if is_wide else stream


@dataclass(slots=True)
class Assets:
    """The files that messages may name, by a part of their names."""

    # how to read each, by its file name
    files: dict[str, Path | zipfile.ZipInfo] = field(default_factory=dict)
    archive: zipfile.ZipFile | None = None  # the archive that they are in
    beside: Path | None = None  # a folder where files of chats that were exported from here may lie
    # what they were called, where the export says so; `None` until that was read
    shown: dict[str, str] | None = None

    def read(self, name: str) -> tuple[str, bytes] | None:
        """The file whose name holds `name`, as it is called, or the content of a `data:` address.

        `None` if there is none that can be read.
        """
        if name.startswith("data:"):
            return _decoded(name)
        known = next((known for known in (name, f"{name}.dat") if known in self.files), "")
        if not known and len(name) >= _SHORTEST_KEY:  # a key, which the file's name holds
            known = next((known for known in self.files if name in known), "")
        wanted = self.files.get(known) or self._beside(name)
        content = None
        try:
            if isinstance(wanted, Path) and wanted.stat().st_size <= MOST_ASSET_BYTES:
                content = wanted.read_bytes()
            elif isinstance(wanted, zipfile.ZipInfo) and self.archive is not None:
                _check(wanted)
                if wanted.file_size <= MOST_ASSET_BYTES:
                    content = self.archive.read(wanted)
        except (OSError, RuntimeError, NotReadable, NotImplementedError, EOFError):
            return None
        except (zipfile.BadZipFile, zlib.error):
            return None
        return None if content is None else (self._names().get(known, known), content)

    def _beside(self, name: str) -> Path | None:
        if self.beside is None or not is_attached_name(name) or Path(name).name != name:
            return None
        found = self.beside / name
        return found if found.is_file() and not found.is_symlink() else None

    def _names(self) -> Mapping[str, str]:
        """What ChatGPT says the files were called, which it exports as `file_….dat`."""
        if self.shown is None:
            self.shown = {}
            with suppress(ValueError, RecursionError):
                listed = self.read(_SHOWN_NAMES) if _SHOWN_NAMES in self.files else None
                found = json.loads(listed[1]) if listed else {}
                if isinstance(found, dict):
                    self.shown = {key: name for key, name in found.items() if isinstance(name, str)}
        return self.shown


@contextmanager
def sources_of(path: Path, name: str) -> Iterator[list[Source]]:
    """The files below a path that may hold chats; an archive stays open meanwhile.

    Args:
        name: What the path is called for people, and by the name of an export.

    Raises:
        NotReadable: If it is an archive that is damaged, encrypted, or unpacks to too much.
    """
    if path.is_dir():
        yield list(_in_folder(path))
        return
    if not path.is_file():
        raise NotReadable("expected a file, a folder or a ZIP, found a device or a pipe")
    if not zipfile.is_zipfile(path):
        with path.open("rb") as stream:
            if stream.read(len(_ZIP)) == _ZIP:
                raise NotReadable("expected a ZIP, found a damaged one; download it again")
        size = path.stat().st_size
        assets = Assets(beside=path.parent / ATTACHED_FOLDER)
        yield [Source(name=name, size=size, path=path, assets=assets, is_alone=True)]
        return
    try:
        archive = zipfile.ZipFile(path)
    except (zipfile.BadZipFile, OSError, NotImplementedError) as error:
        raise NotReadable(f"expected a ZIP, found a damaged one: {error}") from error
    with archive:
        yield list(_in_archive(archive))


def _in_folder(folder: Path) -> Iterator[Source]:
    assets = Assets()
    found: list[Path] = []
    for parent, _, names in os.walk(folder):
        for name in sorted(names):
            path = Path(parent) / name
            if path.is_symlink() or not path.is_file():
                continue
            found.append(path)
            assets.files[name] = path
            if len(found) > _MOST_FILES:
                raise NotReadable(f"has more than {_MOST_FILES:,} files; give a smaller folder")
    for path in found:
        if _is_read(path) and path.suffix.lower() != ".zip":
            size = path.stat().st_size
            yield Source(name=str(path), size=size, path=path, assets=assets)


def _in_archive(archive: zipfile.ZipFile) -> Iterator[Source]:
    entries = archive.infolist()
    if len(entries) > _MOST_FILES:
        raise NotReadable(f"has more than {_MOST_FILES:,} files")
    assets = Assets(archive=archive)
    for entry in entries:
        if not entry.is_dir():
            assets.files[entry.filename.rpartition("/")[2]] = entry
    for entry in entries:
        path = PurePosixPath(entry.filename)
        if _is_read(path) and path.suffix.lower() in _READ_IN_ARCHIVES and not entry.is_dir():
            _check(entry)
            yield Source(
                name=entry.filename,
                size=entry.file_size,
                archive=archive,
                entry=entry,
                assets=assets,
            )


def _is_read(path: PurePath) -> bool:
    """True for files that may hold chats; what a chat of ours attaches is not read as one."""
    is_attached = path.parent.name == ATTACHED_FOLDER and is_attached_name(path.name)
    return path.suffix.lower() in _READ and not is_attached


def _decoded(address: str) -> tuple[str, bytes] | None:
    """The content of a `data:` address with base64, and a name of its type."""
    kind, is_base64, content = address.removeprefix("data:").partition(";base64,")
    if not is_base64 or len(content) > MOST_ASSET_BYTES * 4 // 3:
        return None
    try:
        ending = mimetypes.guess_extension(kind.partition(";")[0]) or ""
        return f"file{ending}", base64.b64decode(content)
    except ValueError:
        return None


def _check(entry: zipfile.ZipInfo) -> None:
    """Refuse an entry that can't be read safely.

    Raises:
        NotReadable: If it is encrypted, or unpacks to far more than any export.
    """
    if entry.flag_bits & _ENCRYPTED:
        raise NotReadable(
            f"{entry.filename} is encrypted; unpack it yourself, then import the folder"
        )
    is_bomb = entry.file_size > _SMALL and entry.file_size > _RATIO * max(entry.compress_size, 1)
    if entry.file_size > MOST_BYTES or is_bomb:
        raise NotReadable(
            f"{entry.filename} would unpack to {entry.file_size:,} bytes, which no export needs"
        )

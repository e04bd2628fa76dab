"""Reads files of chats in a child process with limits; everything here blocks.

A file may be hostile, so only the child parses it. The child's time and memory depend on the bytes
on disk, however much they unpack to. A conversation that exceeds them is left out, and another
child reads the others.
"""

import base64
import io
import json
import mimetypes
import os
import tempfile
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, fields
from functools import partial
from pathlib import Path
from threading import Lock
from typing import IO, Any, Self, TypeVar

from smart_context.base.errors import CommandFailed
from smart_context.base.processes.child import Child, ChildFailed
from smart_context.base.values import JsonObject
from smart_context.chat.exported import ATTACHED_FOLDER, is_attached_name
from smart_context.chat.ids import check_chat_id
from smart_context.importing.found import FoundChat, FoundMessage, NotKnown, NotReadable, OwnChat
from smart_context.importing.inside import (
    JobFile,
    ResumePoint,
    archived,
    begin,
    begin_asset,
    end,
    more,
    more_of_asset,
    names_in,
    open_database,
)
from smart_context.importing.programs import PROGRAMS
from smart_context.importing.recognised import Found, UnreadableChat
from smart_context.importing.sources import MOST_ASSET_BYTES, MOST_FILES, is_read, on_one_line

_MODULES = ("smart_context.importing.inside", "_strptime")
_SQLITE = b"SQLite format 3\0"
_MOST_MEMORY_BYTES, _MEMORY_FOR_EACH_BYTE = 4 << 30, 8
_STEP_S, _STEP_S_FOR_EACH_MIB = 10.0, 0.25
_WHOLE_S, _WHOLE_S_FOR_EACH_MIB = 60.0, 4.0
_PATIENCE_S = 600.0
_MOST_READ = 1 << 20
_MOST_IN_MEMORY = 8 << 20
_SHORTEST_KEY = 6
_MOST_COMPARED = 20_000_000
_SHOWN_NAMES = "conversation_asset_file_names.json"

F = TypeVar("F", FoundChat, FoundMessage, UnreadableChat)


class _Road:
    """Runs one job after another in a child process.

    Args:
        before: Called in the child before it gives up its rights.
    """

    def __init__(self, before: Callable[[], object] | None = None) -> None:
        self._child = Child(_MODULES, before=before)
        self.turn = Lock()  # held for jobs that belong together
        self.allow(0)

    def allow(self, size: int) -> None:
        """Set the limits for a file of this size; any rest of previous limits is dropped."""
        self._step_s = _STEP_S + _STEP_S_FOR_EACH_MIB * size / (1 << 20)
        self._whole_s = _WHOLE_S + _WHOLE_S_FOR_EACH_MIB * size / (1 << 20)
        self._most_s = self._child.spent_s + self._whole_s
        self._child.allow_memory(min(_MEMORY_FOR_EACH_BYTE * size, _MOST_MEMORY_BYTES))

    def run(
        self,
        file: IO[bytes],
        work: Callable[..., object],
        *arguments: object,
        told: Callable[[object], None] | None = None,
    ) -> Any:
        """Run a job that reads this file; later jobs find the state that it leaves.

        Raises:
            ChildFailed: If it exceeds the limits or crashes.
            NotReadable: If it refuses the file; has its message.
        """
        left_s = self._most_s - self._child.spent_s
        if left_s <= 0:
            raise ChildFailed("slow", f"it takes longer than {self._whole_s:g} s")
        try:
            return self._child.run(
                work,
                *arguments,
                deadline_s=min(self._step_s, left_s),
                wait_s=_PATIENCE_S,
                serve=partial(_served, file, told),
                goes_on=work is not end,
            )
        except CommandFailed as error:
            raise NotReadable(str(error)) from error

    def close(self) -> None:
        """End the child, even during a job."""
        self._child.close()


def _served(file: IO[bytes], told: Callable[[object], None] | None, asked: Any) -> bytes | None:
    """Answer a job's request for bytes of its file; `None` if it only reports its progress."""
    if not isinstance(asked, list):
        if told is not None:
            told(asked)
        return None
    at, count = asked
    file.seek(int(at))
    return file.read(min(int(count), _MOST_READ))


@dataclass(eq=False, kw_only=True)
class ChatFile:
    """One file that may hold chats."""

    name: str  # its path, for users
    size: int  # its size in bytes
    assets: "Assets"  # the files that its messages may attach
    path: Path  # the file on disk, which may be the ZIP that contains it
    reader: "ImportReader"
    road: _Road
    is_alone: bool = False  # True if the user named the file itself, not its folder or archive
    entries: Sequence[int] = ()  # its number in the ZIP, and those of the rest of its session
    further: Sequence[Path] = ()  # the other files of its session
    passed: int = field(default=0, init=False)  # the number of bytes read so far
    _reading: int | None = field(default=None, init=False)  # the conversation being read

    def chats(self, wanted: str = "") -> Iterator[Found | UnreadableChat]:
        """The chats of the file, one by one; nothing if it holds none.

        Args:
            wanted: As `chats_in` takes it.

        Raises:
            NotReadable: If the file as a whole can't be read.
        """
        try:
            with _lines_of((self.path, *self.further)) as file:
                is_database = not self.entries and file.read(len(_SQLITE)) == _SQLITE
                road = self.reader.database_road(self.path) if is_database else self.road
                if not self.entries:
                    road.allow(self.size)
                yield from self._limited(road, file, wanted)
                if is_database:
                    road.close()
        except OSError as error:
            raise NotReadable(f"can't be read: {error}") from error

    def _limited(
        self, road: _Road, file: IO[bytes], wanted: str
    ) -> Iterator[Found | UnreadableChat]:
        """The chats, without those that exceed the limits."""
        count, refused, is_single = 0, dict[int, str](), False
        while True:
            try:
                resume = ResumePoint(passed=count, refused=refused, is_single=is_single)
                for found in self._found(road, file, wanted, resume):
                    count += 1
                    yield found
            except ChildFailed as error:
                number, self._reading = self._reading, None
                if number is not None and number not in refused:
                    refused[number] = str(error)
                elif error.reason in {"stopped", "busy"} or is_single:
                    if not count:
                        raise NotReadable(str(error)) from error
                    yield UnreadableChat(id="", title="", error=f"the rest was not read: {error}")
                    return
                is_single = True
            else:
                return

    def _found(
        self, road: _Road, file: IO[bytes], wanted: str, resume: ResumePoint
    ) -> Iterator[Found | UnreadableChat]:
        size = file.seek(0, io.SEEK_END)
        given = JobFile(name=self.name, size=size, is_alone=self.is_alone)
        messages: list[FoundMessage] = []
        road.run(file, begin, given, self.entries, wanted, resume, told=self._tell)
        while True:
            answer = road.run(file, more, resume.is_single, told=self._tell)
            self.passed = int(answer["passed"])
            for kind, content in map(json.loads, answer["pieces"]):
                if kind == "end":
                    road.run(file, end)
                    return
                if kind == "not known":
                    raise NotKnown(str(content))
                if kind == "not readable":
                    raise NotReadable(str(content))
                if kind == "messages":
                    messages += (_made(FoundMessage, told) for told in json.loads(content))
                else:
                    yield _put_together(kind, json.loads(content), messages)
                    messages = []

    def _tell(self, number: object) -> None:
        self._reading = number if isinstance(number, int) else None


@contextmanager
def _lines_of(paths: Sequence[Path]) -> Iterator[IO[bytes]]:
    """One file unchanged; several joined, each as one line, without parsing them."""
    if len(paths) == 1:
        with paths[0].open("rb") as file:
            yield file
        return
    with tempfile.SpooledTemporaryFile(_MOST_IN_MEMORY) as joined:
        for path in paths:
            with path.open("rb") as file:
                joined.writelines(on_one_line(file))
        yield joined


def _put_together(
    kind: str, told: JsonObject, messages: list[FoundMessage]
) -> Found | UnreadableChat:
    if kind == "own":
        document = told["document"]
        if not isinstance(document, dict):
            raise ChildFailed("crashed", "its reader crashed (expected a document)")
        return OwnChat(
            id=check_chat_id(told["id"]) if told["id"] else "",
            document=document,
            hidden=[str(each) for each in told["hidden"]],
            pinned=[str(each) for each in told["pinned"]],
        )
    if kind == "broken":
        return _made(UnreadableChat, told)
    chat = _made(FoundChat, told)
    chat.messages = messages
    return chat


def _made(kind: type[F], told: Any) -> F:
    """A value of this kind, with checked types of fields: a hijacked child could send anything."""
    expected = _FIELDS[kind]
    for name, types in expected.items():
        if not isinstance(told[name], types):
            raise ChildFailed("crashed", f"its reader crashed ({name}: {type(told[name])})")
    if kind is FoundMessage:
        told["assets"] = [(str(name), str(shown)) for name, shown in told["assets"]]
    return kind(**{name: told[name] for name in expected})


def _fields_of(example: Any) -> dict[str, tuple[type, ...]]:
    """The types of the fields of an example; a field that is `None` may be a text."""
    values = {each.name: getattr(example, each.name) for each in fields(example)}
    return {
        name: (str, type(None)) if value is None else (type(value),)
        for name, value in values.items()
    }


_FIELDS: Mapping[type, Mapping[str, tuple[type, ...]]] = {
    FoundChat: _fields_of(FoundChat(client="", id="")),
    FoundMessage: _fields_of(FoundMessage(id="", role="user")),
    UnreadableChat: _fields_of(UnreadableChat(id="", title="", error="")),
}


@dataclass(slots=True)
class Assets:
    """The files that messages may refer to by a part of their names."""

    # by file name: the path, or the number in the archive
    files: dict[str, Path | int] = field(default_factory=dict)
    archive: Path | None = None  # the archive that contains them
    road: _Road | None = None
    beside: Path | None = None  # a folder with attached files of chats that were exported from here
    # the original names, if the export lists them; `None` until that list is read
    shown: dict[str, str] | None = None
    _sorted: Sequence[str] = ()
    _known: dict[str, str] = field(default_factory=dict)
    _compared: int = 0

    def read(self, name: str) -> tuple[str, bytes] | None:
        """Name and content of the file whose name contains `name`, or of a `data:` address.

        `None` if there is none that can be read.
        """
        if name.startswith("data:"):
            return _decoded(name)
        known = self._known_as(name)
        wanted = self.files.get(known) if known else self._beside(name)
        content = self._content(wanted)
        return None if content is None else (self._names().get(known, known), content)

    def _known_as(self, name: str) -> str:
        """The file name that equals or begins with `name`, or contains it; empty if none."""
        for known in (name, f"{name}.dat"):
            if known in self.files:
                return known
        if len(name) < _SHORTEST_KEY:
            return ""
        if name not in self._known:
            self._sorted = self._sorted or sorted(self.files)
            place = bisect_left(self._sorted, name)
            following = self._sorted[place] if place < len(self._sorted) else ""
            found = following if following.startswith(name) else ""
            if not found and self._compared < _MOST_COMPARED:
                self._compared += len(self.files)
                found = next((known for known in self.files if name in known), "")
            self._known[name] = found
        return self._known[name]

    def _content(self, wanted: Path | int | None) -> bytes | None:
        try:
            if isinstance(wanted, Path) and wanted.stat().st_size <= MOST_ASSET_BYTES:
                return wanted.read_bytes()
            if isinstance(wanted, int) and self.archive is not None and self.road is not None:
                with self.archive.open("rb") as file, self.road.turn:
                    return _unpacked(self.road, file, wanted, self.archive.stat().st_size)
        except (OSError, NotReadable, ChildFailed):
            pass
        return None

    def _beside(self, name: str) -> Path | None:
        if self.beside is None or not is_attached_name(name) or Path(name).name != name:
            return None
        found = self.beside / name
        return found if found.is_file() and not found.is_symlink() else None

    def _names(self) -> Mapping[str, str]:
        """The original names of files that ChatGPT exports as `file_….dat`."""
        if self.shown is None:
            self.shown = {}
            listed = self._content(self.files.get(_SHOWN_NAMES))
            if listed is not None and self.road is not None:
                with suppress(ChildFailed, NotReadable):
                    self.shown = dict(self.road.run(io.BytesIO(), names_in, listed))
        return self.shown


def _unpacked(road: _Road, file: IO[bytes], entry: int, size: int) -> bytes | None:
    given = JobFile(name="", size=size, is_alone=False)
    if not road.run(file, begin_asset, given, entry):
        return None
    content = bytearray()
    while piece := base64.b64decode(road.run(file, more_of_asset)):
        content += piece
        if len(content) > MOST_ASSET_BYTES:
            return None
    return bytes(content)


def _decoded(address: str) -> tuple[str, bytes] | None:
    """A file name with the type's ending, and the content, of a `data:` address in base64."""
    kind, is_base64, content = address.removeprefix("data:").partition(";base64,")
    if not is_base64 or len(content) > MOST_ASSET_BYTES * 4 // 3:
        return None
    try:
        ending = mimetypes.guess_extension(kind.partition(";")[0]) or ""
        return f"file{ending}", base64.b64decode(content)
    except ValueError:
        return None


def _files_below(*folders: Path) -> list[Path]:
    """The files in folders and below, without links.

    Raises:
        NotReadable: If there are too many.
    """
    found: list[Path] = []
    for folder in folders:
        for parent, _, names in os.walk(folder):
            for name in sorted(names):
                path = Path(parent) / name
                if path.is_symlink() or not path.is_file():
                    continue
                found.append(path)
                if len(found) > MOST_FILES:
                    raise NotReadable(f"has more than {MOST_FILES:,} files; give a smaller folder")
    return found


def _sessions(folder: Path, found: Sequence[Path]) -> dict[Path, Sequence[Path]]:
    """The other files of each session with several, by the first; also from folders next to it."""
    sessions: dict[Path, Sequence[Path]] = {}
    for form in (program.scattered for program in PROGRAMS if program.scattered):
        beside = [each for each in form.beside(folder) if not each.is_symlink()]
        sessions |= form.gather([*dict.fromkeys([*found, *_files_below(*beside)])])
    return sessions


def _gathered(found: Sequence[Path]) -> dict[Path, Sequence[Path]]:
    """The other ZIP entries of each session with several, by the first."""
    gathered = (program.scattered.gather(found) for program in PROGRAMS if program.scattered)
    return {first: further for sessions in gathered for first, further in sessions.items()}


class ImportReader:
    """Reads the files that a user names, in child processes that they share."""

    def __init__(self) -> None:
        self._road, self._asset_road = _Road(), _Road()
        self._roads = [self._road, self._asset_road]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        for road in self._roads:
            road.close()

    def files_in(self, path: Path, name: str) -> list[ChatFile]:
        """The files below a path that may hold chats.

        Args:
            name: The file's name for users, which also helps to recognise an older export.

        Raises:
            NotReadable: If it is an archive that is damaged, encrypted, or unpacks to too much.
        """
        if path.is_dir():
            return [*self._in_folder(path)]
        if not path.is_file():
            raise NotReadable("expected a file, a folder or a ZIP, found a device or a pipe")
        if session := _sessions(path.parent, [path]).get(path):
            return [self._file(path, name, Assets(), is_alone=True, further=session)]
        return [*self._in_file(path, name)]

    def database_road(self, path: Path) -> _Road:
        """A separate child for a database, which opens the file itself before its limits apply."""
        road = _Road(partial(open_database, str(path.absolute())))
        self._roads.append(road)
        return road

    def _in_folder(self, folder: Path) -> Iterator[ChatFile]:
        found = _files_below(folder)
        assets = Assets(road=self._asset_road, files={path.name: path for path in found})
        sessions = _sessions(folder, found)
        taken = {path for further in sessions.values() for path in further}
        for path in found:
            if is_read(path) and path.suffix.lower() != ".zip" and path not in taken:
                further = sessions.get(path, ())
                yield self._file(path, str(path), assets, is_alone=False, further=further)

    def _in_file(self, path: Path, name: str) -> Iterator[ChatFile]:
        size = path.stat().st_size
        self._road.allow(size)
        try:
            with path.open("rb") as file:
                given = JobFile(name=name, size=size, is_alone=True)
                entries = self._road.run(file, archived, given)
        except ChildFailed as error:
            raise NotReadable(str(error)) from error
        if entries is None:
            beside = Assets(beside=path.parent / ATTACHED_FOLDER)
            yield self._file(path, name, beside, is_alone=True)
            return
        self._asset_road.allow(size)
        assets = Assets(archive=path, road=self._asset_road)
        names = [entry.replace("\\", "/") for entry, _ in entries]  # from some programs
        assets.files = {name.rpartition("/")[2]: number for number, name in enumerate(names)}
        paths = [*map(Path, names)]  # paths cache their parts and hash
        numbers = {path: number for number, path in enumerate(paths)}
        sessions = _gathered([path for path, number in numbers.items() if entries[number][1] >= 0])
        taken = {path for further in sessions.values() for path in further}
        for number, (entry, unpacked) in enumerate(entries):
            if unpacked >= 0 and paths[number] not in taken:
                further = [numbers[other] for other in sessions.get(paths[number], ())]
                yield ChatFile(
                    name=entry,
                    size=unpacked + sum(entries[other][1] for other in further),
                    path=path,
                    assets=assets,
                    reader=self,
                    road=self._road,
                    entries=(number, *further),
                )

    def _file(
        self,
        path: Path,
        name: str,
        assets: Assets,
        *,
        is_alone: bool,
        further: Sequence[Path] = (),
    ) -> ChatFile:
        return ChatFile(
            name=name,
            size=sum(each.stat().st_size for each in (path, *further)),
            further=further,
            path=path,
            assets=assets,
            reader=self,
            road=self._road,
            is_alone=is_alone,
        )

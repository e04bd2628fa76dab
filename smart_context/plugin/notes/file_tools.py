"""Tools with which a model reads files of the vault while it answers.

Hidden files, files that an ignore file names, and files outside the vault can't be read. The text
of a file is enclosed in marks that it can't contain; see docs/contexts.md.
"""

import difflib
import os
import posixpath
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Literal

from smart_context.base.errors import CommandFailed
from smart_context.base.text.names import one_line
from smart_context.base.threads import in_daemon_thread
from smart_context.base.values import JsonObject
from smart_context.host.models import Models
from smart_context.host.request.request import Request
from smart_context.host.request.tools import Tool
from smart_context.plugin.choices.state import FilterState
from smart_context.plugin.notes.context_prompt import fenced
from smart_context.plugin.notes.file_excerpts import excerpt, matches
from smart_context.vault.assigns import build_context_assign_string
from smart_context.vault.guarded.paths import as_typed, confine
from smart_context.vault.guarded.walk import readable_files, stamp_of
from smart_context.vault.index.passages import Passage
from smart_context.vault.match import build_matcher
from smart_context.vault.reader import read_requested_files

MAX_FILES = 20
"""The maximum number of files that one turn reads."""

MAX_FILE_BYTES = 2 << 20
MAX_LINES = 500
MAX_SHOWN_CHARACTERS = 30_000
"""The maximum length of a file that one call shows; the model can ask for the rest."""

MAX_TURN_CHARACTERS = 150_000
"""The maximum length that all calls of one turn show."""

MAX_LISTED = 200
MAX_PASSAGES = 8
MAX_MATCHES = 40
_NOTES = ("[Error reading file: ", "[Skipped: ")
_LONGEST_NOTE = 400

Nearest = Callable[[str, int], Awaitable[Sequence[Passage]]]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FileTools:
    """Offers a vault's files to the chat model."""

    root: Path
    without: Collection[str]  # folders to leave out, relative to the vault; the memory folder
    nearest: Nearest
    # gives the text of an attached file by its key; `None` if unknown
    attached: Callable[[str], Awaitable[str | None]]
    # `off` offers none; `fenced` always uses plain text instead of tool calls
    mode: Literal["auto", "fenced", "off"]
    models: Callable[[], Models]  # gives the models in use; the embedded chat model takes no tools

    async def offered(self, state: FilterState, request: Request) -> Sequence[Tool]:
        """The tools for one turn of a chat, which share its limits; none if not offered."""
        return self.for_turn() if await self.are_offered(state, request) else ()

    async def are_offered(self, state: FilterState, request: Request) -> bool:
        """True if the user allows the tools, or has not chosen and there are files to read.

        Tools take hundreds of tokens, and small models answer worse with them.
        """
        if not self.is_open or state.file_tools is not None:
            return self.is_open and state.file_tools is True
        if request.files or any(message.files for message in request.history):
            return True
        return await in_daemon_thread(
            lambda: any(readable_files(self.root, without=self.without)), name="files"
        )

    @property
    def is_fenced(self) -> bool:
        """True if the settings want calls and results as plain text."""
        return self.is_open and self.mode == "fenced"

    @property
    def is_open(self) -> bool:
        """True if settings and model allow tools; each chat can be without them."""
        return self.mode != "off" and not self.models().chat_is_embedded

    def for_turn(self) -> list[Tool]:
        """The tools of one turn, which count together what it reads."""
        base = os.path.abspath(self.root)  # noqa: PTH100 - links stay, as for the reader
        reading = _FilesRead(self, base)
        return [
            Tool(
                name="read_file",
                description="Read a text file of the user's vault, or an attached file by its "
                f"FILE_KEY; at most {MAX_LINES} lines at a time.",
                parameters=_object(
                    path=("string", "Relative to the vault, such as notes/plan.md; or a FILE_KEY"),
                    from_line=("integer", "The first line to show; 1 if left out"),
                    from_character=(
                        "integer",
                        "The character of that line to begin at; 1 if left out",
                    ),
                ),
                run=reading.read,
            ),
            Tool(
                name="search_files",
                description="Find the passages of the vault's notes that are closest to a query.",
                parameters=_object(query=("string", "A few words that describe what is sought")),
                run=self._search,
            ),
            Tool(
                name="list_files",
                description="List the files of the vault, or of one of its folders.",
                parameters=_object(
                    ("folder", "pattern"),
                    folder=("string", "Relative to the vault; the whole vault if left out"),
                    pattern=("string", "What the name must match, such as *.md"),
                ),
                run=self._list,
            ),
            Tool(
                name="search_file_content",
                description="Find the lines of one file that contain a text, ignoring case.",
                parameters=_object(
                    path=("string", "Relative to the vault, or a FILE_KEY"),
                    query=("string", "The text"),
                ),
                run=reading.search,
            ),
        ]

    async def _search(self, arguments: JsonObject) -> str:
        passages = await self.nearest(arguments["query"], MAX_PASSAGES)
        found = [f"File: {one_line(each.source)}\n{fenced(each.text)}" for each in passages]
        return "\n\n".join(found) or "No passage of the vault shares a word with the query."

    async def _list(self, arguments: JsonObject) -> str:
        folder = _relative(self.root, arguments.get("folder", ""))
        is_match = build_matcher(arguments.get("pattern"))

        def listed() -> list[str]:
            paths = readable_files(self.root, below=folder, without=self.without)
            return [path for path in paths if is_match(posixpath.basename(path))]

        paths = await in_daemon_thread(listed, name="files")
        where = f"in {one_line(folder)}" if folder else "in the vault"
        if not paths:
            return f"There are no such files {where}."
        count = f"{len(paths)} files {where}" if len(paths) > 1 else f"1 file {where}"
        left = f"; the first {MAX_LISTED} of them" if len(paths) > MAX_LISTED else ""
        return f"{count}{left}:\n{fenced(chr(10).join(map(one_line, paths[:MAX_LISTED])))}"


@dataclass(slots=True)
class _FilesRead:
    """The files that one turn has read, within its limits."""

    tools: FileTools
    base: str
    files: dict[str, str] = field(default_factory=dict)
    characters: int = 0

    @property
    def root(self) -> Path:
        return self.tools.root

    async def read(self, arguments: JsonObject) -> str:
        key, text = await self._text_of(arguments["path"])
        part = excerpt(
            text,
            from_line=max(1, arguments.get("from_line", 1)),
            from_character=max(1, arguments.get("from_character", 1)),
            most_lines=MAX_LINES,
            most_characters=min(MAX_SHOWN_CHARACTERS, self._room()),
        )
        self.characters += len(part.text)
        assigns = build_context_assign_string({key: part.text}, cwd=self.root)
        return f"{assigns}\n[{part.note}]" if part.note else assigns

    async def search(self, arguments: JsonObject) -> str:
        sought = arguments["query"]
        _key, text = await self._text_of(arguments["path"])
        lines = list(islice(matches(text, sought), MAX_MATCHES + 1)) if sought.strip() else []
        if not lines:
            return "No line holds that text."
        more = f"\n[Only the first {MAX_MATCHES}.]" if len(lines) > MAX_MATCHES else ""
        shown = "\n".join(lines[:MAX_MATCHES])[: self._room()]
        self.characters += len(shown)
        return f"{fenced(shown)}{more}"

    def _room(self) -> int:
        left = MAX_TURN_CHARACTERS - self.characters
        if left <= 0:
            raise CommandFailed(
                f"Enough was read: at most {MAX_TURN_CHARACTERS:,} characters in one turn. "
                "Answer with what you have."
            )
        return left

    async def _text_of(self, request: str) -> tuple[str, str]:
        """The absolute path of a file, to be shown, and its text."""
        if text := await self.tools.attached(request):
            return str(self.root / request), text
        path = _relative(self.root, request)
        stamp = await in_daemon_thread(
            lambda: stamp_of(self.root, path, without=self.tools.without), name="files"
        )
        if stamp is None:
            raise CommandFailed(await in_daemon_thread(lambda: self._absent(path), name="files"))
        key = str(Path(self.base, path))
        if key not in self.files and len(self.files) >= MAX_FILES:
            raise CommandFailed(f"At most {MAX_FILES} files are read in one turn.")
        await read_requested_files(
            [path],
            self.files,
            dir=self.root,
            max_files=MAX_FILES,
            max_file_size=MAX_FILE_BYTES,
            root=self.root,
        )
        text = self.files.get(key, "[Error reading file: its name can't be resolved]")
        if text.startswith(_NOTES) and len(text) < _LONGEST_NOTE and text.endswith("]"):
            raise CommandFailed(text)
        return key, text

    def _absent(self, path: str) -> str:
        if os.path.isdir(self.root / path):  # noqa: PTH112 - never raises, for any name
            return f"{path!r} is a folder; call list_files."
        paths = list(readable_files(self.root, without=self.tools.without))
        close = ", ".join(map(repr, _like(path, paths)))
        return f"There is no file {path!r} that may be read." + (
            f" Did you mean {close}?" if close else ""
        )


def _relative(root: Path, request: str) -> str:
    """The requested path, relative to the vault and normalised.

    Raises:
        PathRefused: If it leads out of the vault.
    """
    typed = as_typed(request)
    confine(root, typed)
    path = posixpath.normpath(typed.strip("/") or ".")
    return "" if path == "." else path


def _like(path: str, paths: Iterable[str]) -> list[str]:
    """Paths with the same or a similar name."""
    wanted = posixpath.basename(path).casefold()
    by_name: dict[str, list[str]] = {}
    for known in paths:
        name = posixpath.basename(known).casefold()
        by_name.setdefault(name, []).append(known)
        by_name.setdefault(posixpath.splitext(name)[0], []).append(known)
    names = difflib.get_close_matches(wanted, by_name, n=3, cutoff=0.8)
    return list(dict.fromkeys(known for name in names for known in by_name[name]))[:3]


def _object(
    optional: Collection[str] = ("from_line", "from_character"), **fields: tuple[str, str]
) -> JsonObject:
    return {
        "type": "object",
        "properties": {
            name: {"type": kind, "description": description}
            for name, (kind, description) in fields.items()
        },
        "required": [name for name in fields if name not in optional],
    }

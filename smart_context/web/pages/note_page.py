"""A note as a fragment: read-only, with what links to it."""

from collections.abc import Callable
from typing import NamedTuple, Protocol, TypeVar

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from smart_context.vault.index.vault_index import VaultIndex
from smart_context.web.pages.templates import NO_STORE, PageTemplates

_MAX_NAME = 500
_MAX_BACKLINKS = 100

T = TypeVar("T")


class Notes(Protocol):
    """The vault's notes."""

    async def ask(self, question: Callable[[VaultIndex], T]) -> T:
        """The answer of the index to a question."""
        ...


class _Note(NamedTuple):
    path: str
    text: str
    backlinks: tuple[str, ...]


class NotePage:
    """Answers `GET /notes?note=`: the note that a link's words mean.

    Args:
        notes: The vault's notes; `None`: there are none to show.
    """

    def __init__(self, notes: Notes | None, templates: PageTemplates) -> None:
        self._notes = notes
        self._page = templates.page

    async def answer(self, request: Request) -> Response:
        """The note, or 404 and why."""
        name = request.query_params.get("note", "")[:_MAX_NAME]
        note = await self._notes.ask(lambda index: _found(index, name)) if self._notes else None
        if note is None:
            missing = f"No note is called “{name}”."
            return PlainTextResponse(missing, status_code=404, headers=NO_STORE)
        return await self._page(
            "messages/note.html",
            path=note.path,
            title=_title(note.path),
            text=_below_title(note),
            backlinks=[(path, _title(path)) for path in note.backlinks[:_MAX_BACKLINKS]],
        )


def _found(index: VaultIndex, name: str) -> _Note | None:
    index.catch_up()
    path = index.names.resolve(name.partition("#")[0].strip(), "").path
    read = index.read(path) if path else None
    if path is None or read is None:
        return None
    text, outline = read
    return _Note(path, text[outline.body :], index.backlinks(path))


def _below_title(note: _Note) -> str:
    # The page has a heading of its own: many notes begin with the same words.
    first, _, rest = note.text.lstrip().partition("\n")
    return rest if first.rstrip() == f"# {_title(note.path)}" else note.text


def _title(path: str) -> str:
    return path.rpartition("/")[2].removesuffix(".md")

"""`POST /api/files` stores a file for a message; `GET /api/files/<key>` returns it.

The body is the file, and `X-File-Name` its percent-encoded name: no form, nothing to parse.
"""

from typing import Any, Protocol
from urllib.parse import quote, unquote

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from smart_context.base.errors import SmartContextError, StorageAway, StoreFailed
from smart_context.host.commands.registry import Caller
from smart_context.web.bodies import BodyTooLarge, read_body
from smart_context.web.gate.gate import admitted
from smart_context.web.gate.refusals import error_response
from smart_context.web.limits import MAX_DROPPED_BYTES, MAX_STALL_S, MAX_UPLOAD_BYTES, MIB
from smart_context.web.pages.views.attached_views import SHOWN_IMAGES

_MOST_READ = MAX_UPLOAD_BYTES + MAX_DROPPED_BYTES
_NO_NAME, _TIMED_OUT, _TOO_LARGE, _REFUSED, _DISK_FULL = 400, 408, 413, 422, 507
_UNAVAILABLE = 503


class StoredFile(Protocol):
    """What clients learn about a file."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def file_type(self) -> str:
        """Its media type."""

    def to_dict(self) -> dict[str, Any]:
        """The JSON object for clients."""


class Files(Protocol):
    """The store of attached files."""

    async def put(self, name: str, content: bytes) -> StoredFile:
        """Store a file."""


class FileReading(Protocol):
    """What a caller may read of the attached files."""

    async def file(self, caller: Caller, key: str) -> tuple[StoredFile, bytes] | None:
        """A file and its content."""


def file_routes(files: Files, reading: FileReading) -> list[BaseRoute]:
    """The routes for attached files."""
    endpoints = _Endpoints(files, reading)
    return [
        Route("/api/files", endpoints.upload, methods=["POST"]),
        Route("/api/files/{key}", endpoints.download, methods=["GET"]),
    ]


class _NoName(Exception):
    pass


class _Endpoints:
    def __init__(self, files: Files, reading: FileReading) -> None:
        self._files = files
        self._reading = reading

    async def upload(self, request: Request) -> Response:
        try:
            name = _name(request)
            stored = await self._files.put(
                name, await read_body(request, MAX_UPLOAD_BYTES, most_read=_MOST_READ)
            )
        except (_NoName, BodyTooLarge, TimeoutError, SmartContextError) as error:
            status, why = _refusal(error)
            return error_response(status, status, why)
        return JSONResponse(stored.to_dict(), headers={"Cache-Control": "no-store"})

    async def download(self, request: Request) -> Response:
        caller = Caller(admitted(request.scope).person)
        found = await self._reading.file(caller, request.path_params["key"])
        if found is None:
            raise HTTPException(404)
        stored, content = found
        is_image = stored.file_type in SHOWN_IMAGES
        name = quote(stored.name, safe="", errors="replace")
        way = "inline" if is_image else "attachment"
        headers = {
            "Content-Disposition": f"{way}; filename*=UTF-8''{name}",
            "Cache-Control": "private, max-age=31536000, immutable",
        }
        # Files that a browser would run or show as a page can only be downloaded.
        kind = stored.file_type if is_image else "application/octet-stream"
        return Response(content, media_type=kind, headers=headers)


def _name(request: Request) -> str:
    if name := unquote(request.headers.get("x-file-name", ""), errors="replace").strip():
        return name
    raise _NoName


def _refusal(error: Exception) -> tuple[int, str]:
    match error:
        case _NoName():
            return _NO_NAME, "X-File-Name must hold the file's name, percent-encoded"
        case BodyTooLarge():
            return _TOO_LARGE, f"the file is larger than {MAX_UPLOAD_BYTES // MIB} MiB"
        case TimeoutError():
            return _TIMED_OUT, f"no bytes arrived for {MAX_STALL_S:g} s"
        case StoreFailed():
            return _UNAVAILABLE if isinstance(error, StorageAway) else _DISK_FULL, str(error)
        case _:
            return _REFUSED, str(error)

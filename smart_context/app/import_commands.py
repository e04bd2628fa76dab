"""`memory.import`: imports chats of other programs, from an uploaded file or from a path."""

import asyncio
import re
import secrets
import tempfile
from collections import defaultdict
from collections.abc import Coroutine
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any
from urllib.parse import unquote

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from smart_context.base.errors import CommandFailed, InvalidParams
from smart_context.base.values import JsonObject, PersonId
from smart_context.host.commands.registry import Caller, check_owner
from smart_context.host.events.events import Event
from smart_context.host.host import Host
from smart_context.importing.programs import FORMATS
from smart_context.importing.taking_in import Importer, ImportOptions, ImportOutcome
from smart_context.web.gate.gate import admitted
from smart_context.web.gate.refusals import error_response
from smart_context.web.limits import MAX_DROPPED_BYTES

IMPORT_PROGRESS: Event[Any] = Event("memory.import_progress")
"""Progress of an import: `file`, `chats` read so far, and `share` of all bytes, 0 to 1."""

MOST_BYTES = 8 << 30
_TOLD_EACH_S = 0.1
_TOO_LARGE, _FORBIDDEN, _NO_ROOM = 413, 403, 507
_SUFFIX = re.compile(r"\.[a-z0-9]{1,8}")
_STOPPED = (
    "Smart Context is stopping; the chats that were read are kept. Import the file again for the "
    "others."
)
_MOST_AT_ONCE = 4
_MOST_WAITING = 8
"""The most files of one person that wait to be read."""


class Imports:
    """Takes uploaded files of chats, and imports them on request."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._waiting: dict[tuple[PersonId, str], Path] = {}
        self._names: dict[str, str] = {}
        self._reading: defaultdict[PersonId, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._at_once = asyncio.Semaphore(_MOST_AT_ONCE)
        self._told_at = 0.0
        self._running: set[asyncio.Future[ImportOutcome]] = set()
        self._is_closed = False

    def register(self) -> None:
        """Register the command."""
        self._host.commands.register("memory.import", self.import_chats)

    def routes(self) -> list[BaseRoute]:
        """The route for uploads."""
        return [Route("/api/imports", self.upload, methods=["POST"])]

    async def close(self) -> None:
        """End running imports, and remove uploads that nobody imported.

        Chats that an import has stored stay. Without this, an import would run until its connection
        is cut, and the server would wait for it before it ends.
        """
        self._is_closed = True
        for running in self._running:
            running.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)
        if self._folder is not None:
            await asyncio.to_thread(self._folder.cleanup)

    async def upload(self, request: Request) -> Response:
        """Keep the body as a file until `memory.import` reads it."""
        try:
            person = admitted(request.scope).person
            self._check(person, reads_server=False)
        except CommandFailed as refused:
            return error_response(_FORBIDDEN, _FORBIDDEN, str(refused))
        name = unquote(request.headers.get("x-file-name", ""), errors="replace")
        upload = secrets.token_hex(8)
        path = await asyncio.to_thread(self._place, upload, Path(name).suffix.lower())
        try:
            is_whole = await _received(request, path)
        except BaseException as error:  # an interrupted upload leaves no file either
            path.unlink(missing_ok=True)
            if not isinstance(error, OSError):
                raise
            told = f"the file can't be kept: {error.strerror}. Free space, then send it again."
            return error_response(_NO_ROOM, _NO_ROOM, told)
        if not is_whole:
            await asyncio.to_thread(path.unlink)
            return error_response(_TOO_LARGE, _TOO_LARGE, "the file is larger than 8 GiB")
        self._waiting[person, upload] = path
        self._names[path.name] = name
        theirs = [known for known in self._waiting if known[0] == person]
        for known in theirs[:-_MOST_WAITING]:
            oldest = self._waiting.pop(known)
            self._names.pop(oldest.name, None)
            await asyncio.to_thread(oldest.unlink, missing_ok=True)
        return JSONResponse({"upload": upload}, headers={"Cache-Control": "no-store"})

    async def import_chats(
        self,
        caller: Caller,
        upload: str = "",
        path: str = "",
        program: str = "",
        folder: str = "",
        dry_run: bool = False,
    ) -> JsonObject:
        """Bring in the chats of other programs; gives the account.

        Args:
            upload: The id from `POST /api/imports`; either this or `path`.
            path: A file, folder or ZIP on the server's machine.
            program: A program as in `source.client`; by default, the content decides.
            folder: The folder for new chats, in the list of chats.
            dry_run: Only report the changes; the upload can be imported afterwards.
        """
        self._check(caller.person, reads_server=bool(path))
        if bool(upload) == bool(path) or (program and program not in FORMATS):
            known = ", ".join(FORMATS)
            raise InvalidParams(f"Give an upload or a path, and as program one of: {known}.")
        waiting = self._waiting.get if dry_run else self._waiting.pop
        sent = waiting((caller.person, upload), None)  # once it is read, it no longer waits
        file = sent if upload else await asyncio.to_thread(_own, path)
        if file is None or not await asyncio.to_thread(file.exists):
            told = "send it again" if upload else "give the path of a file on the server's machine"
            raise CommandFailed(f"That file is not there; {told}.")
        wishes = ImportOptions(client=program, folder=folder, is_dry=dry_run)
        try:
            async with self._reading[caller.person], self._at_once:
                storage = self._host.services.storage.for_person(caller.person)
                importer = Importer(storage, wishes, partial(self._tell, caller.person))
                names = {file: self._names.get(file.name, "")}
                return (await self._until_closed(importer.run([file], names))).row()
        finally:
            if upload and not dry_run:
                self._names.pop(file.name, None)
                await asyncio.to_thread(file.unlink, missing_ok=True)

    async def _until_closed(self, run: Coroutine[Any, Any, ImportOutcome]) -> ImportOutcome:
        """The result of an import, which is cancelled when the server stops.

        Raises:
            CommandFailed: If the server stops.
        """
        running = asyncio.ensure_future(run)
        self._running.add(running)
        running.add_done_callback(self._running.discard)
        if self._is_closed:
            running.cancel()
        try:
            return await running
        except asyncio.CancelledError:
            if not self._is_closed:
                raise
            raise CommandFailed(_STOPPED) from None

    def _check(self, person: PersonId, *, reads_server: bool) -> None:
        """Refuse people who may not import; if there are several people, each may upload files.

        Raises:
            CommandFailed: If the person may not.
        """
        if reads_server or not self._host.access.has_people or not person:
            check_owner(person)

    def _place(self, upload: str, suffix: str) -> Path:
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="smart-context-")
        return Path(self._folder.name) / f"{upload}{suffix if _SUFFIX.fullmatch(suffix) else ''}"

    def _tell(self, person: PersonId, file: str, done: int, share: float) -> None:
        if monotonic() - self._told_at > _TOLD_EACH_S:
            self._told_at = monotonic()
            told = {"file": file, "chats": done, "share": round(share, 3)}
            self._host.emit(IMPORT_PROGRESS, told, person)


async def _received(request: Request, path: Path) -> bool:
    """Write the body into a file; `False` if it is too large.

    After a failed write, the rest is still read, up to a limit: a sender that is cut off in the
    middle does not read the answer with the reason.

    Raises:
        OSError: If the file can't be written.
    """
    size, most = 0, MOST_BYTES
    failed: OSError | None = None
    with await asyncio.to_thread(path.open, "wb") as file:
        async for chunk in request.stream():
            size += len(chunk)
            if size > most:
                break
            if failed is None:
                try:
                    await asyncio.to_thread(file.write, chunk)
                except OSError as error:
                    failed, most = error, min(most, size + MAX_DROPPED_BYTES)
        if failed is not None:
            raise failed
    return size <= most


def _own(path: str) -> Path:
    """The path that a user wrote; it may begin with `~`."""
    return Path(path).expanduser()

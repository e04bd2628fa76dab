"""Reports which chats on disk have changed, by this program or by others."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from watchfiles import Change, awatch

from smart_context.base.disk.files import Signature, signature_of
from smart_context.base.disk.folders import opened
from smart_context.base.disk.places import Place
from smart_context.base.errors import StoreFailed
from smart_context.base.threads import run_uncancelled
from smart_context.chat.ids import chat_id_of, sidecar_chat_of
from smart_context.chat.messages import ChatId
from smart_context.storage.files.listing import signatures_in
from smart_context.storage.listeners import ReportedChanges

_log = logging.getLogger(__name__)

STEP_MS = 50
"""Changes within this time are reported together."""

LOOK_AGAIN_S = 2.0
"""Seconds between checks of the whole folder: some systems report no changes, or lose reports."""

_APPEARS_S = 1.0


@dataclass(frozen=True, slots=True)
class ChangedChats:
    """The chats whose document, or whose JSON side-car, may have changed."""

    documents: frozenset[ChatId] = frozenset()
    sidecars: frozenset[ChatId] = frozenset()


async def changed_chats(
    folder: Place, *, look_again_s: float = LOOK_AGAIN_S
) -> AsyncGenerator[ChangedChats | None, None]:
    """Chats whose files may have changed; `None` for "any of them".

    Args:
        folder: Need not exist; it is not made.
        look_again_s: Seconds until a change that the system did not report is noticed.
    """
    while True:
        yield None  # the folder may be gone
        await _until_there(folder, min(look_again_s, _APPEARS_S))
        yield None
        try:
            async for touched in _reported(folder, look_again_s):
                yield touched
        except (OSError, RuntimeError) as error:  # no watches left, or the folder went away
            _log.debug("%s is looked at every %s s: %s", folder, look_again_s, error)
            await asyncio.sleep(look_again_s)


async def _until_there(folder: Place, look_again_s: float) -> None:
    while await run_uncancelled(lambda: _inode(folder)) is None:  # noqa: ASYNC110 - others make the folder
        await asyncio.sleep(look_again_s)


async def _reported(
    folder: Place, look_again_s: float
) -> AsyncGenerator[ChangedChats | None, None]:
    watched = await run_uncancelled(lambda: _inode(folder))
    reports = awatch(
        folder.path,
        watch_filter=_is_of_a_chat,
        step=STEP_MS,
        rust_timeout=int(look_again_s * 1000),
        yield_on_timeout=True,
        recursive=False,
    )
    async with contextlib.aclosing(reports) as changes:
        async for batch in changes:
            yield _touched_in(batch) if batch else None
            if await run_uncancelled(lambda: _inode(folder)) != watched:
                return  # the folder was replaced by another, which needs a new watch


def _touched_in(batch: set[tuple[Change, str]]) -> ChangedChats:
    names = [Path(path).name for _, path in batch]
    return ChangedChats(
        frozenset(filter(None, map(chat_id_of, names))),
        frozenset(filter(None, map(sidecar_chat_of, names))),
    )


def _is_of_a_chat(_change: Change, path: str) -> bool:
    name = Path(path).name
    return chat_id_of(name) is not None or sidecar_chat_of(name) is not None


def _inode(folder: Place) -> int | None:
    try:
        with opened(folder) as there:
            return there.own_status().st_ino
    except OSError:
        return None


class FileChanges(ReportedChanges[Signature]):
    """The changes of chats by the states of their files; satisfies `ChatChanges`.

    Args:
        lock: Returns the lock of a chat; a writer holds it until its change is reported.
    """

    def __init__(self, folder: Place, lock: Callable[[ChatId], asyncio.Lock]) -> None:
        super().__init__()
        self._folder = folder
        self._lock = lock

    async def watch(self, *, look_again_s: float = LOOK_AGAIN_S) -> None:
        """Report changes by other programs until cancelled. The folder need not exist."""
        await run_uncancelled(self._begin)
        reports = changed_chats(self._folder, look_again_s=look_again_s)
        async with contextlib.aclosing(reports) as changes:
            async for touched in changes:
                await self._report(None if touched is None else touched.documents)
                for chat in sorted(touched.sidecars if touched else ()):
                    self._sidecar_listeners.tell(chat)

    def _begin(self) -> None:
        self._reported = {**signatures_in(self._folder), **self._reported}

    async def _report(self, chats: frozenset[ChatId] | None) -> None:
        for chat in sorted(await run_uncancelled(self._unreported) if chats is None else chats):
            async with self._lock(chat):
                signature = await run_uncancelled(partial(self._state, chat))
                if signature != self._reported.get(chat):
                    self.tell(chat, signature)

    def _unreported(self) -> frozenset[ChatId]:
        found = signatures_in(self._folder)
        known = dict(self._reported)
        return frozenset(chat for chat in {*found, *known} if found.get(chat) != known.get(chat))

    def _state(self, chat: ChatId) -> Signature | None:
        with contextlib.suppress(StoreFailed):
            return signature_of(self._folder / f"{chat}.json")
        return None

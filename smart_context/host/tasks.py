"""Background work with an owner, which logs its failures and ends it."""

import asyncio
import logging
from collections.abc import Coroutine, Hashable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from smart_context.base.errors import OwnerStopped
from smart_context.base.waiting import in_background

T = TypeVar("T")

CLOSE_TIMEOUT_S = 3.0


class StoppableTasks:
    """Work in chats, besides their turns, that a user can stop."""

    def __init__(self) -> None:
        self._tasks: dict[str, list[asyncio.Task[Any]]] = {}

    @contextmanager
    def stopping(self, chat_id: str, tasks: Sequence[asyncio.Task[Any]]) -> Iterator[None]:
        """Let these tasks be stopped within a block; at its end they are cancelled."""
        known = self._tasks.setdefault(chat_id, [])
        known += tasks
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
                known.remove(task)
            if not known:
                self._tasks.pop(chat_id, None)

    def stop(self, chat_id: str) -> bool:
        """Cancel the tasks of a chat; `False` if there is none."""
        found = [task for task in self._tasks.get(chat_id, ()) if not task.done()]
        for task in found:
            task.cancel()
        return bool(found)


class TaskOwner:
    """The tasks of one owner.

    Args:
        is_waited_for: True if those who start a task wait for it, so that it has their priority
            over background work.
    """

    def __init__(self, name: str, *, is_waited_for: bool = False) -> None:
        self._name = name
        self._is_waited_for = is_waited_for
        self._logger = logging.getLogger(__name__)
        self._tasks: set[asyncio.Task[Any]] = set()
        self._unfinished: dict[Hashable, list[asyncio.Task[Any]]] = {}
        self._closed = False

    def spawn(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Run work in the background; a failure is logged with the owner's name.

        Raises:
            OwnerStopped: If the owner was closed.
        """
        self._check_open(work)
        context = None if self._is_waited_for else in_background()
        task = asyncio.create_task(work, context=context)
        self._tasks.add(task)
        task.add_done_callback(self._finished)
        return task

    def latest(self, key: Hashable, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Run work in the background in place of the previous work of the same key.

        The previous work is cancelled, and has ended before the new work begins.

        Raises:
            OwnerStopped: If the owner was closed.
        """
        self._check_open(work)
        tasks = self._unfinished.setdefault(key, [])
        earlier = [task for task in tasks if not task.done()]
        if earlier:
            earlier[-1].cancel()  # the others are cancelled already
            task = self.spawn(_after(earlier, work))
            task.add_done_callback(lambda _: work.close())
        else:
            task = self.spawn(work)
        tasks.append(task)
        task.add_done_callback(lambda done: self._forget(key, done))
        return task

    async def settled(self, key: Hashable) -> None:
        """Wait until no work of a key is left, including work that replaces it meanwhile."""
        while left := [task for task in self._unfinished.get(key, ()) if not task.done()]:
            await asyncio.wait(left)

    async def close(self, timeout_s: float = CLOSE_TIMEOUT_S) -> None:
        """Cancel all work and wait for its end, within the time given."""
        self._closed = True
        tasks = self._tasks - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        if not tasks:
            return
        _, running = await asyncio.wait(tasks, timeout=timeout_s)
        if running:
            self._logger.error(
                "%s: %d tasks did not end within %g s", self._name, len(running), timeout_s
            )

    def _check_open(self, work: Coroutine[Any, Any, Any]) -> None:
        if self._closed:
            work.close()
            raise OwnerStopped(
                f"{self._name} has stopped and takes no more work. If it was restarted, try again."
            )

    def _finished(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()):
            self._logger.error("%s: background work failed", self._name, exc_info=error)

    def _forget(self, key: Hashable, task: asyncio.Task[Any]) -> None:
        tasks = self._unfinished[key]
        tasks.remove(task)
        if not tasks:
            del self._unfinished[key]


def was_cancelled() -> bool:
    """True if the running task itself was cancelled, not only the work that it awaited."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


async def _after(earlier: Sequence[asyncio.Task[Any]], work: Coroutine[Any, Any, T]) -> T:
    await asyncio.wait(earlier)
    del earlier  # a cancelled task's traceback keeps locals, which would chain all tasks
    return await work

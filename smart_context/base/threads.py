"""Blocking work, done in threads next to the event loop."""

import asyncio
import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


async def to_end(work: Callable[[], T]) -> T:
    """The result of blocking work done in a worker thread.

    A caller that is cancelled still waits for the end: a thread can't be stopped, and a lock held
    around the work must not be released while it writes.
    """
    running = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        await asyncio.wait({running})
        if not running.cancelled():
            running.exception()  # marks it as seen: no caller is left
        raise


async def in_daemon_thread(work: Callable[[], T], *, name: str) -> T:
    """The result of blocking work done in a thread that the program does not wait for at its end.

    A caller that is cancelled does not wait; the work goes on and its result is dropped.
    """
    loop = asyncio.get_running_loop()
    outcome: asyncio.Future[T] = loop.create_future()

    def settle(result: T | None, error: BaseException | None) -> None:
        if outcome.done():
            return
        if error is not None:
            outcome.set_exception(error)
        else:
            outcome.set_result(result)  # type: ignore[arg-type] # one of the two is there

    def run() -> None:
        try:
            result = work()
        except BaseException as error:  # noqa: BLE001 - the awaiting side decides
            _tell(loop, settle, None, error)
        else:
            _tell(loop, settle, result, None)

    threading.Thread(target=run, name=name, daemon=True).start()
    return await outcome


def _tell(
    loop: asyncio.AbstractEventLoop,
    settle: Callable[[T | None, BaseException | None], None],
    result: T | None,
    error: BaseException | None,
) -> None:
    if not loop.is_closed():
        loop.call_soon_threadsafe(settle, result, error)

"""Runs blocking work in threads, off the event loop."""

import asyncio
import contextvars
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import TypeVar

T = TypeVar("T")


async def run_uncancelled(work: Callable[[], T], threads: Executor | None = None) -> T:
    """The result of blocking work done in a worker thread.

    A caller that is cancelled still waits for the end: a thread can't be stopped, and a lock held
    around the work must not be released while it writes.

    Args:
        work: What is done.
        threads: Where it is done; by default in the threads that all share.
    """
    running: asyncio.Future[T]
    if threads is None:
        running = asyncio.ensure_future(asyncio.to_thread(work))
    else:
        running = asyncio.get_running_loop().run_in_executor(threads, work)
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        await asyncio.wait({running})
        if not running.cancelled():
            running.exception()  # marks it as seen: no caller is left
        raise


async def in_daemon_thread(work: Callable[[], T], *, name: str) -> T:
    """The result of blocking work in a daemon thread, which never delays the exit.

    A caller that is cancelled does not wait; the work goes on and its result is dropped. It is done
    in the caller's context, as by `asyncio.to_thread`.
    """
    outcome: Future[T] = Future()
    outcome.set_running_or_notify_cancel()  # from here on, nobody can cancel the thread's side

    def run() -> None:
        try:
            outcome.set_result(work())
        except StopIteration as error:  # a future refuses it, and its caller would wait for ever
            outcome.set_exception(RuntimeError(f"StopIteration: {error}"))
        except BaseException as error:  # noqa: BLE001 - the awaiting side decides
            outcome.set_exception(error)

    context = contextvars.copy_context()
    threading.Thread(target=context.run, args=(run,), name=name, daemon=True).start()
    return await asyncio.wrap_future(outcome)

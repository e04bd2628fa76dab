"""The event loop that the server runs on, and threads for blocking work off it."""

import asyncio
import contextvars
import socket
import sys
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor, Future
from functools import partial
from typing import Any, TypeVar

from typing_extensions import override

T = TypeVar("T")

MANY_MESSAGES = 10_000
"""With more messages than this, a step of work blocks others for some hundredths of a second."""


async def run_uncancelled(work: Callable[[], T], threads: Executor | None = None) -> T:
    """The result of blocking work done in a worker thread.

    It is done in the caller's context. A caller that is cancelled still waits for the end: a thread
    can't be stopped, and a lock held around the work must not be released while it writes.

    Args:
        threads: The threads that do it; by default those that all share.
    """
    in_context = contextvars.copy_context().run
    running = asyncio.get_running_loop().run_in_executor(threads, in_context, work)
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        await asyncio.wait({running})
        if not running.cancelled():
            running.exception()  # marks it as seen: no caller is left
        raise


async def give_way() -> None:
    """Let other requests run between two steps of work in the event loop.

    With a hundred thousand messages each step takes some hundredths of a second.
    """
    await asyncio.sleep(0)


async def beside(work: Callable[[], T], *, is_long: bool) -> T:
    """The result of work; long work is done in a worker thread, so that others go on."""
    return await run_uncancelled(work) if is_long else work()


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


R = TypeVar("R")

if sys.platform == "win32":
    _SystemsLoop = asyncio.ProactorEventLoop
else:
    _SystemsLoop = asyncio.SelectorEventLoop


class EventLoop(_SystemsLoop):
    """The system's event loop, with name look-ups in threads of their own.

    A name server that does not answer blocks for ten seconds or more. In asyncio's few threads,
    look-ups would delay writing files and the end of the program.
    """

    @override
    async def getaddrinfo(
        self,
        host: bytes | str | None,
        port: bytes | str | int | None,
        *,
        family: int = 0,
        type: int = 0,
        proto: int = 0,
        flags: int = 0,
    ) -> list[Any]:
        """`socket.getaddrinfo` in a thread of its own."""
        look_up = partial(socket.getaddrinfo, host, port, family, type, proto, flags)
        return await in_daemon_thread(look_up, name="names")


def run(main: Coroutine[Any, Any, R]) -> R:
    """`asyncio.run` on this loop."""
    with asyncio.Runner(loop_factory=EventLoop) as runner:
        return runner.run(main)

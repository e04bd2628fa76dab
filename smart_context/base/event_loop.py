"""The event loop that the server runs on."""

import asyncio
import socket
import sys
from collections.abc import Coroutine
from functools import partial
from typing import Any, TypeVar

from typing_extensions import override

from smart_context.base.threads import in_daemon_thread

T = TypeVar("T")

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


def run(main: Coroutine[Any, Any, T]) -> T:
    """`asyncio.run` on this loop."""
    with asyncio.Runner(loop_factory=EventLoop) as runner:
        return runner.run(main)

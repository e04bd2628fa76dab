"""A listening socket that asyncio serves, also when the system has no room for more.

asyncio logs a traceback for each connection that it can't take, by the thousand, and then takes
none for a second. Here it is told instead that nobody is waiting, once there is room again.
"""

import contextlib
import errno
import logging
import os
import socket
from collections.abc import Callable
from typing import Any

from typing_extensions import override

from smart_context.web.seldom import Seldom

_log = logging.getLogger(__name__)
_NO_ROOM = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
_QUEUE = 2048


class Listener(socket.socket):
    """Listens; its connections are taken by asyncio, which calls `accept`."""

    def __init__(self, family: int, kind: int, protocol: int) -> None:
        super().__init__(family, kind, protocol)
        self._make_room: Callable[[], bool] = lambda: False
        self._trouble = Seldom()
        self._spare: int | None = os.open(os.devnull, os.O_RDONLY)

    def relieve_by(self, make_room: Callable[[], bool]) -> None:
        """Call this when there is no room for a connection; it says whether it closed one."""
        self._make_room = make_room

    @override
    def listen(self, backlog: int = _QUEUE, /) -> None:
        """As asyncio asks for, too; what it names is how many it takes in a row."""
        super().listen(_QUEUE)

    @override
    def accept(self) -> tuple[socket.socket, Any]:
        try:
            return super().accept()
        except OSError as error:
            if error.errno not in _NO_ROOM:
                raise
            if count := self._trouble.count():
                _log.warning("No room for another connection (%s); tries: %d", error, count)
            if not self._make_room():
                self._turn_away()
            raise BlockingIOError from error

    @override
    def close(self) -> None:
        super().close()
        self._let_go()

    def _turn_away(self) -> None:
        """Close the connection that waits; else it would be offered again without end."""
        self._let_go()
        with contextlib.suppress(OSError):
            super().accept()[0].close()
        with contextlib.suppress(OSError):
            self._spare = os.open(os.devnull, os.O_RDONLY)

    def _let_go(self) -> None:
        if self._spare is not None:
            os.close(self._spare)
            self._spare = None

"""A listening socket that copes with a system out of descriptors, and the limit of these.

asyncio logs a traceback for each connection that it can't accept, thousands of them, and then
accepts none for a second. This socket reports instead that nobody is waiting.
"""

import contextlib
import errno
import logging
import os
import socket
import sys
from collections.abc import Callable
from typing import Any

from typing_extensions import override

from smart_context.web.limits import WANTED_DESCRIPTORS
from smart_context.web.log_throttle import LogThrottle

_log = logging.getLogger(__name__)
_NO_ROOM = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
_QUEUE = 2048


class ListeningSocket(socket.socket):
    """A listening socket; asyncio calls `accept`."""

    def __init__(self, family: int, kind: int, protocol: int) -> None:
        super().__init__(family, kind, protocol)
        self._make_room: Callable[[], bool] = lambda: False
        self._trouble = LogThrottle()
        self._spare: int | None = os.open(os.devnull, os.O_RDONLY)

    def relieve_by(self, make_room: Callable[[], bool]) -> None:
        """Set what makes room for a connection; it returns True if it closed one."""
        self._make_room = make_room

    @override
    def listen(self, backlog: int = _QUEUE, /) -> None:
        """Listen; asyncio calls this too, with the number of connections it accepts in a row."""
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
        """Close the waiting connection, which would be offered again endlessly otherwise."""
        self._let_go()
        with contextlib.suppress(OSError):
            super().accept()[0].close()
        with contextlib.suppress(OSError):
            self._spare = os.open(os.devnull, os.O_RDONLY)

    def _let_go(self) -> None:
        if self._spare is not None:
            os.close(self._spare)
            self._spare = None


if sys.platform == "win32":

    def raised_limit(wanted: int = WANTED_DESCRIPTORS) -> int:
        """The wanted number; this system sets no limit."""
        return wanted

else:
    import resource

    def raised_limit(wanted: int = WANTED_DESCRIPTORS) -> int:
        """Raise the limit towards the wanted one; returns the limit in force."""
        limit, ceiling = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = wanted if ceiling == resource.RLIM_INFINITY else min(wanted, ceiling)
        if limit == resource.RLIM_INFINITY or limit >= wanted:
            return wanted
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, ceiling))
        except (OSError, ValueError):
            return limit
        return wanted

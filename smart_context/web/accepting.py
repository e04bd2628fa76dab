"""Takes connections from a listening socket, also when the system has no room for more.

asyncio's own server logs a traceback for each connection that it can't take, and then takes
nothing for a second.
"""

import asyncio
import errno
import logging
import socket
from collections.abc import Callable

from smart_context.web.seldom import Seldom

_log = logging.getLogger(__name__)
_NO_ROOM = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
_FIRST_PAUSE_S = 0.02
_LONGEST_PAUSE_S = 1.0


async def accept_all(
    listener: socket.socket,
    new_protocol: Callable[[], asyncio.Protocol],
    make_room: Callable[[], None],
) -> None:
    """Serve each connection with a protocol of its own until cancelled.

    Args:
        listener: Listens already, and doesn't block.
        new_protocol: Makes the protocol of one connection.
        make_room: Called when the system has no room for another connection.
    """
    loop = asyncio.get_running_loop()
    trouble = Seldom()
    pause_s = _FIRST_PAUSE_S
    while True:
        try:
            connection, _ = await loop.sock_accept(listener)
        except OSError as error:
            if listener.fileno() < 0:
                return
            if error.errno in _NO_ROOM:
                make_room()
                if count := trouble.count():
                    _log.warning("No room for %d connections: %s", count, error.strerror)
                await asyncio.sleep(pause_s)
                pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
            continue
        pause_s = _FIRST_PAUSE_S
        try:
            await loop.connect_accepted_socket(new_protocol, connection)
        except OSError:
            connection.close()  # it was gone before it could be served

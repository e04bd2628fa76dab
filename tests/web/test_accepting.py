import asyncio
import errno
import socket

import pytest

from smart_context.web.accepting import accept_all
from tests.patience import PATIENCE_S


class Listener(socket.socket):
    """A listening socket whose first connections meet these errors."""

    def __init__(self, *errors):
        super().__init__()
        self.errors = list(errors)
        self.bind(("127.0.0.1", 0))
        self.listen()
        self.setblocking(False)

    def accept(self):
        if self.errors:
            raise OSError(self.errors.pop(0), "made up")
        return super().accept()


class Greeter(asyncio.Protocol):
    def connection_made(self, transport):
        transport.write(b"hello")
        transport.close()


async def greeted(listener, make_room=lambda: None):
    """What a client reads from the first connection that is taken."""
    accepting = asyncio.create_task(accept_all(listener, Greeter, make_room))
    try:
        async with asyncio.timeout(PATIENCE_S):
            reader, writer = await asyncio.open_connection(*listener.getsockname())
            text = await reader.read()
            writer.close()
            await writer.wait_closed()
    finally:
        accepting.cancel()
        await asyncio.gather(accepting, return_exceptions=True)
        listener.close()
    return text


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM])
def test_without_room_somebody_is_closed_and_it_is_tried_again(number, caplog):
    made = []
    listener = Listener(number, number)
    assert asyncio.run(greeted(listener, lambda: made.append(1))) == b"hello"
    assert made == [1, 1]
    assert [record.exc_info for record in caplog.records] == [None]


def test_a_client_that_went_away_in_the_queue_is_passed_over(caplog):
    assert asyncio.run(greeted(Listener(errno.ECONNABORTED))) == b"hello"
    assert not caplog.records


def test_a_socket_that_was_closed_ends_it():
    async def scenario():
        listener = Listener()
        accepting = asyncio.create_task(accept_all(listener, Greeter, lambda: None))
        await asyncio.sleep(0)
        asyncio.get_running_loop().remove_reader(listener.fileno())
        accepting.cancel()
        listener.close()
        await asyncio.gather(accepting, return_exceptions=True)
        await asyncio.wait_for(accept_all(listener, Greeter, lambda: None), PATIENCE_S)

    asyncio.run(scenario())

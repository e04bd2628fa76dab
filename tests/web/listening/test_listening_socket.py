import errno
import socket
from pathlib import Path

import pytest

from smart_context.web.listening import ListeningSocket
from tests.patience import PATIENCE_S

NO_ROOM = [errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM]


@pytest.fixture
def listener():
    with ListeningSocket(socket.AF_INET, socket.SOCK_STREAM, 0) as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        listener.setblocking(False)
        yield listener


@pytest.fixture
def failing(monkeypatch):
    """Makes the system refuse connections with these errors, one after another."""

    def fail(*numbers):
        pending, accept = list(numbers), socket.socket.accept

        def refuse_or_accept(self):
            if pending:
                raise OSError(pending.pop(0), "made up")
            return accept(self)

        monkeypatch.setattr(socket.socket, "accept", refuse_or_accept)

    return fail


def descriptors():
    """How many this process has, where the system tells."""
    listed = Path("/proc/self/fd")
    return len(list(listed.iterdir())) if listed.is_dir() else None


def dial(listener):
    return socket.create_connection(listener.getsockname(), PATIENCE_S)


@pytest.mark.parametrize("number", NO_ROOM)
def test_a_connection_without_room_waits_until_another_is_closed(listener, failing, number, caplog):
    made = []
    listener.relieve_by(lambda: made.append(1) or True)
    failing(number, number)
    with dial(listener) as client:
        for _ in range(2):
            with pytest.raises(BlockingIOError):
                listener.accept()
        taken, _ = listener.accept()
        with taken:
            taken.sendall(b"hello")
            assert client.recv(5) == b"hello"
    assert made == [1, 1]
    assert len(caplog.records) == 1
    assert caplog.records[0].exc_info is None


def test_where_nothing_can_be_closed_the_connection_is_turned_away(listener, failing):
    before = descriptors()
    for _ in range(3):
        failing(errno.EMFILE)
        with dial(listener) as client:
            with pytest.raises(BlockingIOError):
                listener.accept()
            assert client.recv(1) == b""
    assert descriptors() == before


def test_another_error_is_as_ever(listener, failing):
    failing(errno.ECONNABORTED)
    with pytest.raises(ConnectionAbortedError):
        listener.accept()


def test_nobody_waiting_is_no_error_of_ours(listener, caplog):
    with pytest.raises(BlockingIOError):
        listener.accept()
    assert not caplog.records

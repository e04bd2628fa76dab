import stat
import sys
import threading
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smart_context.base.errors import StoreFailed
from smart_context.web.gate.session_record import (
    BrowserSession,
    RunningServer,
    SessionRecord,
    StartLink,
    session_file,
)

SESSION = BrowserSession(
    vault="/v", browser="Firefox", cookie="c", key="k", created_at=0, seen_at=1, server="s"
)
RECORD = SessionRecord(
    sessions={"a": SESSION},
    servers={"s": RunningServer(vault="/v", address="http://127.0.0.1:1")},
    links={"d": StartLink(server="s", expires_at=1)},
)


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    return session_file(tmp_path_factory.mktemp("kept"))


def with_server(name):
    server = RunningServer(vault="/v", address=name)
    return lambda record: replace(record, servers={**record.servers, name: server})


def test_what_is_written_is_read_by_others(tmp_path):
    assert session_file(tmp_path / "new").read() == (None, SessionRecord())
    written = session_file(tmp_path / "new").update(with_server("a"))
    assert session_file(tmp_path / "new").read() == written
    assert set(written[1].servers) == {"a"}


@pytest.mark.skipif(sys.platform == "win32", reason="it has no such rights")
def test_it_is_for_its_owner_only(tmp_path):
    session_file(tmp_path).update(with_server("a"))
    assert stat.S_IMODE((tmp_path / "sessions.json").stat().st_mode) == 0o600


def test_a_record_is_read_as_it_was_written(tmp_path):
    session_file(tmp_path).update(lambda _: RECORD)
    assert session_file(tmp_path).read()[1] == RECORD


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b'{"sessions": {"a": {}}}', b"[" * 100_000, b"\xff"]
)
def test_a_damaged_record_lets_nobody_in(tmp_path, content):
    (tmp_path / "sessions.json").write_bytes(content)
    assert session_file(tmp_path).read()[1] == SessionRecord()


@given(content=st.binary())
def test_any_bytes_are_a_record_or_none(kept, content):
    kept.place.path.write_bytes(content)
    assert isinstance(kept.read()[1], SessionRecord)


def test_nothing_is_written_where_nothing_changes(tmp_path):
    session_file(tmp_path).update(lambda record: record)
    assert not list(tmp_path.iterdir())


def test_no_change_is_lost_when_several_write_at_once(tmp_path):
    names = [str(number) for number in range(12)]
    threads = [
        threading.Thread(target=session_file(tmp_path).update, args=[with_server(name)])
        for name in names
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(session_file(tmp_path).read()[1].servers) == set(names)


def test_a_file_that_is_a_link_is_not_followed(tmp_path):
    (tmp_path / "sessions.json").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StoreFailed):
        session_file(tmp_path).update(with_server("a"))
    assert not (tmp_path / "elsewhere").exists()

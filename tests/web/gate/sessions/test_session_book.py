import asyncio
from dataclasses import replace

import pytest

from smart_context.base.errors import StoreFailed
from smart_context.web.gate.session_record import (
    IDLE_DAYS,
    LINK_S,
    SessionRecord,
    StartLink,
    session_file,
)
from smart_context.web.gate.sessions import SEEN_STEP_S, SessionBook

NOW = 1_800_000_000


class Clock:
    now = NOW

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def book_of(tmp_path, clock):
    """Makes the book of a server that keeps its record in the folder of this test."""

    def make(vault="/v", *, outlives_server=True):
        file = session_file(tmp_path)
        return SessionBook(vault, file, outlives_server=outlives_server, clock=clock)

    return make


def record(tmp_path):
    return session_file(tmp_path).read()[1]


def run(scenario):
    return asyncio.run(scenario())


def test_a_session_goes_on_after_a_restart(book_of):
    async def scenario():
        before = book_of()
        await before.open("http://127.0.0.1:1")
        session_id = await before.add(cookie="c", key="k", browser="Firefox")
        await before.close()
        after = book_of()
        assert after.get(session_id) is None
        await after.open("http://127.0.0.1:1")
        assert after.get(session_id).cookie == "c"
        assert after.get("another") is None

    run(scenario)


def test_a_session_that_ends_with_its_server_does(book_of, tmp_path):
    async def scenario():
        book = book_of(outlives_server=False)
        await book.open("http://127.0.0.1:1")
        await book.add(cookie="c", key="k", browser="Firefox")
        assert record(tmp_path).sessions
        await book.close()

    run(scenario)
    assert record(tmp_path) == SessionRecord()


def test_what_a_killed_server_left_behind_goes_when_its_address_is_used_again(book_of, tmp_path):
    async def scenario():
        killed = book_of(outlives_server=False)
        await killed.open("http://127.0.0.1:1")
        await killed.add(cookie="c", key="k", browser="Firefox")
        await book_of().open("http://127.0.0.1:2")
        assert record(tmp_path).sessions
        await book_of().open("http://127.0.0.1:1")

    run(scenario)
    assert not record(tmp_path).sessions
    assert len(record(tmp_path).servers) == 2


def test_a_session_is_of_one_vault(book_of):
    async def scenario():
        one, other = book_of("/one"), book_of("/other")
        session_id = await one.add(cookie="c", key="k", browser="Firefox")
        await other.open("http://127.0.0.1:2")
        assert one.get(session_id)
        assert other.get(session_id) is None

    run(scenario)


def test_a_session_that_somebody_ends_is_over(book_of, tmp_path):
    async def scenario():
        book = book_of()
        kept = await book.add(cookie="c", key="k", browser="Firefox")
        ended = await book.add(cookie="c", key="k", browser="Firefox")
        assert await book.refresh() == frozenset()
        session_file(tmp_path).update(lambda now: now.without_sessions(frozenset({ended})))
        assert await book.refresh() == {ended}
        assert book.get(ended) is None
        assert book.get(kept)
        (tmp_path / "sessions.json").unlink()
        assert await book.refresh() == {kept}

    run(scenario)


def test_a_session_that_was_ended_is_not_written_back(book_of, tmp_path, clock):
    async def scenario():
        book = book_of()
        ended = await book.add(cookie="c", key="k", browser="Firefox")
        session_file(tmp_path).update(lambda now: now.without_sessions(frozenset({ended})))
        clock.now += SEEN_STEP_S
        book.mark_seen([ended])
        assert await book.refresh() == {ended}
        await book.close()

    run(scenario)
    assert not record(tmp_path).sessions


def test_use_keeps_a_session_from_ending(book_of, tmp_path, clock):
    async def scenario():
        book = book_of()
        used = await book.add(cookie="c", key="k", browser="Firefox")
        idle = await book.add(cookie="c", key="k", browser="Firefox")
        clock.now += IDLE_DAYS * 86_400
        book.mark_seen([used])
        await book.refresh()
        clock.now += 1
        assert book.get(used)
        assert book.get(idle) is None

    run(scenario)
    seen = [session.seen_at for session in record(tmp_path).sessions.values()]
    assert max(seen) == NOW + IDLE_DAYS * 86_400


def test_use_is_written_down_once_in_a_while(book_of, tmp_path, clock):
    async def scenario():
        book = book_of()
        session_id = await book.add(cookie="c", key="k", browser="Firefox")
        clock.now += SEEN_STEP_S - 1
        book.mark_seen([session_id])
        await book.refresh()

    run(scenario)
    assert [s.seen_at for s in record(tmp_path).sessions.values()] == [NOW]


def linked(tmp_path, digest, *, server, expires_at):
    link = StartLink(server=server, expires_at=expires_at)
    session_file(tmp_path).update(lambda now: replace(now, links={**now.links, digest: link}))


def test_a_link_that_a_command_made_is_taken_once_and_by_its_server_only(book_of, tmp_path, clock):
    async def scenario():
        book, other = book_of(), book_of()
        await book.open("http://127.0.0.1:1")
        (server,) = record(tmp_path).servers
        await other.open("http://127.0.0.1:2")
        linked(tmp_path, "d", server=server, expires_at=NOW + LINK_S)
        assert not await other.take_link("d")
        assert not await book.take_link("unknown")
        assert await book.take_link("d")
        assert not await book.take_link("d")
        linked(tmp_path, "late", server=server, expires_at=NOW)
        clock.now += 1
        assert not await book.take_link("late")

    run(scenario)


def test_where_nothing_can_be_written_sessions_last_as_long_as_the_server(tmp_path, clock, caplog):
    (tmp_path / "file").write_text("")
    book = SessionBook("/v", session_file(tmp_path / "file"), outlives_server=True, clock=clock)

    async def scenario():
        await book.open("http://127.0.0.1:1")
        session_id = await book.add(cookie="c", key="k", browser="Firefox")
        assert book.get(session_id)
        assert await book.refresh() == frozenset()
        await book.close()

    run(scenario)
    assert len(caplog.records) == 1
    assert "after a restart" in caplog.text


class Failing:
    """A record that can't be used for a while."""

    def __init__(self, inner):
        self.inner = inner
        self.fails = set()

    def read(self):
        if "read" in self.fails:
            raise StoreFailed("no permission")
        return self.inner.read()

    def update(self, change):
        if "write" in self.fails:
            change(self.inner.read()[1])
            raise StoreFailed("the disk is full")
        return self.inner.update(change)


def test_a_session_that_is_ended_is_over_though_the_record_failed_before(tmp_path, clock):
    file = Failing(session_file(tmp_path))
    book = SessionBook("/v", file, outlives_server=True, clock=clock)

    async def scenario():
        await book.open("http://127.0.0.1:1")
        ended = await book.add(cookie="c", key="k", browser="Firefox")
        file.fails = {"read", "write"}
        assert await book.refresh() == frozenset()
        made = await book.add(cookie="d", key="l", browser="Safari")
        file.fails = set()
        session_file(tmp_path).update(lambda now: now.without_sessions(frozenset({ended})))
        await book.refresh()
        assert book.get(ended) is None
        assert book.get(made)
        await book.add(cookie="e", key="m", browser="Edge")
        assert made in record(tmp_path).sessions  # written as soon as it can be
        session_file(tmp_path).update(lambda now: now.without_sessions(frozenset({made})))
        await book.refresh()
        assert book.get(made) is None

    run(scenario)


@pytest.mark.parametrize("is_team", [False, True])
def test_a_link_that_can_not_be_crossed_out_opens_nothing(tmp_path, clock, is_team):
    file = Failing(session_file(tmp_path))
    team = session_file(tmp_path / "team") if is_team else None
    book = SessionBook("/v", file, shared=team, clock=clock)

    async def scenario():
        await book.open("http://127.0.0.1:1")
        (server,) = record(tmp_path).servers
        linked(tmp_path, "d", server=server, expires_at=NOW + LINK_S)
        file.fails = {"write"}
        assert not await book.take_link("d")
        file.fails = set()
        assert await book.take_link("d")

    run(scenario)


def test_a_claim_that_can_not_be_recorded_gives_no_key(tmp_path, clock):
    file = Failing(session_file(tmp_path))
    book = SessionBook("/v", file, outlives_server=True, clock=clock)

    async def scenario():
        await book.open("http://127.0.0.1:1")
        session_id = await book.add(cookie="c", key="k", browser="Firefox", claim="x")
        file.fails = {"write"}
        assert not await book.claim(session_id)
        only_here = await book.add(cookie="d", key="l", browser="Safari", claim="y")
        assert await book.claim(only_here)
        assert not await book.claim(only_here)

    run(scenario)

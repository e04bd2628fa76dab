import asyncio

import pytest

from smart_context.web.connections import ConnectionLimits, Connections
from tests.patience import PATIENCE_S


class Closed(list):
    """The names of connections in the order in which they were closed."""

    def door(self, name):
        return lambda: self.append(name)


@pytest.fixture
def closed():
    return Closed()


def connections(**limits):
    usual = {"total": 100, "strangers": 50, "strangers_of_peer": 50}
    return Connections(ConnectionLimits(**usual | limits))


def enter(known, closed, names, peer="10.0.0.1"):
    return [known.enter(peer, closed.door(name)) for name in names]


def run(scenario):
    asyncio.run(scenario())


def test_the_oldest_stranger_makes_room_for_the_next(closed):
    async def scenario():
        known = connections(strangers=2)
        enter(known, closed, "abcd")
        assert closed == ["a", "b"]
        assert len(known) == 2

    run(scenario)


def test_strangers_never_crowd_out_who_was_let_in(closed):
    async def scenario():
        known = connections(strangers=2)
        enter(known, closed, "a")[0].let_in()
        enter(known, closed, "bcde")
        assert closed == ["b", "c"]
        assert len(known) == 3

    run(scenario)


def test_one_address_crowds_out_only_itself(closed):
    async def scenario():
        known = connections(strangers_of_peer=2)
        enter(known, closed, ["other"], peer="10.0.0.2")
        enter(known, closed, "abc")
        assert closed == ["a"]

    run(scenario)


def test_when_all_are_let_in_the_newcomer_is_closed(closed):
    async def scenario():
        known = connections(total=2)
        for connection in enter(known, closed, "ab"):
            connection.let_in()
        enter(known, closed, "c")
        assert closed == ["c"]

    run(scenario)


def test_a_stranger_is_closed_at_its_deadline_and_a_guest_is_not(closed):
    async def scenario():
        known = connections(head_s=0.01)
        gone = asyncio.Event()
        guest, _ = enter(known, closed, "ab")
        guest.let_in()
        known.enter("10.0.0.1", gone.set)
        await asyncio.wait_for(gone.wait(), PATIENCE_S)
        assert closed == ["b"]
        assert len(known) == 1

    run(scenario)


def test_who_has_left_is_not_counted_nor_closed_nor_let_in(closed):
    async def scenario():
        known = connections(strangers=1)
        (guest,) = enter(known, closed, "a")
        guest.let_in()
        guest.leave()
        (stranger,) = enter(known, closed, "b")
        stranger.leave()
        stranger.let_in()
        stranger.leave()
        enter(known, closed, "c")
        assert closed == []
        assert len(known) == 1

    run(scenario)


@pytest.mark.parametrize("descriptors", [16, 64, 256, 1024, 8192, 1_000_000])
def test_limits_leave_descriptors_for_the_rest(descriptors):
    limits = ConnectionLimits.within(descriptors)
    assert 0 < limits.strangers_of_peer <= limits.strangers < limits.total
    assert limits.total <= max(8, descriptors - 64)


def test_the_log_tells_of_a_crowd_once(closed, caplog):
    async def scenario():
        enter(connections(strangers=1), closed, range(1000))

    run(scenario)
    assert len(closed) == 999
    assert len(caplog.records) == 1

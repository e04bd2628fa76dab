"""The account of an atlas: the days of whoever reads it."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smart_context.topics.atlas.account import TimeSpan, account
from smart_context.topics.atlas.merging import merged
from smart_context.topics.atlas.values import NO_TIME, Atlas, ChatEntry, ChatTopic, StoredAtlas

BERLIN = ZoneInfo("Europe/Berlin")
FIRST = datetime(1970, 1, 1, tzinfo=UTC)
EARLIEST = datetime(1, 1, 1, tzinfo=UTC)
LATEST = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)


def days_of(times, zone):
    """The days on which messages were written at these times, and how many on each."""
    topic = ChatTopic(
        key=("c", "t"),
        label="Bread",
        vector=np.full(4, 0.5, dtype=np.float32),
        words=np.zeros(0, dtype=np.uint32),
        counts=np.zeros(0, dtype=np.uint8),
        places=np.arange(len(times), dtype=np.int32),
    )
    entry = ChatEntry(
        revision="1", is_known=True, times=np.array(times, dtype=np.int64), topics=(topic,)
    )
    archive = StoredAtlas(chats={"c": entry}, atlas=merged([topic], Atlas(), reads_all=True))
    found = account(archive, {"c": "Bread"}, span=TimeSpan(), zone=zone)
    return dict(found["topics"][0]["chats"][0]["days"])


def day(year, month, day_of_month):
    return (datetime(year, month, day_of_month, tzinfo=UTC) - FIRST).days


@pytest.mark.parametrize(("month", "changed"), [(3, 29), (10, 25)])
def test_the_days_around_a_change_of_the_clocks_begin_and_end_at_the_readers_midnight(
    month, changed
):
    edges = [datetime(2026, month, changed + more, tzinfo=BERLIN) for more in (0, 1)]
    seconds = [int(edge.timestamp()) for edge in edges]
    around = [at for edge in seconds for at in (edge - 1, edge)]
    assert seconds[1] - seconds[0] != 86_400, "the clocks are changed on this day"
    today = day(2026, month, changed)
    assert days_of(around, BERLIN) == {today - 1: 1, today: 2, today + 1: 1}


@given(
    st.lists(st.integers(320_000_000, 4_000_000_000), min_size=1),
    st.sampled_from(["Asia/Kathmandu", "Australia/Lord_Howe", "America/St_Johns", "Etc/GMT+12"]),
)
def test_each_message_counts_on_the_day_of_the_readers_calendar(times, name):
    zone = ZoneInfo(name)
    expected = {}
    for at in times:
        local = datetime.fromtimestamp(at, zone)
        number = day(local.year, local.month, local.day)
        expected[number] = expected.get(number, 0) + 1
    assert days_of(times, zone) == expected


def test_times_of_wrong_clocks_have_days_too_and_those_without_a_time_have_none():
    times = [int((at - FIRST).total_seconds()) for at in (EARLIEST, LATEST)]
    assert sum(days_of([*times, NO_TIME], BERLIN).values()) == 2

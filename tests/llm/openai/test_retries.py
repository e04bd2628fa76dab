"""When and how late a failed request is made again."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smart_context.llm.failures import EndpointFailure
from smart_context.llm.openai.retries import LONGEST_WAIT_S, retry_after_s, retry_wait_s

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def waits(failure, *, retries=0, max_retries=9, jitter=0.0):
    return retry_wait_s(failure, retries=retries, max_retries=max_retries, jitter=jitter)


@pytest.mark.parametrize(
    ("failure", "again"),
    [
        pytest.param(EndpointFailure(trouble="refused", status=429), True, id="429"),
        pytest.param(EndpointFailure(trouble="refused", status=500), True, id="500"),
        pytest.param(EndpointFailure(trouble="refused", status=408), True, id="408"),
        pytest.param(EndpointFailure(trouble="refused", status=404), False, id="404"),
        pytest.param(
            EndpointFailure(trouble="refused", status=200), False, id="an error with status 200"
        ),
        pytest.param(EndpointFailure(trouble="unreachable"), True, id="no connection"),
        pytest.param(EndpointFailure(trouble="broken"), True, id="a connection that broke"),
        pytest.param(EndpointFailure(trouble="silent"), True, id="a connection that was closed"),
        pytest.param(EndpointFailure(trouble="slow"), False, id="a timeout"),
        pytest.param(EndpointFailure(trouble="nonsense"), False, id="nonsense"),
        pytest.param(EndpointFailure(trouble="unusable key"), False, id="a key that can't be sent"),
        pytest.param(EndpointFailure(trouble="withheld"), False, id="trust that was taken back"),
    ],
)
def test_what_may_pass_is_asked_again(failure, again):
    assert (waits(failure) is not None) == again


def test_waits_double_up_to_eight_seconds():
    found = [waits(EndpointFailure(trouble="broken"), retries=retries) for retries in range(7)]
    assert found == [0.5, 1, 2, 4, 8, 8, 8]


@given(st.floats(0, 1, exclude_max=True), st.integers(0, 20))
def test_jitter_takes_at_most_a_quarter(jitter, retries):
    full = waits(EndpointFailure(trouble="broken"), retries=retries, max_retries=99)
    assert (
        0.75 * full
        <= waits(EndpointFailure(trouble="broken"), retries=retries, max_retries=99, jitter=jitter)
        <= full
    )


def test_when_the_retries_are_used_up_there_is_no_other():
    assert waits(EndpointFailure(trouble="broken"), retries=2, max_retries=2) is None


@pytest.mark.parametrize(
    ("asked", "wait"),
    [
        pytest.param(0.0, 0.0, id="at once"),
        pytest.param(3.0, 3.0, id="three seconds, whatever the jitter"),
        pytest.param(LONGEST_WAIT_S, LONGEST_WAIT_S, id="the longest"),
        pytest.param(LONGEST_WAIT_S + 1, None, id="too long"),
    ],
)
def test_a_wait_that_the_endpoint_asks_for_is_kept(asked, wait):
    failure = EndpointFailure(trouble="refused", status=429, retry_after_s=asked)
    assert waits(failure, jitter=0.9) == wait


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        pytest.param("7", 7.0, id="seconds"),
        pytest.param(" 1.5 ", 1.5, id="parts of seconds"),
        pytest.param("-3", 0.0, id="less than nothing"),
        pytest.param("Sun, 01 Mar 2026 12:00:30 GMT", 30.0, id="a date"),
        pytest.param("Sun, 01 Mar 2026 12:00:30 -0000", 30.0, id="a date without a zone"),
        pytest.param("Sun, 01 Mar 2026 11:00:00 GMT", 0.0, id="a date that has passed"),
        pytest.param("Sun, 01 Mar 99999999999 12:00:00 GMT", None, id="a year beyond all"),
        pytest.param("Sun, 01 Mar 2026 12:00:00 +99999999999999", None, id="a zone beyond all"),
        pytest.param("soon", None, id="neither"),
        pytest.param("nan", None, id="not a number"),
        pytest.param("", None, id="empty"),
    ],
)
def test_retry_after_is_read_as_seconds_or_a_date(value, seconds):
    assert retry_after_s({"retry-after": value}, NOON) == seconds


def test_no_header_asks_for_nothing():
    assert retry_after_s({}, NOON) is None

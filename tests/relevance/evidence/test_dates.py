import numpy as np
import pytest

from smart_context.relevance.evidence.dates import Period, dated, days_of, periods_of


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("What did Ann do in August 2023?", [Period(year=2023, month=8)]),
        ("the meeting on 7 May 2023", [Period(year=2023, month=5, day=7)]),
        ("the meeting on May 7th, 2023", [Period(year=2023, month=5, day=7)]),
        ("am 7. Mai", [Period(month=5, day=7)]),
        ("le 14 juillet 2022", [Period(year=2022, month=7, day=14)]),
        ("en agosto de 2023", [Period(year=2023, month=8)]),
        (
            "2023-08-14 and 2022-01",
            [Period(year=2023, month=8, day=14), Period(year=2022, month=1)],
        ),
        ("2023年8月14日", [Period(year=2023, month=8, day=14)]),
        ("8月", [Period(month=8)]),
        ("What happened in 2021?", [Period(year=2021)]),
        ("in May", [Period(month=5)]),
        ("en mars", [Period(month=3)]),
        ("last May", [Period(month=5)]),
        ("since March", [Period(month=3)]),
        ("during March", [Period(month=3)]),
        ("March 2023", [Period(year=2023, month=3)]),
        ("3 March", [Period(month=3, day=3)]),
        ("March 3rd", [Period(month=3, day=3)]),
        ("May I march to the shop?", []),
        ("30 February 2023", []),
        ("1080p at 2023 pixels", []),
        ("", []),
    ],
)
def test_days_months_and_years_are_found_in_five_languages(text, expected):
    assert periods_of(text) == expected


def stamps(*days):
    return days_of([f"{day}T12:00:00+00:00" if day else "" for day in days])


def test_messages_of_the_named_days_count_and_those_of_the_two_weeks_after_less():
    days = stamps("2023-07-31", "2023-08-01", "2023-08-31", "2023-09-05", "2023-09-20", "")
    before, first, last, soon, late, unknown = dated("in August 2023", days).tolist()
    assert (before, late, unknown) == (0, 0, 0)
    assert (first, last) == (1, 1)
    assert 0 < soon < 1


def test_a_month_without_a_year_is_that_month_of_each_year_of_the_chat():
    days = stamps("2021-05-02", "2022-05-30", "2022-08-01")
    assert dated("what happened in May?", days).tolist() == [1, 1, 0]


@pytest.mark.parametrize(
    ("text", "days"),
    [
        pytest.param("in August 2023", stamps("", ""), id="no message has a time"),
        pytest.param("in August 2023", days_of(["yesterday", "?"]), id="times that are none"),
        pytest.param("in August", days_of(["1970-01-01", "0001-01-01"]), id="times of nothing"),
        pytest.param("bicycles", stamps("2023-08-01"), id="no day is named"),
    ],
)
def test_without_days_nothing_is_told(text, days):
    assert dated(text, days) is None
    assert dated(text, None) is None


def test_29_february_is_passed_over_in_other_years():
    assert dated("on 29 February", stamps("2023-02-28", "2023-03-02")).tolist() == [0, 0]
    assert dated("on 29 February", stamps("2023-02-28", "2024-02-29")).tolist() == [0, 1]


def test_days_are_counted_from_1970_in_utc():
    days = days_of(["2023-08-01T12:00:00Z", "2023-08-01T12:00:00", "2023-08-01T01:00:00+13:00"])
    assert days.tolist() == [19570.5, 19570.5, 19569.5]
    assert days.dtype == dated("in August", days).dtype == np.float32


@pytest.mark.parametrize(
    ("text", "days", "expected"),
    [
        pytest.param(
            "on 31 August 2023",
            ("2023-08-30", "2023-08-31", "2023-09-01"),
            [0, 1, 1 - 0.5 / 14],
            id="a day",
        ),
        pytest.param(
            "in August 2020", ("2020-08-01", "2023-08-01"), [1, 0], id="a month of one year"
        ),
        pytest.param(
            "in August", ("2023-08-31", "2023-09-07"), [1, 1 - 6.5 / 14], id="a month and after it"
        ),
        pytest.param(
            "in 2021",
            ("2020-12-31", "2021-01-15", "2021-12-31", "2022-01-07", "2022-01-20"),
            [0, 1, 1, 1 - 6.5 / 14, 0],
            id="a year",
        ),
        pytest.param(
            "in December", ("2023-01-07", ""), [1 - 6.5 / 14, 0], id="the last month of the year"
        ),
        pytest.param(
            "in May and in July", ("2023-05-01", "2023-06-30", "2023-07-01"), [1, 0, 1], id="two"
        ),
    ],
)
def test_a_message_counts_less_from_day_to_day_after_what_is_named(text, days, expected):
    assert dated(text, stamps(*days)).tolist() == pytest.approx(expected, abs=1e-3)

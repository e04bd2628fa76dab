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
        pytest.param("bicycles", stamps("2023-08-01"), id="no day is named"),
    ],
)
def test_without_days_nothing_is_told(text, days):
    assert dated(text, None if np.isnan(days).all() else days) is None


def test_29_february_is_passed_over_in_other_years():
    assert dated("on 29 February", stamps("2023-02-28", "2023-03-02")).tolist() == [0, 0]

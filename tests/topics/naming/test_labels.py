import pytest
from hypothesis import given
from hypothesis import strategies as st

from smart_context.topics.naming.labels import LONGEST_LABEL, clean_label, label_key


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("LangGraph", "LangGraph", id="a good label stays"),
        pytest.param("Instructions & Preferences", "Instructions & Preferences", id="an ampersand"),
        pytest.param("python async", "Python Async", id="capitals are given"),
        pytest.param("iPhone repair", "iPhone Repair", id="capitals inside are kept"),
        pytest.param("trip to japan", "Trip to Japan", id="small words stay small"),
        pytest.param("the end", "The End", id="but not the first"),
        pytest.param('  "**Tax**\n return". ', "Tax Return", id="quotes, marks and line breaks"),
        pytest.param("Film 'Dune' (2021)", "Film 'Dune' (2021)", id="a bracket that closes"),
        pytest.param("Lee's 'Mockingbird'", "Lee's 'Mockingbird'", id="a quote that closes"),
        pytest.param("\"Dune\" and 'It'", "Dune and It", id="halves of two pairs"),
        pytest.param("“Dune” and “It”", "Dune and It", id="halves at both ends"),
        pytest.param("Rock 'n' Roll (Live) Hits", "Rock 'n' Roll (Live) Hits", id="whole pairs"),
        pytest.param("Film „Faust“ im Kino", "Film „Faust“ im Kino", id="German quotes"),
        pytest.param(
            "Film (2021, a sequel of the one from 1984)",
            "Film 2021, a Sequel of the One from",
            id="half a pair",
        ),
        pytest.param("Lee's 'Mockingbird", "Lee's Mockingbird", id="half a pair of quotes"),
        pytest.param("Music of the '90s", "Music of the '90s", id="a short year"),
        pytest.param("Students' Loans", "Students' Loans", id="an apostrophe"),
        pytest.param("Sour\u202edough\u200b\u0007", "Sourdough", id="invisible characters"),
        pytest.param("- Bike", "Bike", id="a list mark"),
        pytest.param("<b>Bike</b>", "<b>Bike</b>", id="markup is text like any other"),
        pytest.param("数据库迁移", "数据库迁移", id="Chinese"),
        pytest.param("école française", "École Française", id="accents"),
        pytest.param("\u202e\u200b", "", id="nothing visible"),
        pytest.param("word " * 30, "Word Word Word Word Word Word Word Word", id="too long"),
        pytest.param("x" * 99, "X" + "x" * 39, id="one word too long"),
    ],
)
def test_a_label_is_cleaned(text, expected):
    assert clean_label(text) == expected


@given(st.text(max_size=200))
def test_a_clean_label_is_short_visible_and_stays_as_it_is(text):
    label = clean_label(text)
    assert len(label) <= LONGEST_LABEL
    assert label.isprintable()
    assert label == label.strip()


def test_labels_that_differ_in_case_and_spaces_have_one_key():
    assert label_key("Tax  Return") == label_key(" tax return") == label_key("ＴＡＸ return")

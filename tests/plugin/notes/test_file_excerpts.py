"""Parts of a file that a model reads one after another."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smart_context.base.errors import CommandFailed
from smart_context.plugin.notes.file_excerpts import excerpt, matches


def read(text, from_line=1, from_character=1, *, most_lines=3, most_characters=10):
    return excerpt(
        text,
        from_line=from_line,
        from_character=from_character,
        most_lines=most_lines,
        most_characters=most_characters,
    )


@given(st.text("ab\n", max_size=200), st.integers(1, 4), st.integers(1, 12))
def test_a_model_that_does_as_it_is_told_reads_the_whole_file(text, most_lines, most_characters):
    parts, place = [], (1, 1)
    while place:
        part = read(text, *place, most_lines=most_lines, most_characters=most_characters)
        go_on = re.search(r"from_line=(\d+)(?: and from_character=(\d+))?", part.note)
        place = go_on and (int(go_on[1]), int(go_on[2] or 1))
        parts.append(part.text + ("\n" if go_on and not go_on[2] else ""))
        assert len(parts) <= len(text) + 2
    assert "".join(parts) == text


@pytest.mark.parametrize(
    ("text", "place", "shown", "note"),
    [
        pytest.param("a\nb", (1, 1), "a\nb", "", id="a whole file"),
        pytest.param("", (1, 1), "", "", id="an empty file"),
        pytest.param("a\nb", (2, 1), "b", "Lines 2 to 2 of 2.", id="the end"),
        pytest.param(
            *("1\n2\n3\n4", (1, 1), "1\n2\n3", "Lines 1 to 3 of 4. For more, call read_file with "),
            id="more lines",
        ),
        pytest.param(
            *("123456789012", (1, 1), "1234567890"),
            "Lines 1 to 1 of 1. Line 1 is cut: it has 12 characters. For more, call read_file with"
            " from_line=1 and from_character=11.",
            id="more of a line",
        ),
        pytest.param(
            *("123456789012", (1, 11), "12", "Lines 1 from character 11 to 1 of 1."),
            id="the rest of a line",
        ),
        pytest.param(
            *("one\n" + "x" * 20, (1, 1), "one\nxxxxxx"),
            "Lines 1 to 2 of 2. Line 2 is cut: it has 20 characters. For more, call read_file with"
            " from_line=2 and from_character=7.",
            id="a long line after a short one",
        ),
        pytest.param(
            *("abcone\n" + "x" * 20, (1, 4), "one\nxxxxxx"),
            "Lines 1 from character 4 to 2 of 2. Line 2 is cut: it has 20 characters. For more,"
            " call read_file with from_line=2 and from_character=7.",
            id="a long line after the rest of another",
        ),
        pytest.param(
            *("ab", (1, 2), "b", "Lines 1 from character 2 to 1 of 1."), id="the last character"
        ),
        pytest.param(
            *("123456789\n\nx", (1, 1), "123456789"),
            "Lines 1 to 1 of 3. For more, call read_file with from_line=2.",
            id="cut at the end of a line",
        ),
        pytest.param(
            *("x\na\n", (2, 1), "a\n", "Lines 2 to 3 of 3."), id="a file that ends in a newline"
        ),
    ],
)
def test_what_is_left_is_told(text, place, shown, note):
    part = read(text, *place)
    assert part.text == shown
    assert part.note.startswith(note)
    assert bool(part.note) == bool(note)


@pytest.mark.parametrize(
    ("place", "told"),
    [
        ((3, 1), "The file has 2 lines"),
        ((2, 3), "Line 2 has 2 characters"),
    ],
)
def test_a_place_that_is_not_there_is_an_error(place, told):
    with pytest.raises(CommandFailed, match=told):
        read("one\nhi", *place)


def test_an_empty_line_has_no_second_character():
    assert read("").text == ""
    with pytest.raises(CommandFailed, match="Line 1 has 0 characters"):
        read("", 1, 2)


def test_a_match_in_a_long_line_is_shown_with_its_place():
    line = "x" * 5_000 + "Needle" + "y" * 5_000
    (found,) = matches(f"short\n{line}\n", "needle")
    number, _, rest = found.partition(", from character ")
    place, _, shown = rest.partition(": ")
    assert number == "2"
    assert shown == line[int(place) - 1 :][:300]
    assert "Needle" in shown


@pytest.mark.parametrize(
    ("line", "first"),
    [
        pytest.param("Needle " + "x" * 400, 1, id="at the beginning"),
        pytest.param("x" * 400 + "Needle", 107, id="at the end"),
        pytest.param("x" * 400 + "Needle" + "y" * 400 + "Needle", 301, id="the first of two"),
    ],
)
def test_a_match_in_a_long_line_is_shown_with_what_is_around_it(line, first):
    shown = line[first - 1 : first + 299]
    assert list(matches(line, "needle")) == [f"1, from character {first}: {shown}"]


def test_lines_of_up_to_three_hundred_characters_are_shown_whole():
    line = "Needle" + "x" * 294
    assert list(matches(f"  {line} \n\n{line}y", "needle")) == [
        f"1: {line}",
        f"3, from character 1: {line}",
    ]


def test_short_lines_are_shown_whole():
    assert list(matches("One\n  STRASSE \nthree", "straße")) == ["2: STRASSE"]
    assert list(matches("a", "b")) == []

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smart_context.vault.markdown import notes, sections
from smart_context.vault.markdown.notes import outline_of
from smart_context.vault.markdown.sections import KeptRanges, kept_of, section_of
from smart_context.vault.match import build_matcher

_NOTE = "intro\n# A\na\n## B: *c*!\nb\n### C\nc ^blk\n# D\nd\n## B c\nlast\n"


@pytest.mark.parametrize(
    ("fragment", "expected"),
    [
        pytest.param("A", "# A\na\n## B: *c*!\nb\n### C\nc ^blk\n", id="to the next of its level"),
        pytest.param("b c", "## B: *c*!\nb\n### C\nc ^blk\n", id="without punctuation and case"),
        pytest.param("D#B c", "## B c\nlast\n", id="below another heading"),
        pytest.param("A#D", None, id="not below it"),
        pytest.param("^BLK", "c ^blk", id="a block"),
        pytest.param("^none", None, id="no such block"),
        pytest.param("none", None, id="no such heading"),
        pytest.param("#", None, id="no name"),
        pytest.param("", None, id="nothing"),
    ],
)
def test_a_part_of_a_note(fragment, expected):
    found = section_of(outline_of(_NOTE), fragment)
    assert (None if found is None else _NOTE[slice(*found)]) == expected


def _kept(text, *patterns):
    outline = outline_of(text)
    tests = [(pattern, build_matcher(pattern)) for pattern in patterns]
    return kept_of(outline, (0, outline.length), tests)


@pytest.mark.parametrize(
    ("patterns", "expected", "counts"),
    [
        pytest.param([], _NOTE, {}, id="nothing"),
        pytest.param(["a"], "intro\n# D\nd\n## B c\nlast\n", {"a": 1}, id="with what is below"),
        pytest.param(["b*"], "intro\n# A\na\n# D\nd\n", {"b*": 2}, id="every occurrence"),
        pytest.param(
            ["a", "c"], "intro\n# D\nd\n## B c\nlast\n", {"a": 1}, id="what is in it is gone"
        ),
        pytest.param(["a", "d"], "intro\n", {"a": 1, "d": 1}, id="one after the other"),
        pytest.param(["none"], _NOTE, {}, id="what is not there"),
    ],
)
def test_sections_are_taken_out(patterns, expected, counts):
    kept = _kept(_NOTE, *patterns)
    assert kept.of(_NOTE) == expected
    assert kept.length == len(expected)
    assert kept.exclusions == counts


@pytest.mark.parametrize(
    "before",
    [
        pytest.param("- a ` key\n", id="a backtick"),
        pytest.param("costs $5\n", id="a dollar"),
        pytest.param("$$ 5\n", id="two dollars"),
        pytest.param("a %% b\n", id="a comment in a line"),
        pytest.param("%% a\n", id="a comment"),
        pytest.param("%%\n", id="a comment to the end"),
        pytest.param("a <!-- b\n", id="an HTML comment in a line"),
        pytest.param("<!--\n", id="an HTML comment"),
        pytest.param("<!-->\n", id="the shortest HTML comment"),
        pytest.param("<div>\n", id="HTML"),
        pytest.param("<pre>\n\n", id="HTML that does not end"),
        pytest.param("> ```\n", id="a fence in a quote"),
        pytest.param("- ```\n", id="a fence in a list"),
        pytest.param("| ` |\n| - |\n", id="a table"),
        pytest.param("a\r", id="another end of the line"),
        pytest.param("---\n\n", id="what looks like properties"),
        pytest.param("> ", id="a quote"),
        pytest.param("1. ", id="a list"),
        pytest.param("> - ", id="a list in a quote"),
        pytest.param("   ", id="spaces"),
    ],
)
@pytest.mark.parametrize("heading", ["## Private", "##\tPrivate ##", "## **Private** ^id"])
def test_nothing_before_an_excluded_section_lets_it_through(before, heading):
    text = f"{before}{heading}\nsecret [[x]]\n\n## Open\nb ` 6$ $$ %% --> ` c\n\n---\n"
    kept = _kept(text, "private").of(text)
    assert "secret" not in kept
    assert "Private" not in kept


@pytest.mark.parametrize(
    "inside",
    [
        pytest.param("```\n# Open\n```", id="a fence"),
        pytest.param("~~~~\n~~~\n# Open\n~~~~", id="a longer fence"),
        pytest.param("- ```\n  # Open\n  ```", id="a fence in a list"),
        pytest.param("> # Open", id="a quote"),
        pytest.param("- # Open", id="a list"),
        pytest.param("%%\n# Open\n%%", id="a comment"),
        pytest.param("<!--\n# Open\n-->", id="an HTML comment"),
        pytest.param("<div>\n# Open\n</div>\n", id="HTML"),
        pytest.param("$$\na\n=\nb\n$$", id="a formula"),
        pytest.param("a | b\n- | -\n1 | 2\n===", id="a table"),
        pytest.param("    # Open", id="indented code"),
        pytest.param("\\# Open\n#Open", id="what looks like one"),
    ],
)
def test_nothing_in_an_excluded_section_ends_it_but_a_heading(inside):
    text = f"## Private\n{inside}\nsecret\n## Open\nopen\n"
    assert _kept(text, "private").of(text) == "## Open\nopen\n"


@pytest.mark.parametrize(
    "heading",
    [
        *("*Private* diary", "[Private](x.md) diary", "[[x|Private]] diary", "`Private` ~~diary~~"),
        *("Private\xa0diary", "Private  diary", "Priv\u200bate diary", "Priv&#97;te diary"),
        *(
            "__Private__ diary ^id",
            "Private %%old%% diary",
            "<b>Private</b> diary",
            "PRIVATE diary",
        ),
    ],
)
def test_a_heading_is_excluded_by_what_people_read(heading):
    text = f"a\n# {heading}\nsecret\n"
    assert _kept(text, "private diary").of(text) == "a\n"


def test_a_part_of_an_excluded_section_is_excluded():
    outline = outline_of(_NOTE)
    for fragment in ("C", "^blk"):
        whole = section_of(outline, fragment)
        kept = kept_of(outline, whole, [("b*", build_matcher("b*"))])
        assert (kept.of(_NOTE), kept.exclusions) == ("", {"b*": 1})


def test_a_heading_in_a_quote_ends_what_began_there():
    text = "# A\n> # Private\n> secret\n> # Open\n> open\n\n## B\n"
    assert _kept(text, "private").of(text) == "# A\n> # Open\n> open\n\n## B\n"
    assert _kept(text, "a").of(text) == ""
    assert section_of(outline_of(text), "Private") == (4, 25)


def test_a_heading_outside_of_quotes_is_found_first():
    assert section_of(outline_of("> # A\n\n# A\nb"), "A") == (7, 12)


def test_text_after_the_last_heading_that_counts_is_excluded(monkeypatch):
    monkeypatch.setattr(notes, "MAX_PARTS", 2)
    monkeypatch.setattr(sections, "MAX_PARTS", 2)
    text = "# A\na\n# B\nb\n# Private\nsecret\n"
    assert _kept(text, "private").of(text) == "# A\na\n"
    assert _kept(text).of(text) == text


def test_a_section_loses_only_what_is_within_it():
    outline = outline_of(_NOTE)
    whole = section_of(outline, "A")
    kept = kept_of(outline, whole, [("c", build_matcher("c")), ("d", build_matcher("d"))])
    assert (kept.whole, kept.exclusions) == (whole, {"c": 1})
    assert kept.of(_NOTE) == "# A\na\n## B: *c*!\nb\n"
    gone = kept_of(outline, whole, [("a", build_matcher("a"))])
    assert (gone.whole, gone.ranges, gone.exclusions) == (whole, (), {"a": 1})
    all_of_it = kept_of(outline, whole, [])
    assert (all_of_it.whole, all_of_it.ranges) == (whole, (whole,))


def test_a_section_may_end_at_once():
    assert section_of(outline_of("# A\n# B\n"), "A") == (0, 4)
    assert section_of(outline_of("# A\n# B\n"), "B") == (4, 8)


RANGES = KeptRanges(whole=(2, 30), ranges=((2, 5), (10, 15)), exclusions={})


@pytest.mark.parametrize(
    ("length", "position"), [(0, 2), (2, 4), (3, 5), (4, 11), (8, 15), (9, 30)]
)
def test_a_number_of_characters_reaches_over_what_is_left_out(length, position):
    assert RANGES.reach(length) == position


@pytest.mark.parametrize(
    ("start", "end", "is_held"),
    [
        *[(2, 5, True), (2, 6, False), (3, 4, True), (0, 3, False), (10, 15, True)],
        *[(4, 11, False), (9, 11, False), (12, 16, False), (20, 21, False)],
    ],
)
def test_a_place_is_held_when_all_of_it_remains(start, end, is_held):
    assert RANGES.holds(start, end) is is_held


_LINES = st.lists(st.sampled_from(["# a", "## b", "### a", "text", "```", ""]), max_size=14)


@given(_LINES.map("\n".join), st.lists(st.sampled_from("ab*"), max_size=2), st.integers(0, 40))
def test_the_length_is_known_without_the_text(text, patterns, length):
    kept = _kept(text, *patterns)
    assert kept.length == len(kept.of(text))
    if length <= kept.length:
        assert (
            len([at for s, e in kept.ranges for at in range(s, e) if at < kept.reach(length)])
            == length
        )

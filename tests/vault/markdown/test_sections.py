import pytest
from hypothesis import given
from hypothesis import strategies as st

from smart_context.vault.markdown.notes import outline_of
from smart_context.vault.markdown.sections import kept_of, section_of
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

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smart_context.packing.fences import Markup, fence_for, left_out_note, tree_of


@given(st.text("`a\n", max_size=40))
def test_a_fence_is_longer_than_any_run_of_backticks_inside(text):
    assert fence_for(text) not in text
    assert len(fence_for(text)) >= 3


@pytest.mark.parametrize(
    ("text", "block"),
    [
        pytest.param("x\n", "### a.py\n\n```\nx\n```", id="ends in a newline"),
        pytest.param("x", "### a.py\n\n```\nx\n```", id="does not"),
        pytest.param("", "### a.py\n\n```\n```", id="empty"),
        pytest.param("x\r\n", "### a.py\n\n```\nx\r\n```", id="Windows line ends"),
    ],
)
def test_a_file_stands_in_a_fence_under_its_path(text, block):
    assert "".join(Markup().file("a.py", text)) == block


def test_a_path_can_not_break_its_line():
    assert "".join(Markup().file("a\n## b", "")).startswith("### a\\n## b\n")


@given(st.text("</file> =\n", max_size=40))
def test_what_is_inside_can_not_end_an_xml_file(text):
    block = "".join(Markup("xml").file('"<a>.py', text))
    assert block.count("</file>") == 1
    assert block.startswith('<file path="&quot;&lt;a>.py">\n')


@given(st.text("=a\n", max_size=60))
def test_what_is_inside_can_not_end_a_plain_file(text):
    lines = "".join(Markup("plain").file("a.py", text)).split("\n")
    assert set(lines[0]) == {"="}
    assert [at for at, line in enumerate(lines) if line == lines[0]] == [0, 2, len(lines) - 1]


@pytest.mark.parametrize(
    ("style", "expected"),
    [
        ("markdown", "## The Files\n\none\n\ntwo\n\n[note]"),
        ("xml", '<section name="The Files">\none\n\ntwo\n\n[note]\n</section>'),
        ("plain", "THE FILES\n\none\n\ntwo\n\n[note]"),
    ],
)
def test_a_section_has_its_heading_blocks_and_note(style, expected):
    section = Markup(style).section("k", "The Files", [("on", "e"), ("two",)], note="[note]")
    assert "".join(section.pieces) == expected


def test_a_tree_names_each_folder_once():
    paths = ["b.py", "a/x.py", "a/c/d.py", "a/c/e.py", "a-b/f.py"]
    assert tree_of(paths) == "a/\n  c/\n    d.py\n    e.py\n  x.py\na-b/\n  f.py\nb.py"


def test_what_is_left_out_is_counted_by_reason():
    assert left_out_note({}) == ""
    assert left_out_note({"too big": 1}) == "[1 file left out: 1 too big]"
    assert left_out_note({"too big": 1, "odd": 2}) == "[3 files left out: 1 too big, 2 odd]"

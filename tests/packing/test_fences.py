import pytest
from hypothesis import given
from hypothesis import strategies as st

from smart_context.base.text.names import fence_for
from smart_context.packing.budget import PromptSection
from smart_context.packing.fences import Markup, left_out_note, tree_of


@given(st.text("`a\n", max_size=40))
def test_a_fence_is_longer_than_any_run_of_backticks_inside(text):
    fence = fence_for(text)
    assert fence not in text
    assert set(fence) == {"`"}
    assert len(fence) == 3 or fence[1:] in text


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


def test_what_would_end_an_xml_file_is_escaped():
    block = "".join(Markup("xml").file("a&b.py", "1 < 2 </ File>"))
    assert block == '<file path="a&amp;b.py">\n1 < 2 &lt;/ File>\n</file>'


@pytest.mark.parametrize(
    ("text", "rule"), [("x", 20), ("", 20), ("=" * 19, 20), ("=" * 20, 21), ("=" * 25, 26)]
)
def test_a_rule_is_one_longer_than_any_inside_and_twenty_at_least(text, rule):
    first, name, *_ = "".join(Markup("plain").file("a.py", text)).split("\n")
    assert (first, name) == ("=" * rule, "File: a.py")


@pytest.mark.parametrize(
    ("style", "expected"),
    [
        ("markdown", '### a"\\n.py\n\nIt is too big.'),
        ("xml", '<file path="a&quot;\\n.py">\nIt is too big.\n</file>'),
        ("plain", 'File: a"\\n.py\nIt is too big.'),
    ],
)
def test_a_file_without_text_has_a_notice(style, expected):
    assert "".join(Markup(style).notice('a"\n.py', "It is too big.")) == expected


@pytest.mark.parametrize("ending", ["", "\n"])
@pytest.mark.parametrize(
    ("style", "expected"),
    [
        ("markdown", "````diff\n+```</diff>\n````"),
        ("xml", "+```&lt;/diff>"),
        ("plain", "+```</diff>"),
    ],
)
def test_a_block_holds_a_diff_or_a_tree(style, expected, ending):
    assert "".join(Markup(style).block(f"+```</diff>{ending}", "diff")) == expected


def test_a_block_without_a_language_begins_with_its_bare_fence():
    assert "".join(Markup().block("x")) == "```\nx\n```"


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
    assert section.key == "k"
    assert not section.is_protected


def test_a_section_may_be_protected_and_have_no_note():
    section = Markup().section("k", "The Files", [("one",)], is_protected=True)
    assert section == PromptSection(
        key="k", pieces=("## The Files", "\n\n", "one"), is_protected=True
    )


def test_a_tree_names_each_folder_once():
    paths = ["b.py", "a/x.py", "a/c/d.py", "a/c/e.py", "a-b/f.py"]
    assert tree_of(paths) == "a/\n  c/\n    d.py\n    e.py\n  x.py\na-b/\n  f.py\nb.py"
    assert tree_of(["a/b/x", "a/c/y"]) == "a/\n  b/\n    x\n  c/\n    y"
    assert tree_of(["a/b/c/x", "a/b/d/y"]) == "a/\n  b/\n    c/\n      x\n    d/\n      y"


def test_what_is_left_out_is_counted_by_reason():
    assert left_out_note({}) == ""
    assert left_out_note({"too big": 1}) == "[1 file left out: 1 too big]"
    assert left_out_note({"too big": 1, "odd": 2}) == "[3 files left out: 1 too big, 2 odd]"

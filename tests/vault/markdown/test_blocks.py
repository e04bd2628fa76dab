import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from smart_context.vault.markdown.blocks import NOWHERE, blocks_of

_PARSER = MarkdownIt("commonmark", {"maxNesting": 100}).enable("table")
_MOST = 1_000


def _by_the_parser(text):
    """What markdown-it-py finds: headings outside, headings inside of blocks, lines of code."""
    tokens = _PARSER.parse(text)
    found = [(token, int(token.tag[1])) for token in tokens if token.type == "heading_open"]
    return (
        {(level, token.map[0]) for token, level in found if token.level == 0},
        {(level, token.map[0]) for token, level in found if token.level},
        {line for t in tokens if t.type in {"fence", "code_block"} for line in range(*t.map)},
    )


def _by_us(text):
    blocks = blocks_of(text, 0, _MOST)
    found = [(h.level, text.count("\n", 0, h.start), h.within) for h in blocks.headings]
    return (
        {(level, line) for level, line, within in found if within == NOWHERE},
        {(level, line) for level, line, within in found if within != NOWHERE},
        {
            line
            for start, end in blocks.hidden
            for line in range(text.count("\n", 0, start), text.count("\n", 0, end - 1) + 1)
        },
    )


def _assert_as_the_parser_says(text):
    outside, inside, code = _by_the_parser(text)
    ours_outside, ours_inside, ours_code = _by_us(text)
    assert ours_outside == outside, text
    assert ours_inside >= inside, text  # and headings in HTML, which it does not look for
    if "<" not in text:
        assert ours_inside == inside, text
        said = {at for at, line in enumerate(text.split("\n")) if line.strip(" \t>-")}
        assert ours_code & said == code & said, text


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("- press the ` key\n- see\n## A\nx\n## B\n- code `x`", id="a lone backtick"),
        pytest.param("It costs $5\n## A\n- x\n## B\nand 6$ more", id="a lone dollar"),
        pytest.param("- a\n\n      # code\n\n   # A\n# B", id="what is in an item"),
        pytest.param("> # A\n# B\n> lazy\nmore\n===\n", id="no underline for a lazy line"),
        pytest.param("> ```\n# A\n```\n# no\n```", id="a fence ends with its quote"),
        pytest.param("- ```\n# A\n", id="a fence ends with its item"),
        pytest.param("- ```\n\n  # no\n  ```\n  # A", id="a fence goes on in its item"),
        pytest.param("~~~ a`b\n# no\n~~\n```\n~~~~  \n# A", id="tildes"),
        pytest.param("```a`b\n# A\n", id="no fence, but code in a line"),
        pytest.param("````\n```\n# no\n`````\n# A", id="a longer fence"),
        pytest.param("```\n# no\n    ```\n# no", id="a fence without an end"),
        pytest.param("#\ttab\n#no\n#\n   # A #\n    # code\n\n    # code", id="spaces and tabs"),
        pytest.param("text\n    # A\n\t# B\n", id="indented lines go on with a paragraph"),
        pytest.param("a\nb\n---\nc\n\n---\nd\n===", id="underlines"),
        pytest.param("a | b\n- | -\n1 | 2\n===\n# A", id="no underline in a table"),
        pytest.param("| a |\n|-|-|\n---\n", id="no table, but an underline"),
        pytest.param("a\n| b |\n| - |\n---\n", id="a table in a paragraph ends at a rule"),
        pytest.param("[a]: b\n[c]: d\nA\n===\n[a]: b\n===", id="definitions are no heading"),
        pytest.param("[a]: b 't'\n- \n\n[c]: <d e> (f)\n'g'\n--\n# A", id="their titles"),
        pytest.param("[a]: b\n'c'\n---\nd\n---\n[e]:\nf\n===\ng\n---", id="and what follows them"),
        pytest.param("<div>\n# no\n\n# A\n<b>\n# no\n\ntext\n<b>\n# B", id="HTML to a blank line"),
        pytest.param("<pre>\n\n# no\n</pre> x\n# A\n<!-->\n# B", id="HTML to its last mark"),
        pytest.param("<!-- x\n\n# no", id="a comment without an end"),
        pytest.param("-\n\n  # A\n- \n  # B", id="an empty item ends at a blank line"),
        pytest.param("a\n2. # no\n1. # A\n-\n", id="what begins a list in a paragraph"),
        pytest.param(">\t# A\n>  \t# B\n-\t# C\n \t# D", id="tabs after marks"),
        pytest.param("* * *\n- - - # A\n_ _ _\na\n***", id="rules"),
        pytest.param("> - > # A\n> - # B\n>\n# C\n", id="nested"),
        pytest.param("a\x0b# no\x0c\n# A\x00\n\u2028# no\n#\xa0no\n\x85# no", id="odd characters"),
    ],
)
def test_hostile_notes_have_the_headings_and_code_that_the_parser_finds(text):
    _assert_as_the_parser_says(text)


_BEFORE = st.sampled_from(
    ["", "", "", "  ", "   ", "> ", ">", "> > ", "- ", "* ", "1. ", "2) ", "- - ", "> - "]
)
_LINE = st.sampled_from(
    [
        *("a", "b `c", "``", "$5", "# h", "## h ##", "#tag", "#", "```", "```` x", "~~~", "---"),
        *("===", "***", "| a | b |", "|-|-|", "a | b", "<div>", "</div>", "<!--", "-->", "<pre>"),
        *("</pre>", "<b>", "-", "+ x", "\\# a", "a\\", "", "", "**b**"),
    ]
)
_LINES = st.lists(st.builds(str.__add__, _BEFORE, _LINE), max_size=12).map(
    lambda lines: "".join(f"{line}\n" for line in lines)  # the parser fails at some last lines
)


@given(_LINES)
def test_any_note_has_the_headings_and_code_that_the_parser_finds(text):
    _assert_as_the_parser_says(text)

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smart_context.vault.markdown import notes
from smart_context.vault.markdown.front_matter import properties_of
from smart_context.vault.markdown.notes import canvas_outline, outline_of


def _targets(text):
    return [link.target for link in outline_of(text).links]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("see [[a]]", ["a"], id="a link"),
        pytest.param("[[a|b c]]", ["a"], id="with an alias"),
        pytest.param("[[a|b [c] d]]", ["a"], id="brackets in the alias"),
        pytest.param("[[a#H]] [[a#^b]] [[#H]]", ["a#H", "a#^b", "#H"], id="to a part"),
        pytest.param("![[a.png|100]]", ["a.png"], id="an embed"),
        pytest.param("[t](a%20b.md)", ["a b.md"], id="in Markdown, escaped"),
        pytest.param("[t](<a b.md>)", ["a b.md"], id="in Markdown, in angles"),
        pytest.param('![t](a_(1).md "title")', ["a_(1).md"], id="with a title"),
        pytest.param("[t](a.md#H)", ["a.md#H"], id="in Markdown, to a part"),
        pytest.param("| [[a\\|b]] |", ["a"], id="in a table"),
        pytest.param("> [!note] [[a]]\n> [[b]]", ["a", "b"], id="in a callout"),
        pytest.param("- [ ] [[a]]", ["a"], id="in a task"),
        pytest.param("[[a`b]] `c`", ["a`b"], id="a backtick in a name"),
        pytest.param("it is $5 and [[a]] is $6", ["a"], id="between two prices"),
        pytest.param("100%% sure of [[a]]", ["a"], id="a comment that does not end"),
        pytest.param("`unclosed [[a]]", ["a"], id="code that does not end"),
        pytest.param("`one\n\n[[a]] `x`", ["a"], id="code ends with its paragraph"),
        pytest.param("- a `\n- [[a]]\n- b `", ["a"], id="code ends with its item"),
        pytest.param("# a `\n[[a]]\n# b `", ["a"], id="code ends with its heading"),
        pytest.param("> a `\n\n> [[a]] `", ["a"], id="code ends with its quote"),
        pytest.param("| ` | [[a]] |\n|-|-|\n| ` | [[b]] |", ["a", "b"], id="and with its cell"),
        pytest.param("it is $5\n- [[a]]\n- 6$", ["a"], id="a formula ends with its paragraph"),
        pytest.param("x %% y\n1. [[a]]\n2. %%", ["a"], id="a comment in a line ends with it"),
        pytest.param("$$ 5\n# A\n[[a]]\n$$", ["a"], id="no heading is in a formula"),
        pytest.param("<!-->\n[[a]]", ["a"], id="the shortest HTML comment"),
        pytest.param("> <!--\n[[a]]", ["a"], id="an HTML comment ends with its quote"),
        pytest.param("`a\r\n\r\n[[a]] `\r\r[[b]]`", ["a", "b"], id="all ends of lines"),
        pytest.param("x\n\n    [[a]]\n\n- y\n\n    [[b]]", ["b"], id="indented code"),
        pytest.param("a `b\nc` [[a]] `[[b]]\n`", ["a"], id="code in two lines"),
        pytest.param("[t](https://x.org) [t](mailto:x) [t](//x)", [], id="addresses"),
        pytest.param("text](a.md)", [], id="half a link"),
        pytest.param("[[]] [[ ]] [[a\nb]] []( )", [], id="empty ones"),
        pytest.param("`[[a]]` ``x ` [[b]]``", [], id="in code"),
        pytest.param("```\n[[a]]\n```\n[[b]]", ["b"], id="in a fence"),
        pytest.param("~~~~ x\n[[a]]\n~~~\n[[b]]\n~~~~", [], id="a fence ends with its own kind"),
        pytest.param("- x\n  ```\n  [[a]]\n  ```\n  [[b]]", ["b"], id="in a fence in a list"),
        pytest.param("> ```\n> [[a]]\n\n[[b]]", ["b"], id="a fence ends with its callout"),
        pytest.param("```\n[[a]]", [], id="a fence to the end"),
        pytest.param("%% [[a]] %%", [], id="in a comment"),
        pytest.param("%%\n[[a]]\n\n[[b]]\n%%\n[[c]]", ["c"], id="in a comment of many lines"),
        pytest.param("%%\n[[a]]", [], id="in a comment to the end"),
        pytest.param("<!-- [[a]]\n\n-->", [], id="in an HTML comment"),
        pytest.param("$x [[a]]$ $$\n[[b]]\n$$", [], id="in math"),
        pytest.param("\\[[a]]", [], id="escaped"),
        pytest.param("[a\\](b.md)", [], id="escaped in Markdown"),
        pytest.param('---\nup: "[[a]]"\n---\n', ["a"], id="a property"),
        pytest.param(
            "---\nup:\n  - \"[[a]]\"\n  - '[[b|c]]'\n---\n", ["a", "b"], id="a list of them"
        ),
        pytest.param('---\nup: ["[[a]]", "[[b]]"]\n---\n', ["a", "b"], id="a list in a line"),
        pytest.param('---\nnote: "see [[a]]"\nx: text\n---\n', [], id="in a string of a property"),
        pytest.param("---\nup: [[a]]\n---\n[[b]]", ["b"], id="unquoted it is a list of lists"),
        pytest.param("---\nno end\n[[a]]", ["a"], id="properties that do not end"),
    ],
)
def test_the_links_of_a_note(text, expected):
    assert _targets(text) == expected


def test_a_link_knows_its_place():
    text = "x [[a|b]] y [t](c.md) z"
    assert [text[link.start : link.end] for link in outline_of(text).links] == [
        "[[a|b]]",
        "[t](c.md)",
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("# A\ntext\n### B ###\n", [(1, "A"), (3, "B")], id="levels"),
        pytest.param("   ## A\n", [(2, "A")], id="up to three spaces"),
        pytest.param("#tag\n#\ttab\n", [(1, "tab")], id="a tag is none"),
        pytest.param("#\nx", [(1, "")], id="an empty one"),
        pytest.param("####### x", [], id="seven are none"),
        pytest.param("# C#\n", [(1, "C#")], id="a mark that belongs to it"),
        pytest.param("```\n# a\n```\n# b", [(1, "b")], id="none in a fence"),
        pytest.param("# `code` *x*\r\n", [(1, "`code` *x*")], id="as written"),
        pytest.param("Title\n===\ntext\n\nSub\n---\n", [(1, "Title"), (2, "Sub")], id="underlined"),
        pytest.param("\n---\n- x\n---\n| a |\n---\n", [], id="lines that are no underline"),
        pytest.param("---\na: b\n---\n# A", [(1, "A")], id="after the properties"),
        pytest.param("---\n# a\nb: c\n---\n", [], id="a comment in the properties"),
        pytest.param("---\n\n## A\nx\n\n---\n", [(2, "A")], id="between two rules"),
        pytest.param("Long\n title\n===", [(1, "Long title")], id="underlined, of two lines"),
        pytest.param("a\r## A\rb\r\nB\r---\r", [(2, "A"), (2, "b B")], id="all ends of lines"),
        pytest.param("$$\na\n=\n# A\n$$", [(1, "$$ a"), (1, "A")], id="no formula has a heading"),
        pytest.param("$$\na\n=\nb\n$$\n# A", [(1, "A")], id="a line of a formula"),
        pytest.param("%%\n```\n# A\n%%\n# B", [(1, "B")], id="a fence ends with its comment"),
        pytest.param("%%\n# A\n", [(1, "A")], id="in a comment to the end"),
        pytest.param("> # A\n- ## B", [(1, "A"), (2, "B")], id="in a quote and in a list"),
    ],
)
def test_the_headings_of_a_note(text, expected):
    outline = outline_of(text)
    assert [(heading.level, heading.text) for heading in outline.headings] == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("one\ntwo ^a\n\nthree", {"a": "one\ntwo ^a"}, id="a paragraph"),
        pytest.param("one ^a\ntwo ^b\n", {"a": "one ^a", "b": "two ^b"}, id="line by line"),
        pytest.param("- x\n- y\n  more ^a\n- z", {"a": "- y\n  more ^a"}, id="a list item"),
        pytest.param("# H\npara ^a", {"a": "para ^a"}, id="below a heading"),
        pytest.param("| a |\n| - |\n\n^a\n\nz", {"a": "| a |\n| - |"}, id="alone: what is before"),
        pytest.param("x^2 and `y ^a`\n", {}, id="no name"),
        pytest.param("^a", {"a": ""}, id="before it is nothing"),
    ],
)
def test_the_blocks_of_a_note(text, expected):
    blocks = outline_of(text).blocks
    assert {block.name: text[block.start : block.end] for block in blocks} == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("#a text #b/c-d #a", ("a", "b/c-d"), id="each once"),
        pytest.param("#12 x#y [[a#b]] `#c` http://x/#d", (), id="what is none"),
        pytest.param("---\ntags: [x, '#y']\n---\n#z", ("x", "y", "z"), id="from the properties"),
        pytest.param("---\ntags: x, y\n---\n", ("x", "y"), id="a string of them"),
        pytest.param("#标签 #été.", ("标签", "été"), id="any script"),
    ],
)
def test_the_tags_of_a_note(text, expected):
    assert outline_of(text).tags == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        pytest.param('a: b\nc: "d: e"\n# x\n', {"a": "b", "c": "d: e"}, id="plain lines"),
        pytest.param("a:\n  - x\n  - y\nb:\n", {"a": ["x", "y"], "b": []}, id="lists"),
        pytest.param("a: [x, 'y, z']", {"a": ["x", "y, z"]}, id="a list in a line"),
        pytest.param("a:\n  b: c\n", {"a": {"b": "c"}}, id="YAML proper"),
        pytest.param("a: |\n  x\n  y\n", {"a": "x\ny\n"}, id="text of many lines"),
        pytest.param("a: b: c", {}, id="broken"),
        pytest.param("a: [x", {}, id="unclosed"),
        pytest.param("- x\n- y", {}, id="no table"),
        pytest.param("a: !!python/object:os.system x", {}, id="code"),
    ],
)
def test_properties(source, expected):
    assert properties_of(f"---\n{source}\n---\ntext") == expected


@pytest.mark.parametrize(
    "source",
    [
        pytest.param("x: &x [a]\ny: *x", id="copies"),
        pytest.param(f"x: {'[' * 60}{']' * 60}", id="is nested deep"),
        pytest.param(f"x: {{a: {'b' * 9_000}}}", id="is long"),
    ],
)
def test_what_needs_yaml_and_copies_or_is_nested_or_long_is_no_properties(source):
    assert properties_of(f"---\ntags: {{}}\n{source}\n---\n") == {}


def test_a_number_that_python_does_not_write_is_no_tag():
    source = f"tags: [0x{'9' * 5_000}, a, 7]\nx: {{a: b}}"
    assert outline_of(f"---\n{source}\n---\n").tags == ("a", "7")


def test_aliases_are_other_names():
    assert outline_of("---\naliases: [A, B c]\nalias: D\n---\n").aliases == ("A", "B c", "D")


def test_a_canvas_links_to_its_cards():
    text = (
        '{"nodes":[{"type":"file","file":"n/a.md","subpath":"#H"},'
        '{"type":"text","text":"[[b]] #t `[[c]]`"},{"type":"link","url":"https://x"},7],"edges":[]}'
    )
    outline = canvas_outline(text)
    assert [link.target for link in outline.links] == ["n/a.md#H", "b"]
    assert text[outline.links[0].start : outline.links[0].end] == '"n/a.md"'
    assert outline.tags == ("t",)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"nodes": 3}', "[" * 100_000])
def test_what_is_no_canvas_has_no_links(text):
    assert canvas_outline(text).links == ()


_PIECES = st.sampled_from(
    [
        "[[",
        "]]",
        "[",
        "]",
        "(",
        ")",
        "a",
        "|",
        "`",
        "``",
        "```",
        "%%",
        "$",
        "$$",
        "<!--",
        "-->",
        "\\",
        "^a",
        "---",
        "===",
        ">",
        "~~~",
        "#",
        ":",
        '"',
        "é",
        " ",
        "\n",
        "\n\n",
        "\r\n",
        "- ",
        "- x",
        "# ",
    ]
)


@given(st.lists(_PIECES, max_size=40).map("".join))
def test_any_text_has_an_outline_whose_places_are_in_it(text):
    outline = outline_of(text)
    for start, end in [*(link[:2] for link in outline.links), *(b[1:] for b in outline.blocks)]:
        assert 0 <= start <= end <= len(text)
    starts = [heading.start for heading in outline.headings]
    assert starts == sorted(set(starts))


def test_half_characters_are_no_part_of_an_outline():
    assert outline_of('---\ntags: ["a\\uD800b"]\n---\n').tags == ("a?b",)
    cards = '{"type": "file", "file": "\\ud800.md"}, {"type": "text", "text": "[[\\udfff]]"}'
    canvas = f'{{"nodes": [{cards}]}}'
    assert [link.target for link in canvas_outline(canvas).links] == ["?.md", "?"]


def test_embeds_are_told_from_links():
    text = '---\nup: "[[p]]"\n---\n[[a]] ![[b]] ![x](c.md) [y](d.md) \\![[e]] `![[f]]`'
    outline = outline_of(text)
    assert [outline.links[at].target for at in outline.embeds] == ["b", "c.md"]
    assert text[outline.body :].startswith("[[a]]")


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        pytest.param("[[a]]\n", "links", id="wiki links"),
        pytest.param("[a](b)\n", "links", id="Markdown links"),
        pytest.param("# a\n", "headings", id="headings"),
        pytest.param("a\n==\n", "headings", id="underlined headings"),
        pytest.param("a ^b\n", "blocks", id="blocks"),
    ],
)
def test_of_millions_of_parts_the_first_count(monkeypatch, text, kind):
    monkeypatch.setattr(notes, "MAX_PARTS", 20)
    outline = outline_of(text * 30)
    assert len(getattr(outline, kind)) == 20
    assert outline.length == len(text) * 30


@given(st.text(alphabet="[]|\na#! ", max_size=40))
def test_wiki_links_are_found_as_their_pattern_says(text):
    expected = [
        (found.start(), found.end(), found[1].strip())
        for found in notes._WIKI_LINK.finditer(text)
        if found[1].strip()
    ]
    assert [tuple(link) for link in notes._wiki_links(text, 0)] == expected

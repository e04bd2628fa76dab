import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smart_context.web.pages.markup.markdown import (
    MAX_MARKDOWN_CHARS,
    TOO_MANY_CELLS,
    Markdown,
    highlight,
    visible,
)
from smart_context.web.pages.markup.message_html import QUICK_CHARS
from tests.yardstick import yardstick_s

MARKDOWN = Markdown()
HOSTILE = st.lists(
    st.sampled_from(
        (
            *(
                "<script>",
                "<img src=x onerror=a>",
                "](javascript:a)",
                "[",
                "![",
                "](data:text/html,a)",
            ),
            *(
                "`",
                "```html\n",
                "$",
                "$$",
                r"\[",
                "\n",
                "|",
                "\n|-|\n",
                "> ",
                "* ",
                "&#x3c;",
                '"',
                "x",
            ),
        )
    )
).map("".join)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("**b** ~~s~~", "<strong>b</strong> <s>s</s>", id="bold and struck out"),
        pytest.param("<b>x</b>", "&lt;b&gt;x&lt;/b&gt;", id="HTML is text"),
        pytest.param("a\n\n<script>x</script>", "&lt;script&gt;", id="an HTML block is text"),
        pytest.param(
            "|a|b|\n|-|-:|\n|1|2|", '<td dir="auto" class="align-right">2</td>', id="table"
        ),
        pytest.param("`a*b*`", "<code>a*b*</code>", id="code"),
        pytest.param("|a|\n|-|\n|1<br>2<BR />3|", "1<br>\n2<br>\n3</td>", id="breaks in a cell"),
        pytest.param("H<sub>2</sub>O", "H<sub>2</sub>O</p>", id="what stands lower"),
        pytest.param("<kbd>Ctrl</kbd>", "<kbd>Ctrl</kbd>", id="a key"),
        pytest.param("<sup>a", "&lt;sup&gt;a", id="HTML that does not end is text"),
        pytest.param("这是**“重要”**的", "<strong>“重要”</strong>的", id="bold without spaces"),
        pytest.param("a[^1]\n\n[^1]: n", '<section class="footnotes"', id="a footnote"),
        pytest.param("$a_b$", "<msub><mi>a</mi><mi>b</mi></msub>", id="a formula in a line"),
        pytest.param(r"\(a * b*\)", "<mi>a</mi><mo>*</mo><mi>b</mi>", id="TeX's brackets"),
        pytest.param(
            "$$\n\\frac a\n+ b\n$$", '<math display="block"><mrow><mfrac>', id="displayed"
        ),
        pytest.param(
            r"\[\begin{aligned}a&=b\end{aligned}\]", '<mtd columnalign="left">', id="aligned"
        ),
        pytest.param(
            r"$\begin{pmatrix}a\end{pmatrix}^2$",
            "<mo>)</mo></mrow><mn>2</mn></msup>",
            id="the power of a matrix",
        ),
        pytest.param(r"$\oddity{x}$", r">$\oddity{x}$</span>", id="an unknown command"),
        pytest.param(r"$a_$", ">$a_$</span>", id="half a formula"),
        pytest.param(r"$\text{<b>&}$", "<mtext>&lt;b&gt;&amp;</mtext>", id="text in a formula"),
        pytest.param(
            r"$\href{javascript:x}{a}$", "<mrow><mrow><mi>a</mi></mrow></mrow>", id="no links"
        ),
        pytest.param(r"$\hspace{-9em}a$", "<mspace></mspace><mi>a</mi>", id="no far places"),
        pytest.param("$$" + "{" * 900 + "$$", "{{{{$$</div>", id="a deep formula"),
        pytest.param("$5 and $10 *x*", "$5 and $10 <em>x</em>", id="prices are no formula"),
        pytest.param("$A/$B US$a$", "$A/$B US$a$", id="names of variables are none"),
        pytest.param("a\u202eb", "a⟦U+202E⟧b", id="an override is shown"),
        pytest.param("שלום", '<p dir="auto">', id="each block has its own direction"),
    ],
)
def test_a_message_is_shown(text, shown):
    assert shown in MARKDOWN.render(text)


@pytest.mark.parametrize("target", ["https://a.b/c", "http://a.b", "mailto:a@b.c"])
def test_a_link_opens_elsewhere_and_tells_nobody(target):
    rendered = MARKDOWN.render(f"[x]({target})")

    assert f'href="{target}"' in rendered
    assert 'target="_blank"' in rendered
    assert 'rel="noopener noreferrer"' in rendered


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("see https://a.b/c_d_e.", "https://a.b/c_d_e"),
        ("(http://a.b/x_(y)), or", "http://a.b/x_(y)"),
        ("**https://a.b/?q=1&r**", "https://a.b/?q=1&amp;r"),
        ("看https://a.b/c。好", "https://a.b/c"),
        ("see [https://a.b/c]", "https://a.b/c"),
        ("- HTTPS://a.b", "HTTPS://a.b"),
    ],
)
def test_an_address_that_stands_in_a_text_is_a_link(text, address):
    assert f">{address}</a>" in MARKDOWN.render(text)


@pytest.mark.parametrize(
    "text",
    ["`https://a.b`", "xhttps://a.b", "https://", "https://.", "ftp://a.b", "a\n\n    http://a.b"],
)
def test_an_address_in_code_or_in_a_word_is_none(text):
    assert "<a " not in MARKDOWN.render(text)


@pytest.mark.parametrize("target", ["https://a.b", "https://a.b/https://c.d"])
def test_a_link_has_no_links_in_its_words(target):
    assert MARKDOWN.render(f"[{target}]({target}) <{target}>").count("<a ") == 2


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("[words](Travel/Japan%20in%20April.md)", "Travel/Japan in April.md"),
        ("[words](../a.md#Part)", "a.md#Part"),
        ("![[words]]", "words"),
    ],
)
def test_a_link_of_markdown_and_an_embedded_note_open_the_note(text, note):
    rendered = MARKDOWN.render(text)

    assert f'data-note="{note}"' in rendered
    assert ">words</a>" in rendered
    assert "!" not in rendered


@pytest.mark.parametrize(
    "target",
    ["javascript:alert(1)", "data:text/html,x", "file:///etc/passwd", "notes/a.txt", "//a.b"],
)
def test_a_link_to_anything_else_is_text(target):
    rendered = MARKDOWN.render(f"before [x]({target}) [y](https://a.b)")

    assert rendered.count("<a ") == 1
    assert "before" in rendered
    assert ">x</span>" in rendered


@pytest.mark.parametrize(
    "source", ["https://a.b/c.png", "data:image/png;base64,AA", "c.png", "//a.b/c"]
)
@pytest.mark.parametrize("around", ["{}", "[{}](https://x.y)"])
def test_an_image_is_never_loaded(source, around):
    rendered = MARKDOWN.render(around.format(f"![a cat]({source})"))

    assert "<img" not in rendered
    assert "a cat" in rendered
    assert rendered.count("<a ") <= 1


def test_code_is_coloured_by_classes_and_escaped():
    rendered = MARKDOWN.render('```python\ndef f(): "<b>"\n```')

    assert '<span class="k">def</span>' in rendered
    assert "&lt;b&gt;" in rendered
    assert 'data-language="python"' in rendered
    assert "style=" not in rendered


@pytest.mark.parametrize("language", ["", "no-such-language", "<script>", "python onclick=x"])
def test_code_of_any_language_is_shown(language):
    rendered = MARKDOWN.render(f"```{language}\na < b\n```")

    assert re.sub("<[^>]*>", "", rendered).strip() == "a &lt; b"


def test_code_that_is_too_long_is_not_coloured():
    assert "<span" not in highlight("def f(): pass\n" * 2000, "python")


def test_a_huge_message_is_plain():
    rendered = MARKDOWN.render("*a* <" + "b" * MAX_MARKDOWN_CHARS)

    assert rendered.startswith('<div class="plain" dir="auto">*a* &lt;b')


@given(HOSTILE)
def test_whatever_is_written_no_script_or_foreign_content_comes_out(text):
    rendered = MARKDOWN.render(text)

    tags = re.findall(r"<\s*([a-z0-9]+)([^>]*)>", rendered)
    assert not {"script", "img", "iframe", "style", "svg"} & {tag for tag, _ in tags}
    assert not any(re.search(r"\son\w+\s*=|\sstyle\s*=", attributes) for _, attributes in tags)
    hrefs = re.findall(r'href="([^"]*)"', rendered)
    assert all(href.startswith(("http://", "https://", "mailto:")) for href in hrefs)


COSTLY = (
    ":",
    "https://a.b ",
    "\\(a ",
    "$a ",
    "$$a\n",
    "\\[a\n\n",
    "![](",
    "[a](b",
    "_a*",
    "> ",
    "|-|\n",
)


def short_rows(columns, *, tables=1):
    """Tables of a wide head and rows of one mark, as many as a short message may hold."""
    head = "|" + "a|" * columns + "\n|" + "-|" * columns + "\n"
    return (head + "|\n" * ((QUICK_CHARS // tables - len(head)) // 2) + "\n") * tables


def whole_rows(columns):
    """A table of wide rows in which every cell was written, as long as a short message may be."""
    row = "|" + "a|" * columns + "\n"
    head = row + "|" + "-|" * columns + "\n"
    return head + row * ((QUICK_CHARS - len(head)) // len(row))


@pytest.mark.parametrize(
    "text",
    [
        *(piece * (QUICK_CHARS // len(piece)) for piece in COSTLY),
        *(short_rows(columns) for columns in (3, 30, 2_000)),
        *(short_rows(columns, tables=13) for columns in (10, 190)),
        *(whole_rows(columns) for columns in (10, 190, 2_000)),
    ],
)
def test_no_text_that_is_rendered_in_the_server_takes_long(text):
    began = time.thread_time()

    MARKDOWN.render(text)

    assert time.thread_time() - began < 100 * yardstick_s()


@pytest.mark.parametrize(
    "text",
    [
        *('Some words, a few (3) of them; "yes"? 你好 und Grüße/שלום', "a  b", "1. a", "a\nb"),
        *("a_b_c", "*a*", "`a`", "[[a]]", "a\\b", "$a$", "&amp;", "<b>", "- [ ] a", "a  \nb"),
    ],
)
def test_texts_without_marks_are_as_the_parser_makes_them(text, monkeypatch):
    table = f"|{text}|\n|-|\n|{text}|\n\n{text}"
    rendered = MARKDOWN.render(table)
    monkeypatch.setattr("smart_context.web.pages.markup.markdown._WORDS", re.compile("(?!)"))
    assert MARKDOWN.render(table) == rendered


@pytest.mark.parametrize(("columns", "tables"), [(3, 1), (30, 1), (2_000, 1), (190, 13)])
def test_tables_of_far_more_cells_than_were_written_are_shown_as_written(columns, tables):
    text = short_rows(columns, tables=tables)

    rendered = MARKDOWN.render(text)

    assert TOO_MANY_CELLS in rendered
    assert "<t" not in rendered
    assert text in rendered


@pytest.mark.parametrize(
    ("text", "cells"),
    [
        pytest.param(short_rows(300)[: 4 * 300 + 20], 8 * 300, id="a few short rows"),
        pytest.param("|a|b|\n|-|-|\n" + "|x|y|\n" * 3_000, 6_000, id="many whole rows"),
        pytest.param("a|b|c\n-|-|-\n" + "some|\n" * 3_000, 9_000, id="many sparse rows"),
        pytest.param("> |a|b|\n> |-|-|\n> |x|y|\n\n" * 1_000, 2_000, id="many tables"),
    ],
)
def test_tables_that_somebody_wrote_stay_tables(text, cells):
    assert MARKDOWN.render(text).count("<td") == cells


def test_all_direction_controls_are_visible():
    controls = [chr(c) for c in (*range(0x202A, 0x202F), *range(0x2066, 0x206A))]

    assert all(f"U+{ord(c):04X}" in visible(c) for c in controls)
    assert visible("שלום 你好 👩‍👩‍👧") == "שלום 你好 👩‍👩‍👧"


@pytest.mark.parametrize(
    ("head", "is_turned"), [("المرحلة", True), ("(שלב)", True), ("Step", False), ("1", False)]
)
def test_a_table_begins_at_the_side_where_its_words_do(head, is_turned):
    shown = MARKDOWN.render(f"| {head} | b |\n|---|---|\n| 1 | 2 |")
    assert ('dir="rtl"' in shown.partition("<table>")[0]) == is_turned

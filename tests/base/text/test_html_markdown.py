import html
import re
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from smart_context.base.text.html_markdown import markdown_of

TAGS = (
    *("<p>", "</p>", "<div>", "</div>", "<br>", "<hr>", "<h2>", "</h2>", "<b>", "</b>", "<i>"),
    *("</i>", "<ul>", "</ul>", "<ol start=4>", "</ol>", "<li>", "</li>", "<pre>", "</pre>"),
    *("<code>", "</code>", "<table>", "</table>", "<tr>", "</tr>", "<td>", "</td>", "<th>"),
    *("<blockquote>", "</blockquote>", "<a href='https://x.org'>", "</a>", "<!-- - -->", "<x-y>"),
)
WORDS = ("w1", "w2", "w3 ", " w4", "\n", "`", "*", "&lt;", "&#", "<", "|")


@pytest.mark.parametrize(
    ("source", "markdown"),
    [
        pytest.param("<p>a</p><p>b<br>c</p>", "a\n\nb  \nc", id="paragraphs and a break"),
        pytest.param("<h2>Next <b>step</b></h2><p>a</p>", "## Next **step**\n\na", id="a heading"),
        pytest.param("a <strong>b </strong>c", "a **b** c", id="spaces leave emphasis"),
        pytest.param("<b><b>a</b></b> <i></i>", "**a**", id="emphasis in itself, and of nothing"),
        pytest.param("<b>a <i>b</b> c</i>", "**a *b*** c", id="emphasis that ends out of order"),
        pytest.param("<ul><li>a</li><li>b</li></ul>", "- a\n- b", id="a list"),
        pytest.param("<ol start='3'><li>a<li>b</ol>", "3. a\n4. b", id="numbers go on"),
        pytest.param(
            "<ul><li>a<ul><li>b</li></ul></li><li>c</li></ul>",
            "- a\n  - b\n- c",
            id="a list in one",
        ),
        pytest.param("<ol><li><p>a</p><p>b</p></ol>", "1. a\n\n   b", id="a long item"),
        pytest.param("<pre><code>a\n  b\n</code></pre>c", "```\na\n  b\n```\n\nc", id="code"),
        pytest.param(
            "<pre><code class='language-py'>a</code></pre>", "```py\na\n```", id="its language"
        ),
        pytest.param("<pre>```</pre>", "````\n```\n````", id="fences in code"),
        pytest.param("<pre>a", "```\na\n```", id="code that is not closed"),
        pytest.param("<code>a_b</code> <code>`</code>", "`a_b` `` ` ``", id="code in a line"),
        pytest.param(
            "<table><tr><th>A</th><th>B</th></tr><tr><td>1|2</td><td><p>x</p><p>y</p></td></tr>"
            "</table>z",
            "| A | B |\n| --- | --- |\n| 1\\|2 | x y |\n\nz",
            id="a table",
        ),
        pytest.param(
            "<table><tr><td>a</td></tr><tr><td>b</td><td>c</td></tr></table>",
            "| a |  |\n| --- | --- |\n| b | c |",
            id="a table whose first row is short",
        ),
        pytest.param("<td>a</td>", "a", id="a cell without a table"),
        pytest.param(
            "<blockquote><p>a</p><p>b</p></blockquote>c", "> a\n>\n> b\n\nc", id="a quote"
        ),
        pytest.param("a<hr>b", "a\n\n---\n\nb", id="a rule"),
        pytest.param(
            "<a href='https://x.org/a(b)'>a</a>", "[a](<https://x.org/a(b)>)", id="a link"
        ),
        pytest.param("<a href='https://x.org'>https://x.org</a>", "https://x.org", id="a bare one"),
        pytest.param("<a href='javascript:x'>a</a>", "a", id="a link that runs something"),
        pytest.param("<img alt='A sail' src='a.png'>", "A sail", id="a picture's file"),
        pytest.param("<img alt=a src='https://x.org/a'>", "![a](https://x.org/a)", id="a picture"),
        pytest.param("2 * 3, *args, `x`", "2 * 3, \\*args, \\`x\\`", id="marks in a text"),
        pytest.param(
            "<p># a</p><p>1. b</p><p>- c</p>", "\\# a\n\n1\\. b\n\n\\- c", id="at its start"
        ),
        pytest.param("a &lt;b&gt; &amp; c", "a <b> & c", id="entities"),
        pytest.param("a<script>b</script><!-- c -->d", "ad", id="what is not seen"),
        pytest.param("a < b, <!-- c", "a < b,", id="what is not closed"),
        pytest.param("<p title='>'>a</p>", "a", id="a sign in an attribute"),
    ],
)
def test_html_becomes_markdown(source, markdown):
    assert markdown_of(source) == markdown


@given(st.lists(st.sampled_from([*TAGS, *WORDS])))
def test_no_word_is_lost_or_doubled_however_tags_are_nested(pieces):
    source = " ".join(pieces)
    written = Counter(re.findall(r"w\d", source))
    assert Counter(re.findall(r"w\d", markdown_of(source))) == written


@given(st.text(alphabet="ab *`_#-+=>1.)<&|\\[]()~!;\n", max_size=40))
def test_a_plain_text_is_drawn_as_it_was(text):
    drawn = MarkdownIt("commonmark", {"html": False}).render(markdown_of(html.escape(text)))
    shown = html.unescape(re.sub(r"<[^<>]*>", "", drawn))
    assert shown.split() == text.split()

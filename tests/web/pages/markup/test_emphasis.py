import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from smart_context.web.pages.markup.emphasis import enable_cjk_emphasis

_COMMON = MarkdownIt("commonmark").enable("strikethrough")
_FRIENDLY = MarkdownIt("commonmark").enable("strikethrough")
enable_cjk_emphasis(_FRIENDLY)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("这是**“重要”**的事。", "这是<strong>“重要”</strong>的事。"),
        ("他说**注意！**然后走了。", "他说<strong>注意！</strong>然后走了。"),
        ("彼は**「大切」**だと言った。", "彼は<strong>「大切」</strong>だと言った。"),
        ("この**テスト（括弧）**は太字。", "この<strong>テスト（括弧）</strong>は太字。"),
        ("**중요(필수)**합니다.", "<strong>중요(필수)</strong>합니다."),
        ("これは~~（古い）~~新しい。", "これは<s>（古い）</s>新しい。"),
        ("*“斜体”*字", "<em>“斜体”</em>字"),
        ("***“三”***字", "<em><strong>“三”</strong></em>字"),
        (
            "运行**`code`**后**[x](/y)**。",
            '运行<strong><code>code</code></strong>后<strong><a href="/y">x</a></strong>。',
        ),
        ("葛\U000e0100**(a)**字", "葛\U000e0100<strong>(a)</strong>字"),
        ("字\ufe00**(a)**字", "字\ufe00<strong>(a)</strong>字"),
        pytest.param("字 ** 字**", "字 ** 字**", id="a space inside"),
        pytest.param("变量_名_（x）", "变量_名_（x）", id="underscores in a word"),
        pytest.param("🎉**“a”**x", "🎉**“a”**x", id="an emoji is no text"),
    ],
)
def test_marks_beside_cjk_text_are_emphasis(text, shown):
    assert _FRIENDLY.render(text) == f"<p>{shown}</p>\n"


@given(st.text(alphabet="ab *_~“”(.)!é-\n`ж🎉", max_size=30))
def test_other_text_is_drawn_as_before(text):
    assert _FRIENDLY.render(text) == _COMMON.render(text)


@given(st.text(alphabet="字か한、。「」（）“” *_~a", max_size=30))
def test_no_character_is_lost(text):
    shown = re.sub("<[^<>]*>", "", _FRIENDLY.render(text))
    marks = str.maketrans("", "", "*_~ \n")
    assert shown.translate(marks) == text.translate(marks)

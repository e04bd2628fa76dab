import time

import pytest
from pygments.lexers import get_all_lexers

from smart_context.base.processes.child import Child, ChildFailed
from smart_context.web.pages.markup.markdown import (
    LANGUAGES,
    MAX_MARKDOWN_CHARS,
    TOO_LONG,
    Markdown,
    uncoloured,
)
from smart_context.web.pages.markup.message_html import (
    HERE_S,
    QUICK_CHARS,
    MessageHtml,
    unsafe_htmls,
)
from tests.patience import PATIENCE_S

CODE = '```python\ndef f(): "<b>"\n```'
COSTLY_CODE = "```java\n" + "a " * 9_900 + "\n```"
LONG = "Some *words* and `code`.\n\n" * 1_000
HOSTILE = "![" * 100_000


@pytest.fixture(scope="module")
def child():
    with Child(["smart_context.web.pages.markup.message_html", "pygments.lexers"]) as shared:
        yield shared


class StubbornChild:
    """Does no work, for a reason; keeps count of what it was asked."""

    def __init__(self, reason="slow", answer=None):
        self.reason = reason
        self.answer = answer
        self.asked = []

    def run(self, _work, text, is_coloured, *, deadline_s, wait_s):
        self.asked.append((text, is_coloured))
        if self.answer is not None:
            return self.answer
        raise ChildFailed(self.reason, "it takes too long")


@pytest.mark.parametrize("text", ["*a*", CODE, LONG, ""], ids=["short", "code", "long", "empty"])
def test_a_message_looks_the_same_wherever_it_is_rendered(child, text):
    assert MessageHtml(child).for_page()(text) == Markdown().render(text)


def test_a_page_of_costly_messages_takes_the_server_no_longer_than_a_few_of_them(child):
    head = "|" + "a|" * 50 + "\n|" + "-|" * 50 + "\n"
    table = head + ("|" + "*a*|" * 50 + "\n") * ((QUICK_CHARS - len(head) - 50) // 202)
    began = time.thread_time()
    Markdown(uncoloured).render(table)
    one_s = time.thread_time() - began
    messages = MessageHtml(child)
    render = messages.for_page()
    texts = [f"{table}\n\n{number}" for number in range(30)]
    began = time.thread_time()
    shown = [render(text) for text in texts]
    # What the child makes is cleaned here, which takes a fifth.
    assert time.thread_time() - began < HERE_S + one_s * len(texts) / 2
    assert all("<td" in each or TOO_LONG in each for each in shown)


def test_what_would_take_the_server_too_long_is_given_to_the_child(monkeypatch):
    monkeypatch.setattr("smart_context.web.pages.markup.message_html.HERE_S", 0.0)
    child = StubbornChild(answer="<p>made there</p>")
    render = MessageHtml(child).for_page()
    assert render("some *words*") == "<p>made there</p>"
    assert child.asked == [("some *words*", False)]


def test_every_language_has_its_colours_where_no_file_can_be_opened(child):
    texts = [f"```{name}\nx = 'a'  # 1\nif (x) {{ return 1; }}\n```" for name in sorted(LANGUAGES)]
    made = child.run(unsafe_htmls, texts, deadline_s=PATIENCE_S)
    assert made == [Markdown().unsafe(text) for text in texts]


@pytest.mark.parametrize("text", [CODE, LONG], ids=["code", "a long message"])
def test_a_formula_beside_what_the_child_renders_is_drawn(child, text):
    made = MessageHtml(child).for_page()(f"{text}\n\nSo $\\sqrt{{a}}$ is it.")
    assert ("<msqrt>" in made, 'class="k"' in made) == (True, text is CODE)


def test_code_that_is_too_costly_has_no_colours_and_the_next_has(child):
    render = MessageHtml(child).for_page()
    costly = render(COSTLY_CODE)
    assert '<div class="code" data-language="java"' in costly
    assert "<span" not in costly
    assert '<span class="k">def</span>' in render(CODE)


def test_once_two_messages_were_too_costly_no_other_is_tried_on_this_page():
    child = StubbornChild()
    messages = MessageHtml(child)
    render = messages.for_page()
    texts = [f"{CODE}\n{number}" for number in range(4)]
    for text in texts:
        assert "def f" in render(text)
    assert [text for text, _ in child.asked] == texts[:2]

    child.asked.clear()
    render = messages.for_page()
    for text in texts:
        render(text)
    assert [text for text, _ in child.asked] == texts[2:]


def test_a_long_message_that_is_too_costly_is_plain_and_says_so():
    shown = MessageHtml(StubbornChild()).for_page()(HOSTILE[:100_000])
    assert shown.startswith(f'<p class="unformatted">{TOO_LONG}</p><div class="plain"')
    assert HOSTILE[:100_000] in shown


def test_a_message_that_is_longer_than_any_is_plain_and_says_so():
    shown = MessageHtml(StubbornChild()).for_page()("<b>" * MAX_MARKDOWN_CHARS)
    assert TOO_LONG in shown
    assert "<b>" not in shown


def test_when_the_time_of_a_page_is_over_the_rest_is_plain_until_the_next_page(child):
    messages = MessageHtml(child, page_s=0)
    assert TOO_LONG in messages.for_page()("*a*")
    messages.page_s = 60
    assert "<em>a</em>" in messages.for_page()("*a*")


@pytest.mark.parametrize("reason", ["busy", "stopped"])
def test_what_is_not_the_fault_of_a_message_is_not_remembered(child, reason):
    messages = MessageHtml(StubbornChild(reason))
    assert "<span" not in messages.for_page()(CODE)
    assert TOO_LONG in messages.for_page()(LONG)
    messages.child = child
    assert '<span class="k">def</span>' in messages.for_page()(CODE)
    assert TOO_LONG not in messages.for_page()(LONG)


def test_the_code_of_a_page_is_coloured_together(child):
    messages = MessageHtml(child)
    texts = [f"{CODE}\n\n{number}" for number in range(9)]
    messages.expect([*texts, "*a*", CODE + "a" * 150_000])
    messages.child = StubbornChild()
    for text in texts:
        assert messages.for_page()(text) == Markdown().render(text)
    assert not messages.child.asked
    assert messages.known("*a*") is None


def test_one_costly_message_does_not_take_the_colours_of_others(child):
    messages = MessageHtml(child)
    messages.expect([CODE, COSTLY_CODE])
    render = messages.for_page()
    assert "<span" not in render(COSTLY_CODE)
    assert '<span class="k">def</span>' in render(CODE)


def test_nothing_that_a_child_says_reaches_the_page_as_it_is():
    child = StubbornChild(answer='<script>x</script><p onclick="x">a</p>')
    assert MessageHtml(child).for_page()(CODE) == "<p>a</p>"


def test_what_is_remembered_has_bounds():
    messages = MessageHtml(None)
    texts = [f"{number}" + "a" * 8_000_000 for number in range(6)]
    for text in texts:
        messages.remember(text, "")
    assert messages.known(texts[0]) is None
    assert messages.known(texts[-1]) == ""


def test_every_language_that_is_coloured_has_a_lexer():
    known = {alias for _, aliases, _, _ in get_all_lexers(plugins=False) for alias in aliases}
    assert known >= LANGUAGES

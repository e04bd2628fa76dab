import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smart_context.web.pages.markup.footnotes import with_ids
from smart_context.web.pages.markup.markdown import Markdown

WHOLE = Markdown()
PART = Markdown(in_part=True)
_IDS = re.compile(r' id="([^"]*)"')
_PLACES = re.compile(r' href="#([^"]*)"')


def _shown(text, name="m"):
    return with_ids(WHOLE.render(text), name)


def _words(shown):
    return " ".join(re.sub("<[^<>]*>", " ", shown).split())


def test_a_note_stands_below_the_text_and_each_leads_to_the_other():
    shown = _shown("Rain[^1] and snow[^s].\n\n[^s]: Cold.\n[^1]: **Wet**,\n    often.\n")
    assert _words(shown) == "Rain 1 and snow 2 . Wet , often. ↩ Cold. ↩"
    assert _IDS.findall(shown) == ["fnref-m-0-0", "fnref-m-1-0", "fn-m-0", "fn-m-1"]
    assert _PLACES.findall(shown) == ["fn-m-0", "fn-m-1", "fnref-m-0-0", "fnref-m-1-0"]


def test_a_note_that_is_referred_to_twice_leads_back_to_both():
    shown = _shown("a[^1] b[^1]\n\n[^1]: n")
    assert _PLACES.findall(shown) == ["fn-m-0", "fn-m-0", "fnref-m-0-0", "fnref-m-0-1"]
    assert len(set(_IDS.findall(shown))) == 3


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param("[^1]: alone", "alone", id="a note without a reference"),
        pytest.param("a[^1]\n\n[^2]: b", "a[^1] b", id="a reference without a note"),
        pytest.param("`[^1]` [^1]\n\n[^1]: n", "[^1] 1 n ↩", id="in code"),
        pytest.param("a[^ 1] ^[b]\n\n[^1]: n", "a[^ 1] ^[b] n", id="what is no reference"),
    ],
)
def test_no_text_is_lost(text, words):
    assert _words(_shown(text)) == words


def test_two_texts_on_a_page_have_no_id_in_common():
    text = "a[^1] b[^1]\n\n[^1]: n"
    ids = [*_IDS.findall(_shown(text, "a-1")), *_IDS.findall(_shown(text, "a"))]
    assert len(ids) == len(set(ids)) == 6


def test_a_name_can_not_leave_its_attribute():
    shown = _shown("a[^1]\n\n[^1]: n", 'x" onclick="y <b>')
    assert "onclick=" not in shown
    assert "<b>" not in shown
    assert _IDS.findall(shown)[0] == "fnref-x%22%20onclick%3D%22y%20%3Cb%3E-0-0"


def test_what_looks_like_a_note_in_a_text_gets_no_id():
    text = '`<a data-footnote="ref-1-1">` [x](https://a.b "<a data-footnote=\'ref-1-1\'")'
    assert _shown(text) == WHOLE.render(text)


def test_while_an_answer_grows_its_parts_are_drawn_as_the_whole_will_be():
    assert _words(PART.render("Rain[^2] fell.")) == "Rain 2 fell."
    assert _words(PART.render("[^2]: Wet.")) == "Wet."
    assert 'value="2"' in PART.render("[^2]: Wet.")
    assert "href" not in PART.render("Rain[^2] fell.\n\n[^2]: Wet.")


_PIECES = [
    "[^1]",
    "[^a]",
    "[^1]: ",
    "\n\n",
    "\n",
    "    ",
    "x",
    "<script>",
    '"',
    "> ",
    "- ",
    "|",
    "`",
]


@given(st.lists(st.sampled_from(_PIECES), max_size=20).map("".join))
def test_ids_are_unique_and_links_lead_to_them(text):
    shown = _shown(text)
    ids = _IDS.findall(shown)
    assert len(ids) == len(set(ids))
    assert "<script" not in shown
    assert {place for place in _PLACES.findall(shown) if place.startswith("fn-")} <= set(ids)

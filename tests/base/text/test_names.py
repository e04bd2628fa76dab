import json
import re
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from smart_context.base.text.names import (
    MAX_NAME,
    encodable,
    json_shown,
    lines_shown,
    one_line,
    shown,
)

SOME_TEXT = st.text(max_size=40) | st.text(
    alphabet="a \t\n\r\x00\x1b[2J\x7f\x9b\u200d\u200e\u202e\u2066\u0301\ufe0f\ue000\U000e0041😀م"
    "\ud800"
)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        pytest.param("a\nb\tc", r"a\nb\tc", id="line ends and tabs"),
        pytest.param("\x1b[31mred\x07", r"\x1b[31mred\x07", id="what a terminal obeys"),
        pytest.param("\x9b31m", r"\x9b31m", id="the same in one character"),
        pytest.param("a\u202egnp.exe", r"a\u202egnp.exe", id="a name that runs backwards"),
        pytest.param("a\u200e\u200f\u061c.md", r"a\u200e\u200f\u061c.md", id="marks of direction"),
        pytest.param("שלום\u200f.md", "שלום\\u200f.md", id="also in Hebrew: a name needs none"),
        pytest.param("a\u200b\ufeff\u2060b", r"a\u200b\ufeff\u2060b", id="nothing to be seen"),
        pytest.param("a\u200c\u200db", r"a\u200c\u200db", id="a run of joiners"),
        pytest.param("\u115f\u1160\u3164\uffa0", r"\u115f\u1160\u3164\uffa0", id="fillers"),
        pytest.param("a\U000e0041\ufe0f", r"a\U000e0041\ufe0f", id="tags and selectors"),
        pytest.param("\ue000\U000f0000", r"\ue000\U000f0000", id="private use"),
        pytest.param("a\ufffe\ufdd0", r"a\ufffe\ufdd0", id="no characters"),
        pytest.param("caf\udce9", r"caf\udce9", id="no UTF-8"),
        pytest.param("a" + "\u0301" * 7, "a" + "\u0301" * 4 + r"\u0301" * 3, id="a flood of marks"),
        pytest.param("a" + "\u20dd" * 5, "a" + "\u20dd" * 4 + r"\u20dd", id="of marks around it"),
        pytest.param("a\u2028b\u2029c", r"a\u2028b\u2029c", id="other ends of lines"),
        pytest.param("a\u200bé", r"a\u200bé", id="a letter after what can't be seen"),
        pytest.param("a\u0378", "a\u0378", id="a character of a newer Unicode version"),
        pytest.param("a\uffff\U0001ffff\ufdef", r"a\uffff\U0001ffff\ufdef", id="noncharacters"),
        pytest.param("\u0301a", r"\u0301a", id="a mark for the text before the name"),
        pytest.param(" a ", r"\x20a\x20", id="spaces at the ends"),
        pytest.param("a\u00a0\u3000", r"a\xa0\u3000", id="other spaces at the end"),
        pytest.param("   ", r"\x20\x20\x20", id="only spaces"),
        pytest.param("", "", id="nothing"),
    ],
)
def test_what_is_dangerous_in_a_name_is_escaped(name, expected):
    assert shown(name) == expected


@pytest.mark.parametrize(
    "name",
    [
        "Übersicht (neu) – 50 %.md",
        "日本語のノート　２.md",
        "می\u200cخواهم.md",
        "क्\u200dष.md",
        "שלום עולם.md",
        "👩\u200d💻 ❤\ufe0f 🏴\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f.md",
        unicodedata.normalize("NFD", "Tiếng Việt.md"),
        "Screenshot at 9.41\u202fAM.png",
        r"back\slash",
    ],
)
def test_names_in_all_languages_stay_as_they_are(name):
    assert shown(name) == name
    assert lines_shown(name) == name


def test_the_middle_of_a_very_long_name_is_left_out_unless_the_name_is_the_result():
    name = "b" * 3_000 + ".md"
    assert len(shown(name)) == MAX_NAME
    assert re.fullmatch(r"b+…b+\.md", shown(name))
    assert shown(name, limit=None) == name
    assert shown("b" * MAX_NAME) == "b" * MAX_NAME
    assert shown("".join(map(str, range(10))), limit=9) == "01234…789"


@given(SOME_TEXT)
def test_a_shown_name_is_one_line_that_can_be_encoded_and_hides_nothing(name):
    text = shown(name, limit=None)
    text.encode()
    assert not re.search("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]", text)
    assert text == text.strip()
    assert shown(text, limit=None) == text


@example("\x1b\u200e\u05d0")
@given(SOME_TEXT)
def test_a_text_keeps_its_lines_and_tabs_and_nothing_that_a_terminal_obeys(text):
    visible = lines_shown(text)
    visible.encode()
    assert visible.count("\n") == text.count("\n")
    assert visible.count("\t") == text.count("\t")
    assert not re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e]|\r(?!\n)", visible)
    assert lines_shown(visible) == visible


def test_each_of_several_hidden_characters_is_shown():
    assert lines_shown("é\u200b\u200bb\u2060") == "é\\u200b\\u200bb\\u2060"


def test_what_is_hidden_in_a_text_is_shown_and_what_shapes_its_words_stays():
    assert lines_shown("می\u200cخواهم\r\n\ta\u200bb\x1b[1A") == (
        "می\u200cخواهم\r\n\ta\\u200bb\\x1b[1A"
    )


@given(SOME_TEXT)
def test_json_says_the_same_and_can_be_encoded(text):
    written = json_shown(json.dumps({text: [text]}, ensure_ascii=False))
    written.encode()
    assert json.loads(written) == {text: [text]}
    assert not re.search("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", written)


def test_a_sentence_is_one_line_and_is_not_cut():
    assert one_line(" a\nb " + "c" * 1_000) == " a\\nb " + "c" * 1_000


def test_a_path_that_is_no_utf8_can_stand_in_json():
    written = json.dumps(encodable("caf\udce9 é"), ensure_ascii=False)
    assert written.encode().decode() == '"caf\\\\udce9 é"'

"""Word pieces, against ids that the `tokenizers` library gave for the same texts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smart_context.llm.minilm import files
from smart_context.llm.offline.wordpiece import WordPiece

VOCABULARY = files.read_checked(files.FOLDER, files.VOCABULARY).decode().split("\n")[:-1]
PIECES = WordPiece(VOCABULARY)


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        pytest.param("", [], id="empty"),
        pytest.param(" \n\t ", [], id="white space only"),
        pytest.param("The quick brown fox", [1996, 4248, 2829, 4419], id="plain words"),
        pytest.param(
            "don't_stop x=1;y+=2",
            [2123, 1005, 1056, 1035, 2644, 1060, 1027, 1015, 1025, 1061, 1009, 1027, 1016],
            id="punctuation stands alone",
        ),
        pytest.param(
            "Überraschung für Zoë im Café İstanbul",
            [19169, 8180, 20760, 3070, 6519, 11199, 10047, 7668, 9960],
            id="accents are stripped",
        ),
        pytest.param(
            "a\x00b\x0bc\u200bd\xa0e\u2028f\tg",
            [5925, 2094, 1041, 1042, 1043],
            id="controls vanish, white space of every kind parts",
        ),
        pytest.param(
            "机器学习 and 〇々",
            [100, 100, 1817, 100, 1998, 100],
            id="ideographs stand alone",
        ),
        pytest.param("豈 x", [100, 1060], id="compatibility ideographs stand alone"),
        pytest.param(
            "こんにちは",
            [1655, 30217, 30194, 30188, 30198],
            id="kana",
        ),
        pytest.param(
            "안녕 하세요",
            [1463, 30006, 30021, 29992, 30010, 30025, 1469, 30006, 29997, 30009, 29999, 30013],
            id="hangul falls into its letters",
        ),
        pytest.param(
            "Привет, Ωμέγα",
            [1194, 16856, 10325, 25529, 15290, 22919, 1010, 1179, 29728, 29723, 29721, 14608],
            id="cyrillic and greek",
        ),
        pytest.param(
            "مرحبا नमस्ते",
            [1295, 17149, 29820, 29816, 25573, 1327, 29867, 29874, 29859],
            id="arabic and devanagari",
        ),
        pytest.param("done 🎉👩\u200d💻", [2589, 100], id="emoji are unknown"),
        pytest.param("a\U0001bf2ab", [100], id="an unassigned character stays"),
        pytest.param("b" * 100, [22861] + [10322] * 49, id="100 letters are split"),
        pytest.param("b" * 101 + " x", [100, 1060], id="101 letters are unknown"),
        pytest.param(
            "def f(x): return x**2  # ½ \ufb01",
            [13366, 1042, 1006, 1060, 1007, 1024, 2709, 1060, 1008, 1008, 1016, 1001, 1092, 1984],
            id="code",
        ),
    ],
)
def test_ids_are_those_of_the_tokenizers_library(text, ids):
    assert PIECES.ids(text) == ids


def test_control_tokens_in_a_text_are_ordinary_text():
    assert PIECES.ids("[SEP]") == PIECES.ids("[") + PIECES.ids("sep") + PIECES.ids("]")


@given(st.text(st.characters(codec=None, categories=None)))
def test_any_text_gives_ids_of_the_vocabulary(text):
    assert all(0 <= piece < len(VOCABULARY) for piece in PIECES.ids(text))

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smart_context.base.text.unicode_tables import normal_pieces, normalized

FORMS = ("NFC", "NFKC")
TEXTS = st.text(
    st.sampled_from("ae\u0301\u0327\u1100\u1161\u11a8\u304b\u3099\uff76\uff9e\u3131\u314f\ufdfa")
)
BORDERS = ["a ", "\n", "数据库", "。", "\u3000"]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("border", BORDERS)
@given(text=TEXTS)
def test_a_long_text_has_the_normal_form_of_the_whole(form, border, text):
    long = f"{text}{border}" * 40 + f"{text}{border}" * (1_500 // (len(text) + 1))
    assert normalized(form, long) == unicodedata.normalize(form, long)


@pytest.mark.parametrize("border", [*" \t\n\r\x0b\x0c\x1c\x85\xa0\u2003\u2028\u3000、一龥"])
def test_a_text_may_be_cut_at(border):
    for form in FORMS:
        long = f"e\u0301{border}" * 800
        assert normalized(form, long) == unicodedata.normalize(form, long)


def test_no_piece_is_long():
    accents = "\u0315\u0300" * 5_000
    assert max(map(len, normal_pieces("NFC", accents))) <= 1_000

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smart_context.relevance.evidence.lexical import forms_of

CODES = ["de", "fr", "es", "it", "pt", "nl", "pl", "ru", "tr", "ar", "he", "hi", "sv", ""]


@pytest.mark.parametrize(
    ("language", "word", "text"),
    [
        ("pl", "lizbona", "co zobaczyć w lizbonie?"),
        ("pl", "kawa", "dwie kawy"),
        ("ru", "собеседование", "после собеседования"),
        ("tr", "makinesi", "kahve makinem bozuldu"),
        ("de", "gitarre", "neue gitarrensaiten"),
        ("he", "ליסבון", "טסים לליסבון"),
        ("he", "הטלפון", "טלפון חדש"),
        ("ar", "القهوة", "كيف أعد قهوتي"),
        ("ar", "قهوة", "فنجان من القهوة"),
    ],
)
def test_a_word_is_found_in_another_form(language, word, text):
    shared, pattern = forms_of(word, language)
    assert shared in text
    assert len(pattern.findall(text)) == 1


@pytest.mark.parametrize(
    ("language", "word", "text"),
    [
        ("de", "hochzeit", "die hochschule"),
        ("pl", "kawa", "kawaler"),
        ("tr", "ekran", "ekmek aldım"),
        ("it", "cane", "mi piacciono le canzoni"),
        ("es", "casa", "vamos de cacería"),
    ],
)
def test_another_word_is_no_form(language, word, text):
    _, pattern = forms_of(word, language)
    assert not pattern.search(text)


@given(
    st.text(st.characters(categories=["Ll", "Lo"]), min_size=1, max_size=12),
    st.sampled_from(CODES),
)
def test_each_word_is_a_form_of_itself(word, language):
    forms = forms_of(word, language)
    assert forms is None or forms[1].search(f"({word})")


def test_english_words_have_no_forms_here():
    assert forms_of("migration", "en") is None
    assert forms_of("migration", "") is None

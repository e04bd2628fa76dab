import pytest
from hypothesis import given
from hypothesis import strategies as st

from smart_context.llm.word_pieces import pieces_of, without_accents


@pytest.mark.parametrize(
    ("word", "pieces"),
    [
        ("bread", 1),
        ("Bread", 1),
        ("Kowalczyk", 4),
        ("aufgeräumt", 4),
        ("q", 1),
        ("zzzz", 1),
        ("mnbvc", 3),
    ],
)
def test_common_english_words_are_whole_and_others_are_not(word, pieces):
    assert pieces_of(word.translate(without_accents())) == pieces


@given(st.text("abcdefghijklmnopqrstuvwxyzABC", min_size=1))
def test_a_word_has_a_piece_and_no_more_than_letters(word):
    assert 1 <= pieces_of(word) <= len(word)


def test_letters_lose_their_accents_and_nothing_else():
    assert "Łódź, Ærø, İzmir, thứ bảy, ×÷".translate(without_accents()) == (
        "Lodz, Aro, Izmir, thu bay, ×÷"
    )

"""The tokenizer of the multilingual model."""

import pytest

from smart_context.llm.multilingual.unigram import Unigram

PIECES = [
    "<s>",
    "<pad>",
    "</s>",
    "<unk>",
    "▁",
    "▁ein",
    "horn",
    "▁einhorn",
    "h",
    "o",
    "r",
    "n",
    "▁:",
]
SCORES = [0, 0, 0, 0, -2, -3, -3, -5, -6, -6, -6, -6, -4]


@pytest.fixture
def pieces():
    return Unigram(PIECES, SCORES, prefix=":")


def test_the_likeliest_division_wins(pieces):
    assert pieces.ids("einhorn") == [7]  # -5, where ein + horn has -6
    assert pieces.ids("ein horn") == [5, 4, 6]


def test_what_no_piece_has_is_unknown(pieces):
    assert pieces.ids("einé") == [5, pieces.unknown]


@pytest.mark.parametrize("text", ["", "  \n\t"])
def test_blank_text_has_no_piece(pieces, text):
    assert pieces.ids(text) == []


def test_full_width_letters_and_white_space_do_not_matter(pieces):
    assert pieces.ids("  ｅｉｎ\n") == pieces.ids("ein")


def test_a_text_stands_between_the_prefix_and_the_end(pieces):
    assert pieces.framed([5]) == (0, 12, 5, 2)


def test_control_tokens_in_a_text_are_ordinary_text(pieces):
    assert not {0, 1, 2} & set(pieces.ids("<s> </s> <pad>"))


def test_a_word_of_a_megabyte_is_divided_in_parts(pieces):
    assert len(pieces.ids("horn" * 250_000)) > 100_000

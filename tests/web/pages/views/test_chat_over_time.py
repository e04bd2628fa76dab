"""A picture of a chat over time."""

import pytest

from smart_context.web.pages.views.turn_view import (
    HEIGHT,
    LEAST,
    LEAST_COLUMN,
    chat_over_time,
)


def turn(tokens, left_out_tokens=0, *, was_sent=True):
    return {"tokens": tokens, "left_out_tokens": left_out_tokens, "was_sent": was_sent}


def test_the_oldest_turn_comes_first_and_the_dearest_fills_the_height():
    picture = chat_over_time([turn(25, 75), turn(50)])
    older, newer = picture.columns
    assert (older.sent, older.left_out) == (HEIGHT / 2, 0)
    assert newer.sent + newer.left_out == HEIGHT
    assert (older.x, newer.x) == (0, picture.column)
    assert (picture.tokens, picture.whole, picture.less) == (75, 150, 50)


@pytest.mark.parametrize("turns", [0, 1, 20, 200])
def test_columns_fill_the_picture_and_can_be_hit(turns):
    picture = chat_over_time([turn(0)] * turns)
    assert picture.width == picture.column * turns
    assert picture.column >= LEAST_COLUMN
    assert all(column.sent == LEAST for column in picture.columns)


def test_a_turn_that_sent_nothing_counts_nothing():
    picture = chat_over_time([turn(25, 75), turn(900, 300, was_sent=False)])
    assert (picture.tokens, picture.whole) == (25, 100)
    unsent, sent = picture.columns
    assert (unsent.sent, unsent.left_out) == (0, 0)
    assert sent.sent + sent.left_out == picture.height

"""What a search in chats shows."""

import pytest

from smart_context.chat.listed.search import marked, query_words


@pytest.mark.parametrize(
    ("text", "query", "found"),
    [
        pytest.param("Cats and cats", "CATS", ["Cats", "cats"], id="each time, in any case"),
        pytest.param("cats or boats", "boats cats", ["cats", "boats"], id="each word"),
        pytest.param("die Straße", "strasse", ["Straße"], id="a letter that folds into two"),
        pytest.param("cafe\u0301 au lait", "café", ["cafe\u0301"], id="an accent of its own"),
        pytest.param("东京与京都", "京都", ["京都"], id="no spaces"),
        pytest.param("nothing", "cats", [], id="none"),
    ],
)
def test_what_was_searched_for_is_marked(text, query, found):
    pieces = marked(text, query_words(query))
    assert [piece for piece, is_found in pieces if is_found] == found
    assert "".join(piece for piece, _ in pieces) == text

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smart_context.base.text.words import content_words
from smart_context.relevance.evidence.lexical import ChatWords
from tests.relevance.doubles import messages_saying


def shares(texts, *queries):
    words = ChatWords()
    words.place(messages_saying(*texts))
    return words.shares(queries)


WORDS = st.lists(st.sampled_from(["database", "garden", "python", "the"]), max_size=4)
CHATS = st.lists(WORDS.map(" ".join), max_size=6)


@given(st.lists(CHATS, min_size=1, max_size=4))
def test_what_was_looked_up_before_never_changes_what_is_found(chats):
    words = ChatWords()
    for texts in chats:
        words.place(messages_saying(*texts))
        found = words.shares(["Garden Database", "Python"])
        np.testing.assert_array_equal(found, shares(texts, "Garden Database", "Python"))
        np.testing.assert_array_equal(words.lengths, [len(text) for text in texts])
        assert words.is_ready(messages_saying(*texts), ["Garden Database"])


def test_messages_with_a_question_mark_of_any_script_ask():
    words = ChatWords()
    words.place(messages_saying("why?", "so", "为什么？", "لماذا؟"))
    assert words.asks.tolist() == [1, 0, 1, 1]
    words.place(messages_saying("why?", "so?"))
    assert words.asks.tolist() == [1, 1]


def test_words_are_looked_up_only_in_messages_that_are_new():
    words = ChatWords()
    messages = messages_saying("a garden", "a database", "one more garden")
    words.place(messages[:2])
    words.shares(["Garden"])
    assert not words.is_ready(messages, ["Garden"])
    words.place(messages)
    words.shares(["Garden"])
    assert words.is_ready(messages, ["Garden"])
    assert words.is_ready(messages[:2], ["Garden"])
    assert not words.is_ready(messages, ["Database"])


def test_a_message_with_all_words_beats_one_with_some_and_none_gives_nothing():
    (row,) = shares(["database migration plan", "the database", "sourdough"], "Database Migration")
    assert row[0] > row[1] > row[2] == 0
    assert row.max() <= 1


def test_rare_words_weigh_more():
    (row,) = shares(["python code", "python tests", "python docs", "asyncio"], "Python Asyncio")
    assert row[3] > row[0]


@pytest.mark.parametrize(
    "query", ["", "the of and", "zzz"], ids=["empty", "stop words only", "an unknown word"]
)
def test_a_query_without_matching_content_gives_zeros(query):
    assert not shares(["some text", "more"], query).any()


def test_no_messages_and_no_queries_give_empty_shapes():
    assert shares([], "a label").shape == (1, 0)
    assert shares(["a"]).shape == (0, 1)


@pytest.mark.parametrize(
    ("query", "text"),
    [
        pytest.param("Migrations", "we are migrating it", id="another form of the word"),
        pytest.param("user name", "call getUserName() first", id="a part of an identifier"),
        pytest.param("数据库", "优化数据库查询", id="Chinese"),
        pytest.param("l'authentification", "authentification des clients", id="a French article"),
        pytest.param("C++", "rewrite it in c++", id="a word with signs"),
        pytest.param("ＡＳＣＩＩ", "ascii art", id="full-width letters"),
    ],
)
def test_words_meet_across(query, text):
    assert shares([text, "nothing of the kind"], query)[0, 0] > 0


def test_a_word_inside_another_word_is_no_match():
    assert not shares(["the hearth is warm"], "Art").any()


@given(
    st.lists(st.text("aAbse ing_yd'-\u4e2d\u6587.", max_size=20), max_size=5),
    st.text("aAbse ing_yd'\u4e2d\u6587.", max_size=12),
)
def test_lookup_misses_no_word_that_taking_texts_apart_finds(texts, query):
    words = ChatWords()
    words.place(messages_saying(*texts))
    for word in content_words(query):
        positions, _ = words._lookup(word)
        assert {i for i, text in enumerate(texts) if word in content_words(text)} <= {*positions}


@given(
    st.lists(st.sampled_from(["tax law", "tax", "bike", "the", ""]), max_size=8),
    st.integers(0, 8),
    st.booleans(),
)
def test_words_kept_warm_give_the_same_as_rebuilt_words(texts, first, is_edited):
    warm = ChatWords()
    before = ["edited", *texts[1:first]] if is_edited else texts[:first]
    warm.place(messages_saying(*before))
    warm.shares(["tax", "bike tax"])
    warm.place(messages_saying(*texts))
    np.testing.assert_array_equal(
        warm.shares(["tax", "bike tax"]), shares(texts, "tax", "bike tax")
    )
    assert warm.lengths.tolist() == [len(text) for text in texts]

import pytest

from smart_context.topics.naming.words import (
    NUMBER,
    TokenKind,
    grammars,
    plain_text,
    runs_of,
    tokens_of,
)


def naming(code, text):
    tokens = tokens_of(plain_text(text, 999), grammars()[code])
    return [" ".join(token.text for token in tokens[a:b]) for a, b in runs_of(tokens)]


@pytest.mark.parametrize(
    ("code", "text", "expected"),
    [
        pytest.param("en", "the solar panels on our roof", ["solar panels", "roof"], id="runs"),
        pytest.param("en", "leaf; stem (root) bud", ["leaf", "stem", "root", "bud"], id="marks"),
        pytest.param("en", "C++ and C# and node.js.", ["C++", "C#", "node.js"], id="inner signs"),
        pytest.param("en", "runner\u2019s knee", ["runner's knee"], id="curly apostrophes"),
        pytest.param("fr", "l'hiver et l\u2019autonomie", ["hiver", "autonomie"], id="elisions"),
        pytest.param("it", "un'auto sull'Etna", ["auto", "Etna"], id="Italian elisions"),
        pytest.param("en", "```\ncode here\n``` bread", ["bread"], id="no code"),
        pytest.param("en", "bread ```code that never ends", ["bread"], id="no open code"),
        pytest.param("en", "Postgres数据库 index", ["Postgres", "index"], id="other scripts part"),
        pytest.param("en", "", [], id="nothing"),
    ],
)  # fmt: skip
def test_words_that_may_name_something(code, text, expected):
    assert naming(code, text) == expected


def test_a_french_question_shows_its_verb():
    verbs = [t.text for t in tokens_of("Existe-t-il une aide ?", grammars()["fr"]) if t.is_verb]
    assert verbs == ["Existe"]


def test_numbers_are_all_the_same():
    tokens = tokens_of("3.11 or 20kg", grammars()["en"])
    assert [t.text for t in tokens if t.lower == NUMBER] == ["3.11", "20kg"]


def test_every_text_begins_and_ends_with_breaks():
    tokens = tokens_of("bread", grammars()["en"])
    assert [t.kind for t in tokens] == [
        *[TokenKind.BREAK] * 2,
        TokenKind.NAMING,
        *[TokenKind.BREAK] * 2,
    ]


def test_of_a_long_text_the_beginning_is_read():
    assert plain_text("a word and more", 6) == "a word"

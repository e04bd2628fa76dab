import pytest

from smart_context.topics.keyphrases import phrases_of
from smart_context.topics.keywords import keywords_of


def phrases(*texts):
    return {phrase.text for phrase in phrases_of(texts, range(len(texts)))}


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        pytest.param(
            ["the tomato leaves"],
            {"tomato", "leaves", "tomato leaves"},
            id="runs between stop words",
        ),
        pytest.param(["tomato, leaves"], {"tomato", "leaves"}, id="not across a comma"),
        pytest.param(["use Python 3.11"], {"Python"}, id="no numbers"),
        pytest.param(
            ["node.js server"], {"node.js", "server", "node.js server"}, id="inner points"
        ),
        pytest.param(["see `foo_bar` https://x.y/z"], set(), id="no code and no addresses"),
        pytest.param(["数据库迁移", "数据库优化"], {"数据库"}, id="Chinese: the longest repeated"),
        pytest.param(["数据库"], set(), id="Chinese: nothing that was said once"),
        pytest.param(["", "the of and"], set(), id="nothing"),
    ],
)
def test_phrases_that_could_name_a_topic(texts, expected):
    assert phrases(*texts) == expected


def test_forms_of_a_phrase_are_one_by_its_commonest_spelling():
    (phrase,) = phrases_of(["the Migrations", "a migration", "the migration"], range(3))
    assert phrase.text == "migration"
    assert phrase.places == {0, 1, 2}


def test_only_the_places_asked_for_are_read():
    assert {p.text for p in phrases_of(["tomato", "bike"], [1])} == {"bike"}


def test_keywords_set_a_group_apart_from_the_others():
    texts = ["tax return form", "tax form", "bike form", "bike tour form"]
    first, second, none = keywords_of(texts, [[0, 1], [2, 3], []])
    assert first[0] == "tax"
    assert second[0] == "bike"
    assert first[-1] == second[-1] == "form"
    assert none == ()


def test_keywords_are_at_most_as_many_as_asked_for_and_one_of_each_word():
    (found,) = keywords_of(["user users user's guitar", "users chord"], [[0, 1]], most=2)
    assert len(found) == 2
    assert found[0] == "user"

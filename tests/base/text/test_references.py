import pytest

from smart_context.base.text.references import refers_back


@pytest.mark.parametrize(
    "text",
    [
        "And the second one?",
        "What about luggage?",
        "How much does it cost?",
        "Why?",
        "Tell me more.",
        "Which of them is cheaper?",
        "Und wie lange dauert das?",
        "Was kostet diese Karte?",
        "Et pourquoi ?",
        "¿Y cuánto cuestan esos?",
        "那么第二个呢？",
        "它多少钱？",
    ],
)
def test_a_message_that_continues_or_points_refers_back(text):
    assert refers_back(text)


def test_a_message_of_160_characters_is_short():
    assert refers_back("And then?".ljust(160, "."))
    assert not refers_back("And then?".ljust(161, "."))


@pytest.mark.parametrize(
    "text",
    [
        "How do I hash passwords in Python?",
        "Android or iPhone for a child?",
        "Why do cats purr?",
        "Wie lange muss Hefeteig gehen?",
        "我打算十月去北京旅行五天。",
        "",
        "It rained. " * 40,
    ],
)
def test_a_message_that_stands_by_itself_or_is_long_does_not(text):
    assert not refers_back(text)

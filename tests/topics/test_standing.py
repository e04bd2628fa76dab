import pytest

from smart_context.chat.messages import Message
from smart_context.topics.standing import is_standing, standing_instructions

STANDING = [
    "Hi, for this whole chat please answer in British English and keep code in Python 3.11.",
    "From now on, use metric units.",
    "be concise",
    "Always be concise.",
    "Please keep your answers short.",
    "Always use type hints in code.",
    "Never suggest paid tools.",
    "Please always cite your sources.",
    "Answer in bullet points only, please.",
    "Reply in German.",
    "Don't use emojis.",
    "No jargon please.",
    "I'm allergic to peanuts.",
    "Call me Sam.",
    "Remember that I am a beginner.",
    "Keep in mind that I live in Norway.",
    "In all your answers give an example.",
    "You are a strict code reviewer.",
    "Going forward, assume Python 3.12.",
    "I prefer short answers.",
    "Bitte antworte ab jetzt immer auf Deutsch und duze mich.",
    "Antworte kurz.",
    "Fasse dich kurz.",
    "In diesem Chat bitte keine Fachwörter.",
    "Réponds toujours en français.",
    "Désormais, sois bref.",
    "Responde siempre en español.",
    "De ahora en adelante usa ejemplos.",
    "Sé breve.",
    "D'ora in poi rispondi in italiano.",
    "A partir de agora responda em português.",
    "Antwoord altijd in het Nederlands.",
    "Отвечай всегда по-русски.",
    "请在这次对话里一直用简体中文回答，并且尽量简短。",
    "从现在起请用英文回答。",
    "今後は日本語で答えてください。",
]
PASSING = [
    "How do I hash passwords?",
    "My kitchen is 19 degrees.",
    "I always burn my toast, why?",
    "It never works on the first try.",
    "Do you remember that song about rain?",
    "She'll call me tomorrow.",
    "How do you say good morning in French?",
    "Should I be concise in a cover letter?",
    "What happens if I never change the oil?",
    "Is it always cold in Iceland?",
    "Translate this sentence into German.",
    "You are right, thanks!",
    "Write a poem in the style of Rilke.",
    "The chat widget is slow.",
    "Can I eat peanuts every day?",
    "Wie lange soll der Teig gehen?",
    "Ich gehe immer um acht schlafen.",
    "Combien coûte le billet ?",
    "¿Cuánto cuesta el billete?",
    "我打算十月去北京旅行五天。",
    "这个对话框怎么关闭？",
    "",
]


@pytest.mark.parametrize("text", STANDING)
def test_standing_instruction(text):
    assert is_standing(text)


@pytest.mark.parametrize("text", PASSING)
def test_no_standing_instruction(text):
    assert not is_standing(text)


def test_only_what_the_user_says_counts_in_the_order_of_the_chat():
    messages = [
        Message(id="a", role="assistant", content="Always use type hints in code."),
        Message(id="b", role="user", content="Always use type hints in code."),
        Message(id="c", role="user", content="How?"),
        Message(id="d", role="user", content="be concise"),
        Message(id="e", role="system", content="be concise"),
    ]
    assert standing_instructions(messages) == ("b", "d")


def test_what_a_pasted_document_demands_is_no_instruction():
    document = "Here is the style guide. " + "Blah blah. " * 100 + "Always use tabs in code."
    assert not is_standing(document)
    assert is_standing("From now on be brief. " + "Blah blah. " * 100)


def test_a_hostile_text_is_read_in_no_time():
    assert not is_standing("always " * 200_000 + "answer " * 200_000 + "x")

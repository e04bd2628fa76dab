import pytest

from smart_context.chat.messages import Message
from smart_context.topics.standing.standing import is_standing, standing_instructions

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
    "Never use adverbs in text that you write for me.",
    "Please don't use bullet points.",
    "Keep it short from here on.",
    "Write all code in TypeScript.",
    "Use British spelling.",
    "When you write code, always add comments.",
    "Explain everything as if I were twelve.",
    "Stop apologising.",
    "All prices in dollars please.",
    "Speak to me like a pirate.",
    "Avoid technical terms.",
    "Always reply with a table.",
    "Answer only in French from now on.",
    "Don't ever suggest meat dishes.",
    "Schreib bitte ohne Fachbegriffe.",
    "Bitte verwende keine Emojis.",
    "Antworte immer in höchstens drei Sätzen.",
    "Alle Preise bitte in Franken.",
    "Sprich mich mit Sie an.",
    "Verwende nie Anglizismen.",
    "Ab sofort nur noch metrische Einheiten.",
    "Erkläre alles Schritt für Schritt, und zwar immer.",
    "Merk dir, dass ich vegan lebe.",
    "Réponds en deux phrases maximum.",
    "N'utilise jamais d'anglicismes.",
    "À l'avenir, donne tous les prix en euros.",
    "Tutoie-moi s'il te plaît.",
    "Ne me propose jamais de viande.",
    "Utilise toujours le système métrique.",
    "Réponds-moi toujours en anglais.",
    "No uses emojis nunca.",
    "Responde siempre con ejemplos.",
    "Háblame de usted.",
    "Usa siempre unidades métricas.",
    "En adelante, todos los precios en euros.",
    "Contesta en frases cortas.",
    "No me des consejos médicos nunca.",
    "以后请用繁体中文回答。",
    "请不要使用表情符号。",
    "回答尽量简短一点。",
    "以后所有价格都用人民币。",
    "请记住我对花生过敏。",
    "代码请一律用Python写。",
    "今后每次回答都给出例子。",
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
    "Agreed: no adverbs in anything that I draft.",
    "How do I stop apologising all the time?",
    "Which adverbs should I never use in an essay?",
    "Can you write the whole function in TypeScript?",
    "Write a short poem about rain.",
    "How do I use British spelling in Word?",
    "Never mind, it works now.",
    "I never use adverbs.",
    "My name tag fell off.",
    "What's the price in dollars?",
    "Please translate this into French.",
    "Explain this error to me.",
    "He always replies with a table.",
    "Avoiding sugar is hard, any tips?",
    "Sprichst du Deutsch?",
    "Wie schreibe ich eine Bewerbung ohne Floskeln?",
    "Immer wenn ich bremse, quietscht das Rad.",
    "Was kostet das in Franken?",
    "Kann ich das immer so machen?",
    "Ich verwende nie Zucker.",
    "Pourquoi mon pain ne lève-t-il jamais ?",
    "Je n'utilise jamais de beurre, ça change quoi ?",
    "Comment dit-on merci en anglais ?",
    "Réponds à cette lettre, s'il te plaît.",
    "¿Por qué siempre se rompe?",
    "Nunca he estado en Madrid.",
    "¿Cómo respondo siempre con calma?",
    "Escribe un correo a mi jefe.",
    "我一直睡不着怎么办？",
    "请用Python写一个排序函数。",
    "以后还会涨价吗？",
    "总是失败，为什么？",
    "请简短介绍一下故宫。",
    "Ne marche plus depuis hier, que faire ?",
    "When you write a novel, how do you begin?",
    "All code paths are covered now.",
]


@pytest.mark.parametrize("text", STANDING)
def test_standing_instruction(text):
    assert is_standing(text)


@pytest.mark.parametrize("text", PASSING)
def test_no_standing_instruction(text):
    assert not is_standing(text)


@pytest.mark.parametrize("space", ["\n", "\n\n", "\n ", "  \n", "   \n\n   ", ". ", ".", ":    "])
def test_an_instruction_may_follow_any_end_of_a_line_or_clause(space):
    assert is_standing(f"Hello{space}be concise")


@pytest.mark.parametrize("space", [" ", "  ", "     "])
def test_space_alone_ends_no_clause_and_is_as_one(space):
    assert not is_standing(f"Hello{space}be concise")
    assert is_standing(f"from{space}now{space}on")


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
    ending = " Always use tabs in code."
    assert is_standing("x" * (600 - len(ending)) + ending)
    assert not is_standing("x" * (601 - len(ending)) + ending)


def test_a_hostile_text_is_read_in_no_time():
    assert not is_standing("always " * 200_000 + "answer " * 200_000 + "x")

"""Standing instructions in many languages, and messages that only look like one."""

import json
from pathlib import Path

import pytest

from smart_context.topics.standing.standing import is_standing

CHATS = json.loads(
    (Path(__file__).parents[1] / "languages" / "first.json").read_text(encoding="utf-8")
)


@pytest.mark.parametrize("chat", CHATS, ids=lambda chat: chat["language"])
def test_the_instruction_is_the_only_message_that_stands(chat):
    standing = [place for place, text in enumerate(chat["utterances"]) if is_standing(text)]
    assert standing == chat["standing"]


@pytest.mark.parametrize(
    "text",
    [
        "antworte immer auf Deutsch",
        "请用中文回答",
        "请用中文简短回答。",
        "répondez toujours en français",
        "bundan sonra kısa yaz",
        "Her zaman Türkçe yanıt ver.",
        "отвечайте только по-русски",
        "أجبني دائما بالعربية",
        "מעכשיו תענה בעברית",
        "अब से हिंदी में जवाब दो",
        "od teraz pisz krótko",
        "Rispondi solo in italiano.",
        "Responda apenas em português.",
        "답변은 항상 한국어로 해 주세요",
    ],
)
def test_an_instruction_is_told_by_its_words(text):
    assert is_standing(text)


@pytest.mark.parametrize(
    "text",
    [
        "Как всегда правильно отвечать на письма?",
        "Bu her zaman böyle mi?",
        "Jak zawsze mam za mało czasu.",
        "क्या चाय हमेशा गरम पीनी चाहिए?",
        "هل القهوة دائما مرة؟",
        "האם תמיד צריך לאפות לחם?",
    ],
)
def test_always_alone_is_no_instruction(text):
    assert not is_standing(text)

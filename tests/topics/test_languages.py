"""Topics of chats in sixteen languages, found with the models that come with the package."""

import asyncio
import json
import unicodedata
from pathlib import Path

import pytest

from smart_context.chat.messages import Message, MessageId
from smart_context.llm.offline.every_language import EveryLanguageEmbedder
from smart_context.topics.embedded import EmbeddedTopicExtractor

pytestmark = pytest.mark.anyio

FOLDER = Path(__file__).with_name("languages")
CHATS = {
    chat["language"]: chat
    for chat in json.loads((FOLDER / "first.json").read_bytes())
    if chat["standing"]
}
SCRIPTS = {
    "ru": {"CYRILLIC"},
    "ar": {"ARABIC"},
    "he": {"HEBREW"},
    "hi": {"DEVANAGARI"},
    "zh": {"CJK"},
    "ja": {"CJK", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA"},
    "ko": {"HANGUL"},
}


@pytest.fixture(scope="module")
def embedder():
    made = EveryLanguageEmbedder()
    yield made
    asyncio.run(made.aclose())


def two_subjects(chat):
    """The instruction, and two questions each about the first two subjects."""
    wanted = sorted({0, 1, *chat["groups"][0][:4], *chat["groups"][1][:4]})
    return [
        Message(
            id=MessageId(f"{place}"),
            role="assistant" if place % 2 else "user",
            content=chat["utterances"][place],
        )
        for place in wanted
    ]


@pytest.mark.parametrize("language", CHATS)
async def test_two_subjects_and_an_instruction(embedder, language):
    chat = CHATS[language]
    found = await EmbeddedTopicExtractor(embedder).extract(two_subjects(chat))
    groups = {frozenset(map(int, topic.message_ids)) for topic in found.topics}
    assert groups == {frozenset(group[:4]) for group in chat["groups"][:2]}
    assert found.sticky_ids == ("0",)
    labels = [topic.label for topic in found.topics]
    assert len(set(map(str.lower, labels))) == 2
    scripts = {
        unicodedata.name(letter).split()[0]
        for label in labels
        for letter in label
        if letter.isalpha()
    }
    assert scripts <= SCRIPTS.get(language, {"LATIN"})

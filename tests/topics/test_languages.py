"""Topics of chats in sixteen languages, found with the models that come with the package."""

import asyncio
import json
import unicodedata
from pathlib import Path

import numpy as np
import pytest

from smart_context.chat.messages import ChatId, Message, MessageId
from smart_context.llm.offline.every_language import EveryLanguageEmbedder
from smart_context.relevance.score import TopicQuery
from smart_context.relevance.scorer import RelevanceScorer
from smart_context.relevance.vectors.cache import EmbeddingCache
from smart_context.storage.memory import MemoryVectors
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


CLOSINGS = {
    "en": ("Great, thank you so much for your advice, I have all I need. Bye!", "Enjoy your trip!"),
    "de": ("Super, dann weiß ich Bescheid. Vielen Dank und tschüss!", "Gern geschehen, bis bald."),
    "fr": ("Très bien, merci pour les conseils. Au revoir !", "Avec plaisir, bonne journée !"),
    "zh": ("好的，都记下了，谢谢你的推荐，再见！", "不客气，祝您愉快！"),
    "ko": ("네, 추천해 주셔서 감사합니다. 안녕히 계세요!", "천만에요, 또 오세요."),
    "hi": ("ठीक है, सलाह के लिए बहुत बहुत धन्यवाद, अलविदा!", "आपका स्वागत है!"),
}


@pytest.mark.parametrize("language", CLOSINGS)
async def test_thanks_at_the_end_found_no_topic(embedder, language):
    said = two_subjects(CHATS[language])
    for text in CLOSINGS[language]:
        role = "assistant" if len(said) % 2 else "user"
        said.append(Message(id=MessageId(f"end {len(said)}"), role=role, content=text))
    found = await EmbeddedTopicExtractor(embedder).extract(said)
    assert len(found.topics) == 2
    assert not any("end" in place for topic in found.topics for place in topic.message_ids)


@pytest.mark.parametrize("language", ["pl", "tr", "he", "ko", "es", "en"])
async def test_a_typed_subject_finds_its_messages_and_an_absent_one_nothing(embedder, language):
    chat = CHATS[language]
    said = two_subjects(chat)
    scorer = RelevanceScorer(EmbeddingCache(MemoryVectors(), embedder))
    queries = [TopicQuery(label=label) for label in (chat["subjects"][0], chat["absent"][1])]
    present, absent = [await scorer.scores(ChatId("typed"), said, [query]) for query in queries]
    kept = {int(said[place].id) for place in np.flatnonzero(present.kept(0.4))}
    assert set(chat["groups"][0][:2]) <= kept < set(map(int, (m.id for m in said)))
    assert not absent.kept(0.4).any()

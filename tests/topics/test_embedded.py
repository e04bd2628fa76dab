import json
from dataclasses import replace

import numpy as np
import pytest

from smart_context.chat.messages import Message, messages_of
from smart_context.cli.server.serve import DEMO_VAULT
from smart_context.llm.offline.embedded import EmbeddedEmbedder
from smart_context.topics.embedded import EmbeddedTopicExtractor
from smart_context.topics.extraction import ExtractionFailed
from smart_context.topics.values import Extraction, Previous
from tests.relevance.doubles import FakeEmbedder
from tests.topics import chats

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def embedder():
    return EmbeddedEmbedder()


def found_as(extraction, messages, subjects):
    """For each topic, the subjects of its members."""
    subject_of = {m.id: s for m, s in zip(messages, subjects, strict=True)}
    return {t.label: {subject_of[i] for i in t.message_ids} for t in extraction.topics}


def f1(one, other):
    return 2 * len(one & other) / (len(one) + len(other))


async def test_the_six_subjects_of_a_sixty_message_chat_are_found(embedder):
    messages, subjects = chats.chat(chats.SIX_SUBJECTS)
    extraction = await EmbeddedTopicExtractor(embedder).extract(messages)
    named = [s for s in dict.fromkeys(subjects) if s != "-"]
    for name in named:
        wanted = {m.id for m, s in zip(messages, subjects, strict=True) if s == name}
        assert max(f1(set(t.message_ids), wanted) for t in extraction.topics) >= 0.9
    assert len(extraction.topics) == len(named) == 6
    assert all(topic.count == len(topic.message_ids) for topic in extraction.topics)
    assert [t.count for t in extraction.topics] == sorted(
        (t.count for t in extraction.topics), reverse=True
    )
    assert extraction.sticky_ids == ("m1",)


async def test_one_question_of_many_is_no_topic_of_its_own(embedder):
    document = json.loads((DEMO_VAULT / "memory" / "year-of-projects.json").read_bytes())
    extraction = await EmbeddedTopicExtractor(embedder).extract(messages_of(document))
    assert sorted(topic.count for topic in extraction.topics) == [8, 8, 10, 10, 10, 10]


@pytest.mark.parametrize("text", [chats.CHINESE, chats.GERMAN], ids=["Chinese", "German"])
async def test_chats_in_other_languages_have_sensible_topics(embedder, text):
    messages, subjects = chats.chat(text)
    extraction = await EmbeddedTopicExtractor(embedder).extract(messages)
    found = found_as(extraction, messages, subjects)
    assert len(found) == 3
    assert sum(len(held) == 1 for held in found.values()) >= 2
    assert extraction.sticky_ids == ("m1",)


BREAD = (
    "How do I bake sourdough bread?",
    "Mix flour, water and a starter, and bake it hot.",
)
PERU = (
    "What is the capital of Peru?",
    "Lima is the capital of Peru; ten million live there.",
)
PYTHON = (
    "Can you explain Python decorators?",
    "A decorator is a function that takes a function and returns another one.",
)
KEEPING = ("And how long does it keep?", "Three days in a bag, longer if frozen.")
GROUPING = (
    "My Python script reads a large CSV with pandas and runs out of memory.",
    "Read it in chunks, or load only the columns that you need with usecols.",
    "I have to group by customer and sum the amounts.",
    "Aggregate each chunk by customer, then concatenate the partial sums.",
    "Which part of the script holds the memory?",
    "memray run script.py shows which pandas allocation is the largest.",
)


@pytest.mark.parametrize(
    ("exchanges", "counts"),
    [
        pytest.param((BREAD, PERU), [2, 2], id="two subjects"),
        pytest.param((BREAD, PERU, PYTHON), [2, 2, 2], id="three subjects"),
        pytest.param((BREAD, KEEPING), [4], id="words that point back"),
        pytest.param((BREAD, KEEPING, PERU), [4, 2], id="words that point back, then another"),
        pytest.param((GROUPING,), [6], id="a question between two of one subject"),
    ],
)
async def test_each_question_of_a_short_chat_finds_its_subject(embedder, exchanges, counts):
    messages = say(*(text for exchange in exchanges for text in exchange))
    extraction = await EmbeddedTopicExtractor(embedder).extract(messages)
    assert [topic.count for topic in extraction.topics] == counts


async def test_labels_are_short_in_title_case_and_made_of_words_that_were_used(embedder):
    messages, _ = chats.chat(chats.SIX_SUBJECTS)
    said = " ".join(m.text for m in messages).lower()
    extraction = await EmbeddedTopicExtractor(embedder).extract(messages)
    for topic in extraction.topics:
        words = [word for word in topic.label.split() if word != "&"]
        assert 1 <= len(words) <= 4
        assert all(word[0].isupper() for word in words)
        assert all(word.lower() in said for word in words)
        assert topic.keywords


async def test_a_topic_that_nothing_names_gives_the_chat_no_title(embedder):
    greeting, subject = (
        messages_of({"messages": [{"id": "a", "role": "user", "content": text}]})
        for text in ("Hello, what can you do?", "How long does sourdough bread rise?")
    )
    extractor = EmbeddedTopicExtractor(embedder)
    assert not (await extractor.extract(greeting)).title
    assert (await extractor.extract(subject)).title
    titled = Previous(is_titled=True)
    assert not (await extractor.extract(subject, previous=titled)).title, "it has one already"


async def test_labels_stay_as_a_chat_grows(embedder):
    messages, _ = chats.chat(chats.SIX_SUBJECTS)
    extractor = EmbeddedTopicExtractor(embedder)
    labels, kept, lost, previous = (), 0, 0, Previous()
    for end in range(20, len(messages) + 1, 8):
        extraction = await extractor.extract(messages[:end], previous=previous)
        now = tuple(topic.label for topic in extraction.topics)
        kept += len(set(labels) & set(now))
        lost += len(set(labels) - set(now))
        labels, previous = now, Previous(topics=extraction.topics, seen=messages[end - 1].id)
    assert kept >= 10 * lost


async def test_the_same_chat_gives_the_same_topics(embedder):
    messages, _ = chats.chat(chats.GERMAN)
    extractor = EmbeddedTopicExtractor(embedder)
    assert await extractor.extract(messages) == await extractor.extract(messages)


def say(*texts):
    return [
        Message(id=f"m{n}", role="user" if n % 2 else "assistant", content=text)
        for n, text in enumerate(texts, start=1)
    ]


@pytest.mark.parametrize(
    ("messages", "labels"),
    [
        pytest.param([], 0, id="no messages"),
        pytest.param(say("", "  "), 0, id="nothing said"),
        pytest.param(say("Always be concise."), 0, id="only an instruction"),
        pytest.param(say("How do I bake bread?"), 1, id="one message"),
        pytest.param(say("ok", "ok"), 0, id="no word that could name a topic"),
        pytest.param(say("Hello!", "Hello! How can I help you?"), 0, id="a greeting"),
        pytest.param(say("Hallo!", "Hallo! Wie kann ich helfen?"), 0, id="a greeting in German"),
        pytest.param(say("你好", "你好!"), 0, id="a greeting in Chinese"),
        pytest.param(say("👍", "👍"), 0, id="no words at all"),
        pytest.param(say("Why?", "Yes."), 1, id="a question that a model may name"),
        pytest.param(say(*["How do I bake bread?"] * 9), 1, id="the same again and again"),
    ],
)
async def test_little_chats_have_as_many_topics_as_they_have_subjects(messages, labels):
    extraction = await EmbeddedTopicExtractor(FakeEmbedder(dimensions=8)).extract(messages)
    assert len(extraction.topics) == labels
    assert all(t.label and 1 <= t.count <= len(messages) for t in extraction.topics)


async def test_only_what_is_said_is_embedded():
    embedder = FakeEmbedder(dimensions=8)
    messages = [
        *say("Always be concise.", "I will.", "Bread?", "Yeast."),
        Message(id="t", role="tool", content="log"),
        Message(id="s", role="system", content="You help."),
    ]
    await EmbeddedTopicExtractor(embedder).extract(messages)
    assert embedder.batches[0] == ["Bread?", "Yeast."]


async def test_a_failing_embedder_is_an_extraction_that_failed_with_a_reason():
    embedder = FakeEmbedder()
    embedder.failing = True
    with pytest.raises(ExtractionFailed, match="fake did not answer: the embedder is down"):
        await EmbeddedTopicExtractor(embedder).extract(say("Bread?"))


async def test_vectors_without_meaning_give_topics_all_the_same():
    class Zeros(FakeEmbedder):
        async def embed(self, texts):
            return np.zeros((len(texts), 4), dtype=np.float32)

    extraction = await EmbeddedTopicExtractor(Zeros()).extract(say("Bread?", "Yeast.", "Tax?"))
    assert extraction != Extraction()
    assert sum(topic.count for topic in extraction.topics) == 3


@pytest.mark.slow
async def test_a_chat_of_ten_thousand_messages_takes_bounded_time():
    random = np.random.default_rng(0)
    words = [f"word{number}" for number in range(400)]
    texts = [" ".join(random.choice(words, 8)) for _ in range(10_000)]
    extraction = await EmbeddedTopicExtractor(FakeEmbedder(dimensions=32)).extract(say(*texts))
    assert 1 <= sum(not topic.parent_id for topic in extraction.topics) <= 8


async def test_a_long_chat_of_many_subjects_has_topics_in_topics(embedder):
    messages, _ = chats.chat(chats.SIX_SUBJECTS)
    numbered = [
        replace(message, id=f"{copy}-{message.id}", content=f"{message.text} {word} {word}")
        for copy, word in enumerate(("glacier", "opera", "satellite"))
        for message in messages
    ]
    topics = (await EmbeddedTopicExtractor(embedder).extract(numbered)).topics
    wide = [topic for topic in topics if not topic.parent_id]
    labels = [topic.label for topic in topics]
    assert len(wide) <= 8
    assert max(topic.count for topic in wide) <= 0.35 * len(numbered)
    assert len(labels) == len(set(labels))
    assert not {topic.label for topic in wide} & {t.label for t in topics if t.parent_id}
    for topic in topics:
        if topic.parent_id:
            (whole,) = (one for one in wide if one.label == topic.parent_id)
            assert set(topic.message_ids) < set(whole.message_ids)


async def test_a_topic_of_unlike_topics_has_the_names_of_two_of_them(embedder):
    subjects = {
        "postgres index": "vacuum table",
        "rye flour": "bread crust",
        "climbing rope": "chalk bag",
        "tax return": "office deduction",
        "iceland glacier": "hot spring",
        "tomato plants": "compost heap",
        "digital piano": "bach minuet",
        "tokyo hotel": "rail pass",
        "milk foam": "espresso grinder",
        "swimming stroke": "pool lanes",
        "solar panels": "roof battery",
    }
    asked = [
        text
        for one, other in subjects.items()
        for text in [
            f"How do I choose the {one}, and what of the {other}?",
            f"For the {one}, look at the {other} first; the {one} follows.",
        ]
        * 3
    ]
    topics = (await EmbeddedTopicExtractor(embedder).extract(say(*asked))).topics
    parts = {}
    for topic in topics:
        if topic.parent_id:
            parts.setdefault(topic.parent_id, []).append(topic.label)
    assert parts
    for whole, labels in parts.items():
        named = whole.split(" & ")
        assert set(named) <= set(labels) or len(f"{labels[0]} {labels[1]}".split()) > 4

import threading

import numpy as np
import pytest

from smart_context.llm.offline.embedded import EmbeddedEmbedder
from smart_context.topics.embedded import EmbeddedTopicExtractor
from smart_context.topics.naming.candidates import (
    MessagesToName,
    candidates_of,
    pairs_of,
    phrases_of,
    with_nearness,
)
from smart_context.topics.naming.naming import Talk, labels_of
from tests.relevance.doubles import FakeEmbedder
from tests.topics import chats
from tests.topics.named_chats import NAMED_CHATS, is_accepted

pytestmark = pytest.mark.anyio

LEAST_ACCEPTED = 0.85


def overlap(one, other):
    return 2 * len(one & other) / (len(one) + len(other))


@pytest.mark.slow
async def test_most_labels_are_what_a_person_would_accept():
    extractor = EmbeddedTopicExtractor(EmbeddedEmbedder())
    verdicts = {}
    for named in NAMED_CHATS.values():
        messages, subjects = chats.chat(named.text)
        topics = (await extractor.extract(messages)).topics
        for subject, names in named.names.items():
            wanted = {m.id for m, s in zip(messages, subjects, strict=True) if s == subject}
            topic = max(topics, key=lambda t: overlap(set(t.message_ids), wanted))
            verdicts[subject, topic.label] = is_accepted(topic.label, names)
    refused = [found for found, accepted in verdicts.items() if not accepted]
    assert sum(verdicts.values()) >= LEAST_ACCEPTED * len(verdicts), refused


@pytest.mark.parametrize(
    ("label", "accepted"),
    [
        ("Heat Pump", True),
        ("Boiler & Heat Pump", True),
        ("Pump Heat", False),
        ("Heat & Pump", False),
    ],
)
def test_a_label_is_judged_as_a_whole(label, accepted):
    assert is_accepted(label, "heat pump, boiler") is accepted


def found(*texts, near=None):
    group = MessagesToName(weights=dict.fromkeys(range(len(texts)), 1.0), opening=0)
    singles = candidates_of(phrases_of(texts, [list(range(len(texts)))]), group)
    wanted = near or {}
    values = np.array([wanted.get(c.text, 0.5) for c in singles], dtype=np.float32)
    pairs = pairs_of(with_nearness(singles, values), group)
    return [c.text for c in singles], {c.text for c in pairs}


def test_what_more_messages_use_comes_first():
    singles, _ = found("the bread", "the bread and the oven", "our bread")
    assert singles[:2] == ["bread", "oven"]


def test_what_the_first_question_names_comes_first():
    singles, _ = found("the starter", "the oven")
    assert singles == ["starter", "oven"]


def test_nouns_come_before_other_words():
    singles, _ = found("the bread that rests", "the bread rests", "it rests in a bread oven")
    assert singles.index("bread") < singles.index("rests")


def test_two_nouns_that_are_said_together_make_one_name():
    _, pairs = found("the guitar and its chord", "a guitar", "her guitar")
    assert pairs == {"guitar & chord", "guitar chord"}
    _, apart = found("the guitar", "a chord", "her guitar", "this chord")
    assert len(apart) == 1
    assert "&" in apart.pop()


def test_a_plural_tells_nothing_more_of_another_noun():
    _, pairs = found("the chords of a guitar", "the chords", "a guitar", "those chords")
    assert "guitar chords" in pairs
    assert "chords guitar" not in pairs


def test_what_does_not_say_what_it_is_about_comes_last_or_apart():
    _, pairs = found("the audit of a policy", "the audit", near={"audit": 0.6, "policy": 0.1})
    assert "audit policy" in pairs
    assert "policy audit" not in pairs


def test_two_names_stay_two():
    _, pairs = found("from Tokyo to Kyoto", "in Tokyo or Kyoto")
    assert pairs in ({"Kyoto & Tokyo"}, {"Tokyo & Kyoto"})


def test_where_compounds_are_one_word_nouns_are_joined_by_a_sign():
    _, pairs = found("Die Kette an einem Fahrrad", "Die Kette und das Fahrrad")
    assert len(pairs) == 1
    assert "&" in pairs.pop()


async def test_no_two_groups_have_the_same_label():
    texts = ["the bread", "the bread"]
    vectors = np.eye(2, 8, dtype=np.float32)
    labels = await labels_of(
        Talk(texts=texts, vectors=vectors), [[0], [1]], FakeEmbedder(dimensions=8)
    )
    assert len(set(labels)) == 2


async def test_a_number_is_no_label():
    talk = Talk(texts=["how are you? i am 24", "24"], vectors=np.eye(2, 8, dtype=np.float32))
    assert "24" not in await labels_of(talk, [[0, 1]], FakeEmbedder(dimensions=8))


async def test_no_two_labels_have_the_same_words():
    texts = ["the family moments and a picnic", "the family moments and the moment of a family"]
    vectors = np.eye(2, 8, dtype=np.float32)
    labels = await labels_of(
        Talk(texts=texts, vectors=vectors),
        [[0, 1]],
        FakeEmbedder(dimensions=8),
        taken=["Family & Moments"],
    )
    assert labels != ["Family Moments"]


@pytest.mark.parametrize(
    ("texts", "label"),
    [
        (["the bread and the dough", "our dough and our bread"], "Dough"),
        (["the bread", "our bread"], "Bread"),
    ],
)
async def test_a_label_differs_from_the_others_by_more_than_a_word_left_out(texts, label):
    embedder = FakeEmbedder(dimensions=8)
    talk = Talk(texts=texts, vectors=await embedder.embed(["bread", "dough"]))
    assert await labels_of(talk, [[0, 1]], embedder, taken=["Bread Oven"]) == [label]


async def test_what_is_asked_of_a_thing_names_a_topic_only_if_no_thing_does():
    texts = ["what is the price of the violin", "the price"]
    vectors = np.eye(2, 8, dtype=np.float32)
    embedder = FakeEmbedder(dimensions=8)
    talk = Talk(texts=texts, vectors=vectors)
    assert await labels_of(talk, [[0], [1]], embedder) == ["Violin", "Price"]


async def test_a_group_without_a_noun_is_not_named_by_a_time():
    talk = Talk(texts=["in March, gladly"], vectors=np.eye(1, 8, dtype=np.float32))
    assert await labels_of(talk, [[0]], FakeEmbedder(dimensions=8)) == ["Gladly"]


async def test_a_former_label_that_fits_is_kept_without_asking_for_others():
    embedder = FakeEmbedder(dimensions=8)
    texts = ["the bread", "some bread"]
    vectors = await embedder.embed(["Good Bread"] * 2)
    labels = await labels_of(
        Talk(texts=texts, vectors=vectors), [[0, 1]], embedder, previous=["Good Bread"]
    )
    assert labels == ["Good Bread"]
    assert embedder.batches[1:] == [["Good Bread"]]


class Watched(list):
    """Texts that know which threads have read them."""

    readers = frozenset()

    def __getitem__(self, place):
        self.readers |= {threading.current_thread()}
        return super().__getitem__(place)

    def __iter__(self):
        self.readers |= {threading.current_thread()}
        return super().__iter__()


@pytest.mark.parametrize("previous", [[], ["Good Bread"], ["Something Else"]])
async def test_only_other_threads_read_the_texts(previous):
    embedder = FakeEmbedder(dimensions=8)
    texts = Watched(["the bread", "some bread"])
    vectors = await embedder.embed(["Good Bread"] * 2)
    await labels_of(Talk(texts=texts, vectors=vectors), [[0, 1]], embedder, previous=previous)
    assert texts.readers
    assert threading.current_thread() not in texts.readers

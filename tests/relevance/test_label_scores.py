"""What the filter finds by typed topics, with the embedding model that comes with the package."""

from dataclasses import replace

import numpy as np
import pytest

from smart_context.llm.offline.embedded import EmbeddedEmbedder
from smart_context.relevance.judge.calibrate import PROBABLY
from smart_context.relevance.score import TopicQuery
from smart_context.relevance.scorer import RelevanceScorer
from smart_context.relevance.vectors.cache import EmbeddingCache
from tests.topics import chats

pytestmark = pytest.mark.anyio

MESSAGES, SUBJECTS = chats.chat(chats.SIX_SUBJECTS)
TYPED = {
    "bike": "Danube cycle path",
    "python": "pandas memory",
    "garden": "tomatoes",
    "tax": "VAT invoices",
    "guitar": "learning guitar",
    "sleep": "waking up at night",
}
ABSENT = ("Kubernetes", "chess openings", "asdf qwer", "wedding speech", "volcano", "xyzzy")


@pytest.fixture(scope="module")
def embedder():
    return EmbeddedEmbedder()


def scorer_in(folder, embedder):
    return RelevanceScorer(EmbeddingCache(lambda chat_id: folder / f"{chat_id}.json", embedder))


@pytest.fixture
def scorer(tmp_path, embedder):
    return scorer_in(tmp_path, embedder)


async def best_of(scorer, label, messages=MESSAGES, others=()):
    found = await scorer.scores("c", messages, [TopicQuery(label=label)], others=others)
    return found.best


@pytest.mark.parametrize(("subject", "label"), TYPED.items())
async def test_a_typed_topic_keeps_its_messages_and_few_others(scorer, subject, label):
    kept = await best_of(scorer, label) >= PROBABLY
    wanted = np.array([each == subject for each in SUBJECTS])
    assert 2 * (kept & wanted).sum() / (kept.sum() + wanted.sum()) >= 0.65


@pytest.mark.parametrize("label", ABSENT)
async def test_a_typed_topic_that_the_chat_never_mentions_keeps_nothing(scorer, label):
    assert (await best_of(scorer, label)).max() < PROBABLY


@pytest.mark.parametrize("size", [1, 2, 5])
async def test_a_chat_of_a_few_messages_has_its_topic_and_no_other(scorer, size):
    messages = MESSAGES[2 : 2 + size]
    assert (await best_of(scorer, "Danube bicycle tour", messages)).max() >= PROBABLY
    assert (await best_of(scorer, "Kubernetes", messages)).max() < PROBABLY


async def test_a_higher_threshold_never_keeps_more_and_at_last_less(scorer):
    scores = await best_of(scorer, TYPED["garden"])
    kept = [(scores >= threshold).sum() for threshold in np.linspace(0, 1, 11)]
    assert kept == sorted(kept, reverse=True)
    assert kept[4] > kept[6] > kept[9] > 0


async def test_members_of_a_found_topic_leave_one_by_one_as_the_threshold_rises(scorer):
    members = tuple(m.id for m, s in zip(MESSAGES, SUBJECTS, strict=True) if s == "garden")
    topic = TopicQuery(label="Tomato Leaves", message_ids=members)
    scores = (await scorer.scores("c", MESSAGES, [topic])).best
    kept = [(scores >= threshold).sum() for threshold in (0.4, 0.6, 0.75)]
    assert kept[0] >= len(members)
    assert kept[0] > kept[1] > kept[2]


async def test_a_typed_label_that_fits_a_found_topic_has_its_members(scorer):
    garden = [place for place, subject in enumerate(SUBJECTS) if subject == "garden"]
    known = TopicQuery(label="Slugs", message_ids=tuple(MESSAGES[place].id for place in garden))
    scores = await best_of(scorer, TYPED["garden"], others=[known])
    assert scores[garden].min() >= PROBABLY


async def test_messages_of_a_month_that_the_question_names_come_first(scorer):
    dated = [
        replace(m, created_at=f"2023-{1 + place // 10:02}-10T12:00:00+00:00")
        for place, m in enumerate(MESSAGES)
    ]
    plain = await best_of(scorer, "What was asked about the tax?", dated)
    march = await best_of(scorer, "What was asked about the tax in March 2023?", dated)
    in_march = slice(20, 30)
    assert (march - plain)[in_march].mean() > (march - plain)[40:].mean()


async def test_scores_are_the_same_warm_and_cold_in_one_go_and_bit_by_bit(tmp_path, embedder):
    labels = [TopicQuery(label=label) for label in TYPED.values()]
    grown = scorer_in(tmp_path, embedder)
    for count in (1, 7, 30, len(MESSAGES)):
        warm = await grown.scores("c", MESSAGES[:count], labels)
        again = await grown.scores("c", MESSAGES[:count], labels)
        cold = await scorer_in(tmp_path, embedder).scores("c", MESSAGES[:count], labels)
        np.testing.assert_array_equal(warm.values, again.values)
        np.testing.assert_array_equal(warm.values, cold.values)

"""Another embedding model, made of the embedded one: everything is alike in it."""

from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest

from smart_context.cli.evaluation.calibration import KnownChat, fitted_judge
from smart_context.llm.offline.embedded import EmbeddedEmbedder
from smart_context.relevance.judge.calibrate import MINILM, PROBABLY, Scale
from smart_context.relevance.judge.fitting import fitted, store_calibration, stored_judge
from smart_context.relevance.judge.judging import null_labels
from smart_context.relevance.score import TopicQuery
from smart_context.relevance.scorer import RelevanceScorer
from smart_context.relevance.vectors.cache import EmbeddingCache
from smart_context.storage.files.documents import FileVaultDocuments
from smart_context.storage.files.vectors import FileVectors
from smart_context.topics.values import Topic
from tests.topics import chats

pytestmark = pytest.mark.anyio

MESSAGES, SUBJECTS = chats.chat(chats.SIX_SUBJECTS)
LABELS = {
    "bike": "Danube cycle path",
    "python": "pandas memory",
    "garden": "tomatoes",
    "tax": "VAT invoices",
    "guitar": "learning guitar",
    "sleep": "waking up at night",
}
ABSENT = ["volcanoes", "penguins", "opera", "SQL", "origami", "divorce", "black holes", "ballet"]


class Alike:
    """Cosines of the embedded model, moved to 0.64 and more."""

    name = "alike"

    def __init__(self):
        self.embedder = EmbeddedEmbedder()

    async def embed(self, texts):
        rows = await self.embedder.embed(texts)
        return np.hstack([rows * 0.6, np.full((len(rows), 1), 0.8)]).astype(np.float32)


def as_alike(cosine):
    return 0.36 * cosine + 0.64


SCALE = Scale(
    unrelated=as_alike(MINILM.unrelated),
    probable=as_alike(MINILM.probable),
    sure=as_alike(MINILM.sure),
)


async def known_chat(embedder):
    topics = [
        Topic(
            label=label,
            count=1,
            message_ids=tuple(
                m.id for m, s in zip(MESSAGES, SUBJECTS, strict=True) if s == subject
            ),
        )
        for subject, label in LABELS.items()
    ]
    return KnownChat(
        messages=MESSAGES,
        vectors=await embedder.embed([m.text for m in MESSAGES]),
        topics=topics,
        labels=await embedder.embed([topic.label for topic in topics]),
        absent=ABSENT,
        absent_labels=await embedder.embed(ABSENT),
    )


async def test_another_model_is_judged_once_it_is_fitted(tmp_path):
    embedder = Alike()
    nulls = await embedder.embed(null_labels())
    judge = fitted_judge([await known_chat(embedder)], nulls, SCALE)
    near, far = np.linspace(0.7, 0.9, 50), np.linspace(0.5, 0.7, 90)
    now = datetime(2024, 1, 1, tzinfo=UTC)
    found = fitted(near, far, model="alike", chats=1, topics=6, now=now)
    store_calibration(FileVaultDocuments(tmp_path), replace(found, judge=judge, scale=SCALE))
    stored = stored_judge(FileVaultDocuments(tmp_path), "alike")
    assert (stored.presence, stored.posterior) == (judge.presence, judge.posterior)
    assert stored_judge(FileVaultDocuments(tmp_path), "another") is None

    cache = EmbeddingCache(FileVectors(tmp_path), embedder)
    scorer = RelevanceScorer(cache, scale=SCALE, judge=stored)
    garden = np.array([subject == "garden" for subject in SUBJECTS])
    scores = (await scorer.scores("c", MESSAGES, [TopicQuery(label="tomatoes")])).best
    assert scores[garden].max() >= PROBABLY > scores[~garden].max()
    for label in ("Kubernetes", "chess openings", "asdf qwer"):
        assert (await scorer.scores("c", MESSAGES, [TopicQuery(label=label)])).best.max() < PROBABLY


async def test_nothing_is_changed_where_nothing_is_known():
    embedder = Alike()
    judge = fitted_judge([], await embedder.embed(null_labels()), SCALE)
    assert judge.presence == judge.posterior == (1.0, 0.0)

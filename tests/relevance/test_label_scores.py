"""What the filter finds by typed topics, with the embedding model that comes with the package."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import smart_context
from smart_context.base.text.languages import with_language
from smart_context.chat.messages import Message
from smart_context.cli.evaluation.dialogues import read_dialogues
from smart_context.llm.offline.embedded import EmbeddedEmbedder
from smart_context.relevance import label_scores
from smart_context.relevance.evidence.features import first_pass
from smart_context.relevance.judge.calibrate import PROBABLY
from smart_context.relevance.judge.judging import judge_for
from smart_context.relevance.label_scores import SearchableChat, evidence_for
from smart_context.relevance.score import TopicQuery
from smart_context.relevance.scorer import RelevanceScorer
from smart_context.relevance.vectors.cache import EmbeddingCache
from smart_context.storage.files.vectors import FileVectors
from tests.relevance.doubles import FakeEmbedder, messages_saying
from tests.topics import chats

pytestmark = pytest.mark.anyio

MESSAGES, SUBJECTS = chats.chat(chats.SIX_SUBJECTS)
DEMO = Path(smart_context.__file__).with_name("demo_vault") / "memory"
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
    return RelevanceScorer(EmbeddingCache(FileVectors(folder), embedder))


@pytest.fixture
def scorer(tmp_path, embedder):
    return scorer_in(tmp_path, embedder)


async def found_for(scorer, label, messages=MESSAGES, others=()):
    return await scorer.scores("c", messages, [TopicQuery(label=label)], others=others)


async def best_of(scorer, label, messages=MESSAGES):
    return (await found_for(scorer, label, messages)).best


@pytest.mark.parametrize(("subject", "label"), TYPED.items())
async def test_a_typed_topic_keeps_its_messages_and_few_others(scorer, subject, label):
    kept = (await found_for(scorer, label)).kept(PROBABLY)
    wanted = np.array([each == subject for each in SUBJECTS])
    assert 2 * (kept & wanted).sum() / (kept.sum() + wanted.sum()) >= 0.65


@pytest.mark.parametrize("label", ABSENT)
async def test_a_typed_topic_that_the_chat_never_mentions_keeps_nothing(scorer, label):
    found = await found_for(scorer, label)
    assert found.cut(PROBABLY) == PROBABLY
    assert not found.kept(PROBABLY).any()


@pytest.mark.parametrize(
    ("chat", "label", "finds"),
    [
        ("agent-debugging", "asyncio", True),
        ("agent-debugging", "Python asyncio", True),
        ("agent-debugging", "Python spreadsheet", False),
        ("short-story", "story", True),
        ("short-story", "opening goal", False),
    ],
)
async def test_what_a_message_says_is_found_whatever_the_model_makes_of_it(
    scorer, chat, label, finds
):
    _, (demo,) = read_dialogues(DEMO / f"{chat}.json", "chat")
    kept = (await found_for(scorer, label, demo.messages)).kept(PROBABLY)
    assert kept.any() == finds


async def test_a_label_that_the_chat_says_is_read_in_its_language(tmp_path):
    embedder = FakeEmbedder(name="embedded/multilingual-2/all-MiniLM-L6-v2")
    said = messages_saying("Can the tools run at once with asyncio?", "Yes, as tasks of a group.")
    scorer = scorer_in(tmp_path, embedder)
    for label in ("asyncio", "asyncio sorting", "Sauerteig"):
        await found_for(scorer, label, said)
    assert embedder.batches[0] == [with_language("asyncio", "en")]
    assert {"asyncio sorting", "Sauerteig"} <= set(embedder.asked)


@pytest.mark.parametrize("size", [1, 2, 5])
async def test_a_chat_of_a_few_messages_has_its_topic_and_no_other(scorer, size):
    messages = MESSAGES[2 : 2 + size]
    assert (await best_of(scorer, "Danube bicycle tour", messages)).max() >= PROBABLY
    assert (await best_of(scorer, "Kubernetes", messages)).max() < PROBABLY


async def test_a_higher_threshold_never_keeps_more_and_at_last_less(scorer):
    found = await found_for(scorer, TYPED["garden"])
    kept = [found.kept(threshold).sum() for threshold in np.linspace(0, 1, 11)]
    assert kept == sorted(kept, reverse=True)
    assert len(MESSAGES) == kept[0] > kept[4] > kept[6] > kept[9] > 0
    cuts = [found.cut(threshold) for threshold in np.linspace(0, 1, 101)]
    assert cuts == sorted(cuts)


async def test_a_score_does_not_depend_on_how_many_are_kept(scorer):
    """A certain message is not the only one with a high number, and no number is a rank."""
    scores = np.sort(await best_of(scorer, TYPED["garden"]))[::-1]
    assert scores[0] < 1
    assert scores[7] > 0.7
    assert scores[12] < 0.1


async def test_members_of_a_found_topic_leave_one_by_one_as_the_threshold_rises(scorer):
    members = tuple(m.id for m, s in zip(MESSAGES, SUBJECTS, strict=True) if s == "garden")
    topic = TopicQuery(label="Tomato Leaves", message_ids=members)
    found = await scorer.scores("c", MESSAGES, [topic])
    kept = [found.kept(threshold).sum() for threshold in (0.4, 0.6, 0.75)]
    assert kept[0] >= len(members)
    assert kept[0] > kept[1] > kept[2]


async def test_a_typed_label_that_fits_a_found_topic_has_its_members(scorer):
    garden = [place for place, subject in enumerate(SUBJECTS) if subject == "garden"]
    known = TopicQuery(label="Slugs", message_ids=tuple(MESSAGES[place].id for place in garden))
    found = await found_for(scorer, TYPED["garden"], others=[known])
    assert found.kept(PROBABLY)[garden].all()


TOMATOES = "How often should I water my tomatoes?"
IN_OTHER_WORDS = (
    "How frequently do I have to water the tomatoes?",
    "How many times a week do tomato plants need watering?",
)
UNRELATED = "Which strings are best for a classical guitar?"


def with_added(*texts, places):
    messages = list(MESSAGES)
    added = [Message(id=f"x{n}", role="user", content=text) for n, text in enumerate(texts)]
    for message, place in zip(added, places, strict=True):
        messages.insert(place, message)
    return messages


@pytest.mark.parametrize("places", [(3, 20, 41, 59), (5, 6, 7, 8), (57, 58, 59, 60)])
@pytest.mark.parametrize("has_members", [False, True])
async def test_equal_texts_have_equal_scores_whatever_their_places(scorer, places, has_members):
    messages = with_added(TOMATOES, TOMATOES, UNRELATED, TOMATOES, places=places)
    topic = TopicQuery(label="tomatoes", message_ids=("x1",) if has_members else ())
    other = TopicQuery(label="Travel", message_ids=("x3",) if has_members else ())
    found = await scorer.scores("c", messages, [topic], others=[other])
    by_id = dict(zip([m.id for m in messages], found.best.tolist(), strict=True))
    assert by_id["x0"] == by_id["x1"] == by_id["x3"]
    assert by_id["x0"] > by_id["x2"] + 0.3
    assert bool(found.kept(PROBABLY)[[m.id for m in messages].index("x1")])


@pytest.mark.parametrize("places", [(3, 20, 41, 59), (5, 6, 7, 8), (57, 58, 59, 60)])
async def test_the_same_in_other_words_has_nearly_the_same_score(scorer, places):
    messages = with_added(TOMATOES, *IN_OTHER_WORDS, UNRELATED, places=places)
    scores = dict(
        zip([m.id for m in messages], await best_of(scorer, "tomatoes", messages), strict=True)
    )
    alike = [scores["x0"], scores["x1"], scores["x2"]]
    assert max(alike) - min(alike) < 0.15
    assert scores["x3"] < min(alike) - 0.3


async def test_a_topic_that_the_chat_never_mentions_takes_nothing_from_one_that_it_does(scorer):
    topics = [TopicQuery(label=TYPED["garden"]), TopicQuery(label="Kubernetes")]
    both = await scorer.scores("c", MESSAGES, topics)
    alone = await found_for(scorer, TYPED["garden"])
    assert both.cut(PROBABLY) == alone.cut(PROBABLY)
    np.testing.assert_array_equal(both.kept(PROBABLY), alone.kept(PROBABLY))


async def test_a_second_topic_never_removes_a_message_of_the_first(scorer):
    topics = [TopicQuery(label=TYPED["garden"]), TopicQuery(label=TYPED["tax"])]
    both = (await scorer.scores("c", MESSAGES, topics)).kept(PROBABLY)
    alone = (await found_for(scorer, TYPED["garden"])).kept(PROBABLY)
    assert (both >= alone).all()
    assert both.sum() > alone.sum()


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


def test_what_paraphrases_share_is_the_same_however_many_are_compared_at_once(monkeypatch):
    rows = np.repeat(np.eye(4, 8, dtype=np.float32), 3, axis=0)
    rows[::3, 5] = 0.3
    vectors = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    likely = np.linspace(0, 1, len(rows), dtype=np.float32)
    judge = judge_for("all-minilm-l6-v2")
    whole = label_scores.shared_by_paraphrases(likely, vectors, judge)
    assert not np.allclose(whole, likely)
    monkeypatch.setattr(label_scores, "_BLOCK", 5)
    pieces = label_scores.shared_by_paraphrases(likely, vectors, judge)
    np.testing.assert_allclose(pieces, whole, rtol=1e-6)


def test_of_a_hundred_thousand_equal_messages_not_all_are_judged_one_by_one():
    judge = judge_for("all-MiniLM-L6-v2")
    vectors = np.tile(judge.null_labels[:1], (20_000, 1))
    chat = SearchableChat.of(messages_saying(*["the harbour"] * 20_000), vectors, judge)
    (evidence,) = evidence_for(["harbour"], vectors[:1], chat, judge)
    assert len(first_pass(evidence).candidates) == 8_192

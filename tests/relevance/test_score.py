import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from smart_context.chat.messages import Message
from smart_context.relevance.judge.calibrate import (
    MINILM,
    PROBABLY,
    Scale,
    estimated_scale,
    scale_for,
)
from smart_context.relevance.score import Scores, TopicQuery, score_plain
from smart_context.relevance.scorer import RelevanceScorer, clearly_nearest
from smart_context.relevance.vectors.cache import EmbeddingCache
from smart_context.relevance.vectors.cosines import similarities, unit
from smart_context.storage.files.vectors import FileVectors
from tests.relevance.doubles import FakeEmbedder, messages_saying

pytestmark = pytest.mark.anyio


def rows(*values):
    return np.array(values, dtype=np.float32)


def scorer(tmp_path, embedder, **options):
    cache = EmbeddingCache(FileVectors(tmp_path), embedder)
    return RelevanceScorer(cache, **options)


@pytest.mark.parametrize(
    ("label", "message", "expected"),
    [
        pytest.param([1, 0], [1, 0], 1.0, id="the same direction"),
        pytest.param([1, 0], [0, 1], 0.0, id="at right angles"),
        pytest.param([1, 0], [-1, 0], -1.0, id="opposite"),
        pytest.param([2, 0], [0.4, 0.9165151], 0.4, id="lengths don't matter"),
        pytest.param([1, 0], [0, 0], 0.0, id="a zero vector scores 0"),
        pytest.param([0, 0], [1, 0], 0.0, id="a zero label scores 0"),
    ],
)
def test_plain_is_the_raw_cosine(label, message, expected):
    scores = score_plain(["Topic"], rows(label), rows(message))
    assert scores.best[0] == pytest.approx(expected, abs=1e-6)


def test_a_messages_score_is_its_largest_over_the_selected_topics():
    scores = score_plain(["A", "B"], rows([1, 0], [0, 1]), rows([0.6, 0.8], [1, 0]))
    assert scores.best.tolist() == pytest.approx([0.8, 1.0])
    assert scores.topics_of(np.array([0, 1])) == ["B", "A"]


def test_scores_that_are_not_numbers_never_win():
    scores = Scores(labels=("A", "B"), values=rows([np.nan, np.nan], [0.3, np.nan]))
    assert scores.best.tolist() == pytest.approx([0.3, -1])


def test_scores_of_no_topic_are_zero():
    assert Scores(labels=(), values=np.zeros((0, 3), np.float32)).best.tolist() == [0, 0, 0]


async def test_plain_scoring_embeds_the_bare_label_and_the_bare_message(tmp_path):
    embedder = FakeEmbedder(vectors={"Tax": [1, 0], "pay vat": [0.6, 0.8]})
    topic = TopicQuery(label="Tax", keywords=("vat",), message_ids=("m1",))
    found = await scorer(tmp_path, embedder, mode="plain").scores(
        "c", messages_saying("pay vat", ""), [topic]
    )
    assert embedder.asked == ["Tax", "pay vat"]
    assert found.values[0].tolist() == pytest.approx([0.6, 0])


BASES = {"Bike Tour": [1, 0, 0], "ride the bike": [0.9, 0.1, 0], "bread rises": [0, 1, 0]}


def hm(count, begin=0):
    """Messages that say nothing, each with a text of its own."""
    return [f"hm{number:02}" for number in range(begin, begin + count)]


async def enriched(tmp_path, texts, topics, others=(), vectors=BASES, whole=False, **extra):
    embedder = FakeEmbedder(dimensions=3, vectors={t: [0, 0, 1] for t in texts} | vectors)
    messages = messages_saying(*texts)
    if extra:
        messages = [
            Message(id=m.id, role=m.role, content=m.content, extra={"name": name})
            for m, name in zip(messages, extra["names"], strict=True)
        ]
    found = await scorer(tmp_path, embedder).scores("c", messages, topics, others=others)
    return found if whole else found.values


async def test_enriched_finds_what_is_about_the_label_above_the_threshold(tmp_path):
    texts = ["hm"] * 8 + ["ride the bike"] + ["hm"] * 8
    ((*scores,),) = await enriched(tmp_path, texts, [TopicQuery(label="Bike Tour")])
    assert max(scores) == scores[8] >= PROBABLY
    assert min(scores) == scores[0] < PROBABLY


async def test_enriched_counts_neighbours(tmp_path):
    texts = [*hm(20), "ride the bike", *hm(20, 20)]
    ((*scores,),) = await enriched(tmp_path, texts, [TopicQuery(label="Bike Tour")])
    assert scores[21] > scores[0]
    assert scores[19] > scores[0]


async def test_enriched_counts_shared_words_where_the_embedding_sees_nothing(tmp_path):
    texts = ["hm"] * 8 + ["the zx81 manual"] + ["hm"] * 8
    ((*scores,),) = await enriched(tmp_path, texts, [TopicQuery(label="zx81")])
    assert max(scores) == scores[8] >= PROBABLY


async def test_what_answers_a_question_about_the_topic_counts_more_than_what_follows_a_remark(
    tmp_path,
):
    asked = [*hm(8), "ride the bike?", *hm(9, 8)]
    said = [*hm(8, 17), "ride the bike!", *hm(9, 25)]
    vectors = BASES | {text: [0.9, 0.1, 0] for text in ("ride the bike?", "ride the bike!")}
    ((*scores,),) = await enriched(
        tmp_path, asked + said, [TopicQuery(label="Bike Tour")], vectors=vectors
    )
    assert scores[8] == pytest.approx(scores[8 + len(asked)])
    assert scores[9] > scores[9 + len(asked)]
    assert scores[7] == pytest.approx(scores[7 + len(asked)])


async def test_a_word_of_the_topic_counts_most_up_to_three_messages_away(tmp_path):
    texts = [*hm(12), "the zx81 manual", *hm(12, 12)]
    ((*scores,),) = await enriched(tmp_path, texts, [TopicQuery(label="zx81")])
    assert scores[11] > scores[9] > scores[8] > scores[6]
    assert scores[15] > scores[16] > scores[18]
    assert scores[7:9] == pytest.approx(scores[16:18])


async def test_members_of_a_topic_stay_whatever_they_say_with_scores_of_their_own(tmp_path):
    texts = ["ride the bike", "ok", "bread rises", "bread rises"]
    topic = TopicQuery(label="Bike Tour", message_ids=("m1", "m2", "gone"))
    found = await enriched(tmp_path, texts, [topic], whole=True)
    assert found.kept(PROBABLY).tolist() == [True, True, False, False]
    assert found.best[0] > found.best[1] > found.best[2] == found.best[3]


async def test_messages_of_other_topics_stay_out_and_members_with_the_same_words_in(tmp_path):
    texts = ["ride the bike", "ride the bike", "bread rises"]
    mine = TopicQuery(label="Bike Tour", message_ids=("m1",))
    other = TopicQuery(label="Bread", message_ids=("m2",))
    alone = await enriched(tmp_path, texts, [mine], whole=True)
    assert alone.kept(PROBABLY).tolist() == [True, True, False]
    found = await enriched(tmp_path, texts, [mine], [other], whole=True)
    assert found.best[0] == found.best[1] < found.cut(PROBABLY)
    assert found.kept(PROBABLY).tolist() == [True, False, False]
    assert found.cut(0.9) >= found.cut(PROBABLY) >= found.cut(0.1)


async def test_a_new_message_close_to_the_members_is_found(tmp_path):
    texts = ["ride the bike"] * 3 + ["bread rises"] * 9 + ["hm"] * 9 + ["ride the bike"]
    mine = TopicQuery(label="Bike Tour", message_ids=("m1", "m2", "m3"))
    other = TopicQuery(label="Bread", message_ids=tuple(f"m{i}" for i in range(4, 13)))
    ((*scores,),) = await enriched(tmp_path, texts, [mine], [other])
    assert scores[-1] >= PROBABLY


async def test_a_topic_that_the_chat_never_speaks_of_reaches_no_threshold(tmp_path):
    texts = ["hm", "bread rises"] * 6
    ((*scores,),) = await enriched(
        tmp_path, texts, [TopicQuery(label="Nowhere")], vectors=BASES | {"Nowhere": [-1, 0, 0]}
    )
    assert max(scores) < PROBABLY


async def test_a_label_that_names_an_author_favours_the_authors_messages(tmp_path):
    texts = hm(6)
    names = ["Ann", "Bob"] * 3
    ((*scores,),) = await enriched(
        tmp_path, texts, [TopicQuery(label="What did Ann say?")], names=names
    )
    assert min(scores[::2]) > max(scores[1::2])


@pytest.mark.parametrize("mode", ["plain", "enriched"])
@pytest.mark.parametrize("texts", [[], [""], ["", " "], ["one"]])
async def test_small_and_empty_chats_are_scored_without_trouble(tmp_path, mode, texts):
    found = await scorer(tmp_path, FakeEmbedder(), mode=mode).scores(
        "c", messages_saying(*texts), [TopicQuery(label="Tax"), TopicQuery(label=" ")]
    )
    assert found.values.shape == (2, len(texts))
    assert np.isfinite(found.values).all()


@given(st.integers(0, 3), st.integers(0, 700), st.integers(1, 8))
def test_similarities_are_exact_dot_products(queries, count, width):
    random = np.random.default_rng(count)
    left = random.standard_normal((queries, width)).astype(np.float32)
    right = random.standard_normal((count, width)).astype(np.float32)
    np.testing.assert_allclose(similarities(left, right), left @ right.T, atol=1e-4)


@given(arrays(np.float32, (3, 4), elements=st.floats(-(2.0**100), 2.0**100, width=32)))
def test_unit_rows_have_length_one_or_zero(matrix):
    lengths = np.linalg.norm(unit(matrix), axis=1)
    assert all(length == 0 or length == pytest.approx(1, abs=1e-4) for length in lengths)


def test_unit_leaves_unit_rows_bit_for_bit_and_its_argument_alone():
    matrix = rows([0.6, 0.8], [3, 4], [np.inf, 1])
    before = matrix.copy()
    np.testing.assert_array_equal(unit(matrix)[0], rows([0.6, 0.8])[0])
    np.testing.assert_allclose(unit(matrix)[1], [0.6, 0.8], rtol=1e-6)
    assert not unit(matrix)[2].any()
    np.testing.assert_array_equal(matrix, before)


def test_a_scale_puts_probable_at_the_default_threshold_and_keeps_the_order():
    assert MINILM.to_user(np.float32(MINILM.probable)) == pytest.approx(PROBABLY)
    values = MINILM.to_user(np.linspace(-1, 1, 50, dtype=np.float32))
    assert (np.diff(values) > 0).all()


@pytest.mark.parametrize("wrong", [(0.5, 0.4, 0.6), (-1, 0.2, 0.4), (0.1, 0.2, 1.0)])
def test_a_scale_that_does_not_rise_is_refused(wrong):
    unrelated, probable, sure = wrong
    with pytest.raises(ValueError, match="rise"):
        Scale(unrelated=unrelated, probable=probable, sure=sure)


@pytest.mark.parametrize("name", ["embedded/all-MiniLM-L6-v2", "all-minilm", "org/ALL-MINILM"])
def test_a_known_model_has_its_own_scale(name):
    assert scale_for(name, np.full(100, 0.7)) == MINILM


def test_an_unknown_models_scale_comes_from_its_background():
    background = np.random.default_rng(0).normal(0.7, 0.03, 500)
    scale = scale_for("some/model", background)
    assert scale.unrelated == pytest.approx(0.7, abs=0.01)
    assert 0.72 < scale.probable < 0.8
    assert (scale.to_user(background.astype(np.float32)) < PROBABLY).mean() > 0.9


@given(st.lists(st.floats(-1, 1), max_size=60))
def test_any_background_gives_a_scale(background):
    assert estimated_scale(background).probable < 1


@pytest.mark.parametrize(
    ("near", "meant"),
    [
        pytest.param([0.1, 0.6, 0.3], [1], id="one far before the others"),
        pytest.param([0.6, 0.1, 0.57], [0, 2], id="two alike before the others"),
        pytest.param([0.6, 0.1, 0.5], [], id="two, neither alike nor apart"),
        pytest.param([0.6, 0.58, 0.59], [], id="three alike"),
        pytest.param([0.3, 0.0], [], id="far from all"),
        pytest.param([0.5], [0], id="a single topic"),
        pytest.param([], [], id="no topics"),
    ],
)
def test_a_text_is_about_what_is_clearly_nearest(near, meant):
    assert clearly_nearest(np.array(near)) == meant

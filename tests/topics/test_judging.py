"""What a model says of the topics is checked before it is believed."""

import json

import numpy as np
import pytest

from smart_context.base.errors import ModelFailed
from smart_context.chat.messages import Message
from smart_context.llm.models import unit_rows
from smart_context.topics.extraction import ExtractionFailed
from smart_context.topics.judging import ModelTopicJudge, Pace
from smart_context.topics.values import Extraction, Previous, Topic
from tests.scripted import ScriptedChatModel

pytestmark = pytest.mark.anyio

WORDS = ("bread", "flour", "oven", "python", "loop", "task", "面包", "烤箱", "crust")
QUESTIONS = {
    "q1": "How much flour for bread?",
    "q2": "Which oven for bread?",
    "q3": "What is a task in python?",
    "q4": "Does a python loop end?",
}
MESSAGES = [Message(id=key, role="user", content=text) for key, text in QUESTIONS.items()]
BREAD = Topic(label="Flour", count=2, message_ids=("q1", "q2"), id="b")
PYTHON = Topic(label="Loop", count=2, message_ids=("q3", "q4"), id="p")
FOUND = Extraction(topics=(BREAD, PYTHON))


class WordEmbedder:
    """Embeds a text as the words that it has."""

    name = "words"

    async def embed(self, texts):
        rows = [[word in text.lower() for word in WORDS] for text in texts]
        return unit_rows(np.array(rows, dtype=np.float32).reshape(len(texts), len(WORDS)))


def replying(*replies):
    return ScriptedChatModel([json.dumps(r) if isinstance(r, dict) else r for r in replies])


async def judged(*replies, found=FOUND, messages=MESSAGES, previous=None, pace=None):
    judge = ModelTopicJudge(replying(*replies), WordEmbedder(), pace or Pace())
    return await judge.judged(found, messages, previous=previous or Previous())


def labels(extraction):
    return [topic.label for topic in extraction.topics]


async def test_names_that_fit_are_taken_and_the_model_is_not_asked_again():
    model = replying({"1": "Bread Baking", "2": "Python Loops", "title": "Bread and Python"})
    judge = ModelTopicJudge(model, WordEmbedder(), Pace())
    found = await judge.judged(FOUND, MESSAGES, previous=Previous())
    assert labels(found) == ["Bread Baking", "Python Loops"]
    assert found.title == "Bread and Python"
    assert [topic.message_ids for topic in found.topics] == [("q1", "q2"), ("q3", "q4")]
    assert await judge.judged(found, MESSAGES, previous=Previous()) == found
    assert len(model.asked) == 1


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("Python Loops", id="that of another group"),
        pytest.param("Thank You", id="a courtesy"),
        pytest.param("How much flour for bread do I need at all, please?", id="a question"),
        pytest.param("Which Bread Flour?", id="a short question"),
        pytest.param("Bread Flour Oven Crust Dough", id="more words than a bubble holds"),
        pytest.param("General Questions", id="no word and no meaning of its own"),
        pytest.param("Crust Making Stoves", id="mostly words that nobody said"),
        pytest.param("Instructions & Preferences", id="the label of standing instructions"),
        pytest.param("", id="nothing"),
        pytest.param("面包", id="another script"),
    ],
)
async def test_a_name_that_fails_keeps_the_one_that_was_found(name):
    found = await judged({"1": name, "2": "Python Loops"})
    assert labels(found) == ["Flour", "Python Loops"]


@pytest.mark.parametrize(
    ("former", "name", "kept"),
    [
        pytest.param("Bread Crust", "Oven", "Bread Crust", id="much farther"),
        pytest.param("Bread Flour", "Crust", "Bread Flour", id="a little farther"),
        pytest.param("Crust", "Bread Flour", "Bread Flour", id="nearer"),
    ],
)
async def test_a_name_of_other_words_is_no_farther_from_the_messages_than_the_former(
    former, name, kept
):
    texts = {"q1": "How much flour for bread crust?", "q2": "Which oven for bread crust?"}
    bread = [Message(id=key, role="user", content=text) for key, text in texts.items()]
    topic = Topic(label=former, count=2, message_ids=("q1", "q2"), id="b")
    found = await judged(
        {"1": name, "2": "Python Loops"},
        found=Extraction(topics=(topic, PYTHON)),
        messages=[*bread, *MESSAGES[2:]],
    )
    assert labels(found)[0] == kept


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        pytest.param("Bread Flour Oven", "Bread Flour", id="all of the former, and more"),
        pytest.param("Flour and Bread", "Bread Flour", id="the same words"),
        pytest.param("Bread Questions", "Bread Flour", id="a word that names no subject"),
        pytest.param("Which Oven for Bread", "Bread Flour", id="a piece of a message"),
        pytest.param("Bread Oven", "Bread Oven", id="a word that does"),
    ],
)
async def test_a_name_has_to_do_more_than_repeat_words(name, kept):
    former = Topic(label="Bread Flour", count=2, message_ids=("q1", "q2"), id="b")
    found = Extraction(topics=(former, PYTHON))
    named = await judged({"1": name, "2": "Python Loops"}, found=found)
    assert labels(named)[0] == kept


async def test_a_word_that_most_messages_have_does_not_go_for_one_that_few_have():
    texts = {"q1": "Healthy flour?", "q2": "Healthy bread?", "q5": "A healthy oven?"}
    messages = [
        *(Message(id=key, role="user", content=text) for key, text in texts.items()),
        *MESSAGES[2:],
    ]
    former = Topic(label="Healthy", count=3, message_ids=tuple(texts), id="b")
    found = Extraction(topics=(former, PYTHON))
    for name, kept in (("Bread Flour", "Bread Flour"), ("Flour", "Healthy")):
        named = await judged({"1": name, "2": "Python Loops"}, found=found, messages=messages)
        assert labels(named)[0] == kept


@pytest.mark.parametrize(
    ("name", "kept"),
    [("Bread 오븐", "Bread 오븐"), ("Bread 굽나요", "Flour"), ("Bread 9점입니다", "Flour")],
)
async def test_a_korean_name_ends_in_a_noun(name, kept):
    texts = {"q1": "굽기 오븐", "q2": "굽나요, 온도는 9점입니다"}
    messages = [
        *(Message(id=key, role="user", content=f"bread: {text}") for key, text in texts.items()),
        *MESSAGES[2:],
    ]
    assert labels(await judged({"1": name}, messages=messages))[0] == kept


async def test_names_that_are_shifted_by_one_are_all_refused():
    found = await judged({"1": "Python Loops", "2": "Bread Baking"})
    assert labels(found) == ["Flour", "Loop"]


async def test_an_english_name_for_chinese_messages_is_refused():
    texts = ["面包用多少面粉", "烤箱要多热"]
    chinese = [Message(id=f"c{n}", role="user", content=text) for n, text in enumerate(texts)]
    topic = Topic(label="面粉", count=2, message_ids=("c0", "c1"), id="c")
    messages, found = [*chinese, *MESSAGES[2:]], Extraction(topics=(topic, PYTHON))
    asked = [{"1": name, "2": "Python Loops"} for name in ("Bread", "烤箱面包")]
    results = [await judged(reply, found=found, messages=messages) for reply in asked]
    assert [labels(result)[0] for result in results] == ["面粉", "烤箱面包"]


async def test_a_chinese_name_is_no_question():
    texts = ["面包用多少面粉", "面包的烤箱要多热"]
    chinese = [Message(id=f"c{n}", role="user", content=text) for n, text in enumerate(texts)]
    topic = Topic(label="面粉", count=2, message_ids=("c0", "c1"), id="c")
    messages, found = [*chinese, *MESSAGES[2:]], Extraction(topics=(topic, PYTHON))
    for name, shown in (("面包面粉多少", "面粉"), ("怎么烤面包", "面粉"), ("面包面粉", "面包面粉")):
        named = await judged({"1": name}, found=found, messages=messages)
        assert labels(named)[0] == shown


async def test_a_half_english_name_for_french_messages_is_refused():
    texts = [
        "Comment est-ce que je finis une boucle en python ?",
        "Et si la liste est vide, python ?",
    ]
    french = [Message(id=f"f{n}", role="user", content=text) for n, text in enumerate(texts)]
    topic = Topic(label="Boucle", count=2, message_ids=("f0", "f1"), id="f")
    found = Extraction(topics=(topic, BREAD))
    for name, shown in (("Python Loops", "Boucle"), ("Boucle Python", "Boucle Python")):
        named = await judged({"1": name, "2": "x"}, found=found, messages=[*french, *MESSAGES[:2]])
        assert labels(named)[0] == shown


async def test_the_language_of_the_names_is_that_of_whole_messages():
    texts = ["What are the plastic containers for the freezer?", "Could I freeze a credit card?"]
    messages = [Message(id=text, role="user", content=text) for text in texts]
    topic = Topic(label="Freezer", count=2, message_ids=tuple(texts), id="f")
    model = replying({"1": "Freezer Containers"})
    judge = ModelTopicJudge(model, WordEmbedder(), Pace())
    await judge.judged(Extraction(topics=(topic,)), messages, previous=Previous())
    assert "in English." in model.asked[0].messages[-1]["content"]


async def test_two_groups_with_one_name_become_one_only_if_they_are_alike():
    one = Topic(label="Flour", count=1, message_ids=("q1",), id="a")
    other = Topic(label="Oven", count=1, message_ids=("q2",), id="b")
    alike = Extraction(topics=(one, other, PYTHON))
    reply = {"1": "Python Loops", "2": "Bread Baking", "3": "Bread Baking"}
    found = await judged(reply, found=alike)
    assert [(t.label, t.message_ids) for t in found.topics] == [
        ("Bread Baking", ("q1", "q2")),
        ("Python Loops", ("q3", "q4")),
    ]
    settled = Previous(settled=frozenset({"q1"}))
    kept = await judged(reply, found=alike, previous=settled)
    assert [topic.message_ids for topic in kept.topics] == [("q1",), ("q2",), ("q3", "q4")]


async def test_what_the_user_has_picked_or_named_keeps_its_name():
    previous = Previous(fixed_labels=frozenset({"Flour"}))
    found = await judged({"1": "Python Loops"}, previous=previous)
    assert labels(found) == ["Flour", "Python Loops"]


async def test_the_model_may_say_which_notes_of_the_user_always_hold():
    note = Message(id="n", role="user", content="I bake without wheat.")
    thanks = Message(id="t", role="user", content="Thank you very much!")
    messages = [*MESSAGES, note, thanks]
    model = replying({"1": "Bread Baking", "2": "Python Loops", "sticky_message_ids": [1, 2, 9]})
    judge = ModelTopicJudge(model, WordEmbedder(), Pace())
    found = await judge.judged(FOUND, messages, previous=Previous())
    assert found.sticky_ids == ("n",)
    shown = model.asked[0].messages[-1]["content"]
    assert "1: I bake without wheat." in shown
    assert "Thank you" not in shown


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        pytest.param("no", "scripted gave no names for the topics .found “no”.", id="talk"),
        pytest.param(ModelFailed("refused"), "scripted did not answer: refused", id="no answer"),
    ],
)
async def test_a_failure_has_a_reason_for_people(reply, reason):
    with pytest.raises(ExtractionFailed, match=reason) as failure:
        await judged(reply)
    assert failure.value.reason == str(failure.value)


async def test_names_are_found_in_fences_and_between_words():
    reply = 'Sure!\n```json\n{"1": "Bread Baking", "2": "Python Loops"}\n```'
    assert labels(await judged(reply)) == ["Bread Baking", "Python Loops"]


READING = {
    "topics": [
        {"label": "Baking Bread", "message_ids": [1, 2]},
        {"label": "Python Loops", "message_ids": [3, 4]},
    ],
    "sticky_message_ids": [4, 99],
}


def fast():
    pace = Pace()
    pace.took("scripted", 10_000, 1)
    return pace


async def test_a_fast_model_reads_the_whole_chat_by_numbers():
    found = await judged(READING, pace=fast())
    assert [(t.label, t.message_ids) for t in found.topics] == [
        ("Baking Bread", ("q1", "q2")),
        ("Python Loops", ("q3", "q4")),
    ]
    assert found.sticky_ids == ("q4",)


@pytest.mark.parametrize(
    "reading",
    [
        pytest.param([{"label": "Bread", "message_ids": [1]}], id="covers a fourth"),
        pytest.param([{"label": "Bread", "count": 2}], id="names no messages"),
        pytest.param(
            [
                {"label": "One", "message_ids": [1, 3]},
                {"label": "Other", "message_ids": [2, 4]},
            ],
            id="tears what is together",
        ),
        pytest.param(
            [{"label": "All", "message_ids": [1, 2, 3, 4]}], id="puts two subjects into one"
        ),
    ],
)
async def test_a_reading_that_does_not_prove_itself_is_asked_in_the_short_way(reading):
    pace = fast()
    model = replying({"topics": reading}, *[{"1": "Bread Baking", "2": "Python Loops"}] * 2)
    judge = ModelTopicJudge(model, WordEmbedder(), pace)
    for asked in (2, 3):  # from then on, only in the short way
        found = await judge.judged(FOUND, MESSAGES, previous=Previous())
        assert labels(found) == ["Bread Baking", "Python Loops"]
        assert len(model.asked) == asked


async def test_a_slow_model_is_never_asked_to_read_the_whole_chat():
    pace = Pace()
    pace.took("scripted", 10, 1)
    model = replying({"1": "Bread Baking", "2": "Python Loops"})
    await ModelTopicJudge(model, WordEmbedder(), pace).judged(FOUND, MESSAGES, previous=Previous())
    (asked,) = model.asked
    assert "Group 1" in asked.messages[-1]["content"]


async def test_a_long_chat_costs_a_few_hundred_tokens():
    messages = [
        Message(id=f"m{n}", role="user", content=f"{'bread flour ' * 200}{n}") for n in range(2_000)
    ]
    topic = Topic(label="Flour", count=2_000, message_ids=tuple(m.id for m in messages), id="b")
    model = replying({"1": "Bread Baking"})
    judge = ModelTopicJudge(model, WordEmbedder(), Pace())
    await judge.judged(Extraction(topics=(topic,)), messages, previous=Previous())
    assert sum(len(m["content"]) for m in model.asked[0].messages) < 2_000


async def test_a_model_that_fails_again_and_again_is_asked_later_and_later():
    now = [0.0]
    pace = Pace(clock=lambda: now[0])
    model = ScriptedChatModel(lambda _: "no")
    judge = ModelTopicJudge(model, WordEmbedder(), pace)

    async def asked(seconds, **wishes):
        now[0] += seconds
        before = len(model.asked)
        with pytest.raises(ExtractionFailed, match="gave no names"):
            await judge.judged(FOUND, MESSAGES, previous=Previous(), **wishes)
        return len(model.asked) - before

    assert [await asked(1) for _ in range(3)] == [1, 1, 0]
    assert [await asked(s) for s in (30, 30, 31)] == [1, 0, 1]
    assert await asked(1, insists=True) == 1


async def test_a_model_that_answers_again_is_no_longer_left_alone():
    pace = Pace(clock=lambda: 0.0)
    good = {"1": "Bread Baking", "2": "Python Loops"}
    judge = ModelTopicJudge(replying("no", "no", good, "no", good), WordEmbedder(), pace)
    for _ in range(2):
        with pytest.raises(ExtractionFailed):
            await judge.judged(FOUND, MESSAGES, previous=Previous())
    await judge.judged(FOUND, MESSAGES, previous=Previous(), insists=True)
    with pytest.raises(ExtractionFailed):
        await judge.judged(FOUND, MESSAGES, previous=Previous())
    assert labels(await judge.judged(FOUND, MESSAGES, previous=Previous())) == [*good.values()]


@pytest.mark.parametrize(
    ("asked", "title", "kept"),
    [
        ("교토에서 python 없이 여행하기", "Travel in Kyoto", ""),
        ("교토에서 python 없이 여행하기", "교토 여행", "교토 여행"),
        ("パンの作り方を教えて", "製法", "製法"),
        ("Как испечь хлеб?", "Baking Bread", ""),
        ("1 + 1?", "Sums", "Sums"),
    ],
)
async def test_a_title_in_another_script_than_the_chat_is_refused(asked, title, kept):
    messages = [Message(id=key, role="user", content=asked) for key in QUESTIONS]
    found = await judged({"1": "Flour", "2": "Loop", "title": title}, messages=messages)
    assert found.title == kept

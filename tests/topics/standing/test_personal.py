import numpy as np
import pytest

from smart_context.chat.messages import Message, MessageId
from smart_context.topics.embedded import EmbeddedTopicExtractor
from smart_context.topics.standing.personal import is_personal, personal_statements, standing_facts

LASTING = [
    "I'm left-handed.",
    "I am a retired nurse.",
    "I\u2019m 172 cm tall.",
    "I'm Canadian.",
    "I live near Oslo.",
    "We really love hiking in the mountains.",
    "I don't like horror movies.",
    "I don't eat pork.",
    "I never drink coffee after noon.",
    "I have a peanut allergy.",
    "I have two daughters.",
    "I don't have a garden.",
    "My younger brother is a carpenter.",
    "My wife hates flying.",
    "I work as a translator.",
    "Ich wohne in Leipzig.",
    "Meine Tochter ist sieben.",
    "J'habite à Lyon.",
    "Vivo en Sevilla.",
    "我不吃辣。",
    "我有两个孩子。",
]
TOLD = [
    "I bought a cast iron pan.",
    "We moved to Porto last spring.",
    "I have started a job as a gardener.",
    "I will stay in Lima for a month.",
    "Bought a second-hand piano.",
    "Because of my knee, I take the lift.",
    "It is hard for me to get up early.",
]
PASSING = [
    "I'm building a web shop.",
    "I'm stuck.",
    "I'm a bit lost here.",
    "I like the second option.",
    "I like it.",
    "I love that idea!",
    "I prefer to keep the old one.",
    "I have a 6 GB CSV file.",
    "I have to group by customer and sum the amounts.",
    "I live in Oslo, how do I get to Bergen?",
    "I want to learn the cello.",
    "I think we should wait.",
    "I started to learn the guitar.",
    "My daughter is vegetarian, is that hard in Japan?",
    "My tomato leaves turn yellow.",
    "My script is slow.",
    "My server has 8 cores.",
    "I have a function with two arguments.",
    "I don't like how this code looks.",
    "I'm a beginner, please help me with loops.",
    "I read the docs but they say nothing.",
    "We use Postgres 16.",
    "What do you like?",
    "",
]
AXES = ("food", "cars", "music")


class AxisEmbedder:
    """A text lies along the words of it that are axes."""

    name = "axes"

    async def embed(self, texts):
        rows = np.array([[float(axis in t) for axis in AXES] + [0.01] for t in texts], np.float32)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def chat(*lines):
    return [
        Message(
            id=MessageId(f"m{place}"),
            role="assistant" if line.startswith("a: ") else "user",
            content=line.removeprefix("a: "),
        )
        for place, line in enumerate(lines)
    ]


@pytest.mark.parametrize("text", LASTING)
def test_a_lasting_fact_about_oneself_is_personal(text):
    assert is_personal(text)


@pytest.mark.parametrize("text", TOLD)
def test_what_one_did_is_personal_in_a_note_only(text):
    assert is_personal(text, is_note=True)
    assert not is_personal(text)


@pytest.mark.parametrize("text", PASSING)
def test_a_question_a_wish_or_work_at_hand_is_not_personal(text):
    assert not is_personal(text)
    assert not is_personal(text, is_note=True)


def test_only_a_message_that_nobody_answered_at_length_is_a_note():
    long = "a: Season it with oil, heat it slowly for an hour, let it cool and do it all again."
    told = "I bought a cast iron pan."
    assert personal_statements(chat(told, "What can I cook?")) == [0]
    assert personal_statements(chat(told, "a: Noted!", "What can I cook?")) == [0]
    assert personal_statements(chat(told, long, "What can I cook?")) == []
    assert personal_statements(chat(told)) == []


def test_an_acknowledgement_and_a_statement_have_their_lengths():
    told = "I bought a cast iron pan."
    noted = "a: Noted" + "!" * (120 - len("Noted"))
    assert personal_statements(chat(told, noted, "What can I cook?")) == [0]
    assert personal_statements(chat(told, f"{noted}!", "What can I cook?")) == []
    lives = "I live near Oslo.".ljust(200, "x")
    assert personal_statements(chat(lives, "a: Ok.")) == [0]
    assert personal_statements(chat(f"{lives}x", "a: Ok.")) == []


def test_what_the_assistant_says_of_itself_and_long_texts_do_not_count():
    assert personal_statements(chat("a: I live near Oslo.", "I live near Oslo.")) == [1]
    assert personal_statements(chat("I live near Oslo. " + "It rains a lot. " * 20)) == []


def test_where_both_sides_tell_of_their_lives_answered_facts_are_small_talk():
    asked = "How far is it?"
    talk = (asked, "a: My dog likes it.", "I live near Oslo.", "a: I work at a bakery.", asked)
    assert personal_statements(chat(*talk)) == []
    assert personal_statements(chat(asked, "a: Two miles.", *talk[2:3], "a: Noted.")) == [2]
    assert personal_statements(chat(*talk, "a: Far.", "I was diagnosed with asthma.")) == [6]
    assert personal_statements(chat(*talk, "I live in a flat.", "I never drink.")) == [5]
    assert personal_statements(chat(*talk, *["a: An hour.", asked] * 40)) == [2]


@pytest.mark.anyio
async def test_a_fact_stands_where_the_chat_is_near_it():
    messages = chat(
        "I love spicy food.",
        "I love fast cars.",
        "Which food goes with rice?",
        "a: Most food does, and fish food.",
        "Any other food?",
    )
    vectors = await AxisEmbedder().embed([message.text for message in messages])
    assert standing_facts(messages, vectors) == {0}
    found = await EmbeddedTopicExtractor(AxisEmbedder()).extract(messages)
    assert found.sticky_ids == ("m0",)


@pytest.mark.anyio
async def test_neither_its_own_answer_nor_other_facts_make_a_fact_stand():
    messages = chat(
        "I love spicy food.",
        "a: Who does not love food!",
        "I don't like bland food.",
        "What about cars?",
        "And music?",
    )
    vectors = await AxisEmbedder().embed([message.text for message in messages])
    assert standing_facts(messages, vectors) == frozenset()


def test_the_three_nearest_messages_count_whatever_the_length_of_their_vectors():
    messages = chat("I love spicy food.", *("a: Well." for _ in range(6)))
    vectors = np.zeros((7, 2), dtype=np.float32)
    vectors[0] = [5.0, 0.0]
    for place, cosine in enumerate((1.0, 0.3, 0.3, 0.12, 0.1, 0.1), start=1):
        vectors[place] = [100 * cosine, 100 * np.sqrt(1 - cosine**2)]
    assert standing_facts(messages, vectors) == {0}  # its answer left out, on average 0.24
    vectors[4] = [11.0, 99.4]
    assert standing_facts(messages, vectors) == frozenset()


@pytest.mark.parametrize(
    ("lines", "near", "stand"),
    [
        pytest.param(("a: Hm.", "I love food.", "a: Me too.", "Cars?"), 2, (), id="its answer"),
        pytest.param(("a: Hm.", "a: Hm.", "I love food.", "a: Me too."), 3, (), id="at the end"),
        pytest.param(("a: Hm.", "a: Hm.", "I love food.", "And you?"), 3, (2,), id="a question"),
        pytest.param(("a: Hm.", "a: Hm.", "a: Food.", "I love food."), 2, (3,), id="none yet"),
    ],
)
def test_its_own_answer_does_not_make_a_statement_stand(lines, near, stand):
    messages = chat(*lines)
    vectors = np.array([[0.0, 1.0]] * len(lines), dtype=np.float32)
    vectors[[near, *personal_statements(messages)]] = [1.0, 0.0]
    assert standing_facts(messages, vectors) == frozenset(stand)


def test_a_hostile_text_is_read_in_no_time():
    assert not is_personal("i " * 50_000 + "like " * 50_000)
    assert not is_personal("my younger " * 20_000)


@pytest.mark.parametrize(
    "text",
    [
        "I am diagnosed with diabetes.",
        "I've been diagnosed with asthma",
        "My son was diagnosed with ADHD.",
        "I suffer from migraines.",
        "我患有糖尿病。",
    ],
)
def test_a_diagnosis_is_a_fact_wherever_it_is_said(text):
    assert is_personal(text)


def test_in_several_messages_in_a_row_all_that_somebody_says_of_themselves_counts():
    texts = ["The gym near my place closed.", "Rain is likely.", "Where do I run?", "Ok."]
    said = [Message(id=MessageId(f"m{n}"), role="user", content=t) for n, t in enumerate(texts)]
    assert personal_statements(said) == [0]
    answer = Message(id=MessageId("a"), role="assistant", content="There are others in town.")
    assert personal_statements([said[0], answer, *said[1:]]) == []
    assert personal_statements([answer, answer, *said]) == [2]

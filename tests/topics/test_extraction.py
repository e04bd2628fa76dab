"""Keywords of topics, and how a reading by a model changes what stands."""

from smart_context.chat.messages import Message
from smart_context.topics.clusters.keywords import Keywords
from smart_context.topics.extraction import reconciled, with_keywords
from smart_context.topics.values import MOST_READ, Extraction, Previous, Topic

IDS = [f"{role}{n}" for n in range(1, 9) for role in "qa"]
MESSAGES = [
    Message(id=i, role="user" if i[0] == "q" else "assistant", content=f"about {i}") for i in IDS
]


def topic(label, numbers, **others):
    ids = tuple(f"{role}{n}" for n in numbers for role in "qa")
    return Topic(label=label, count=len(ids), message_ids=ids, **others)


def after(previous, *read, **relied_on):
    """The numbers of the questions of each topic, after a reading."""
    known = Previous(topics=tuple(previous), **relied_on)
    found = reconciled(Extraction(topics=read), known, MESSAGES)
    return {t.label: "".join(i[1:] for i in t.message_ids if i[0] == "q") for t in found.topics}


BOATS, KNOTS = topic("Boats", (1, 2, 3), id="b"), topic("Knots", (4, 5, 6), id="k")


def test_a_reading_moves_nothing_that_stands_but_the_newest_questions():
    shuffled = (topic("Sailing", (3, 4, 7)), topic("Ropes", (1, 2, 5, 6, 8)))
    found = after([BOATS, KNOTS], *shuffled)
    assert found["Boats"].startswith("123")
    assert found["Knots"].startswith("45")


def test_a_topic_keeps_its_label_when_it_comes_back_under_another():
    assert after([BOATS, KNOTS], topic("Ships", (1, 2, 3)), topic("Ropes", (4, 5, 6))) == {
        "Boats": "123",
        "Knots": "456",
    }


def test_what_the_user_put_back_stays():
    read = (topic("Boats", (1, 2, 3, 8)), topic("Knots", (4, 5, 6)))
    knots = topic("Knots", (4, 5, 6, 8), id="k")
    settled = frozenset({"q8", "a8"})
    assert after([BOATS, knots], *read) == {"Boats": "1238", "Knots": "456"}
    assert after([BOATS, knots], *read, settled=settled) == {"Boats": "123", "Knots": "4568"}


def test_what_follows_the_beginning_of_a_huge_message_gives_no_keywords():
    beginning = "prune " * (MOST_READ // 6)
    huge = Message(id="m", role="assistant", content=f"{beginning.ljust(MOST_READ)} zebra")
    found = Extraction(topics=(Topic(label="Trees", count=1, message_ids=("m",)),))
    assert with_keywords(found, [huge], Keywords()).topics[0].keywords == ("prune",)

"""Topics stay themselves while a chat grows: the demonstration's chats, and a German one."""

import json

import pytest

from smart_context.chat.messages import Message, messages_of
from smart_context.cli.evaluation.measures.growth import Growth, growth_of
from smart_context.cli.evaluation.replay import steps_of
from smart_context.cli.server.serve import DEMO_VAULT
from smart_context.llm.offline.every_language import EveryLanguageEmbedder
from smart_context.topics.embedded import EmbeddedTopicExtractor

pytestmark = pytest.mark.anyio

DEMO_CHATS = (
    *("year-of-projects", "agent-debugging", "chengdu-plan", "gartenjahr", "short-story"),
)

VISITORS = (
    "How do we cut over?",
    "hello there",
    "And how long does the dough rest?",
    "What about the battery?",
    "Anything else?",
    "Which pass do I need for the trains?",
    "thanks!",
    "Can I rent a piano?",
    "How do I check the rows?",
    "What salary should we offer?",
    "And now?",
)
"""What visitors of the demonstration ask: short questions, courtesies and follow-ups among it."""

GERMAN = (
    (
        "sauer",
        "Wie setze ich einen Sauerteig an?",
        "Mische Roggenmehl mit warmem Wasser und füttere den Sauerteig fünf Tage lang.",
    ),
    (
        "sauer",
        "Mein Sauerteigbrot geht nicht auf. Woran liegt das?",
        "Der Teig war zu kalt oder der Sauerteig zu jung; lass das Brot länger gehen.",
    ),
    ("sauer", "Wie lange backe ich das Brot?", "Fünfzig Minuten, zuerst bei 250 Grad mit Dampf."),
    (
        "steuer",
        "Bis wann muss ich meine Steuererklärung abgeben?",
        "Bis Ende Juli des Folgejahres; mit Steuerberater später.",
    ),
    (
        "steuer",
        "Kann ich das Arbeitszimmer von der Steuer absetzen?",
        "Ja, als Werbungskosten, wenn es der Mittelpunkt der Arbeit ist.",
    ),
    (
        "steuer",
        "Welche Belege will das Finanzamt sehen?",
        "Keine mit der Steuererklärung; bewahre die Belege für das Finanzamt auf.",
    ),
    (
        "gitarre",
        "Welche Gitarre eignet sich für Anfänger?",
        "Eine Konzertgitarre mit Nylonsaiten schont die Finger.",
    ),
    (
        "gitarre",
        "Wie stimme ich die Saiten der Gitarre?",
        "E A D G H E, am besten mit einem Stimmgerät für Gitarren.",
    ),
)
"""Sixteen messages on sourdough, taxes and a guitar."""

GERMAN_LATER = (
    ("Wie oft soll ich Gitarre üben?", "Lieber jeden Tag fünfzehn Minuten als einmal lang."),
    ("danke", "Gern!"),
    (
        "Und wie bewahre ich den Sauerteig auf?",
        "Im Kühlschrank; füttere den Sauerteig einmal in der Woche.",
    ),
    ("Und jetzt?", "Jetzt kannst du backen."),
)


@pytest.fixture(scope="module")
def extractor():
    return EmbeddedTopicExtractor(EveryLanguageEmbedder())


def demo_chat(name):
    return messages_of(json.loads((DEMO_VAULT / "memory" / f"{name}.json").read_bytes()))


def said(*texts, prefix):
    return tuple(
        Message(id=f"{prefix}{n}", role="user" if not n % 2 else "assistant", content=text)
        for n, text in enumerate(texts)
    )


def asked(*questions):
    """Questions whose answers quote passages, which don't count as messages of the chat."""
    messages = []
    for n, question in enumerate(questions):
        messages.append(Message(id=f"q{n}", role="user", content=question))
        quoted = Message(id=f"a{n}", role="assistant", content="See the notes.")
        messages.append(Message.from_dict({**quoted.to_dict(), "extracted": True}))
    return tuple(messages)


def tops(topics):
    return {t.label: set(t.message_ids) for t in topics if not t.parent_id}


async def test_questions_of_visitors_leave_the_topics_of_the_demonstration_as_they_are(extractor):
    messages = demo_chat("year-of-projects")
    steps = await steps_of((*messages, *asked(*VISITORS)), extractor, start=len(messages))
    first = tops(steps[0])
    assert len(first) == 6
    for topics in steps[1:]:
        now = tops(topics)
        assert all(held <= now[label] for label, held in first.items())
        assert 3 <= len(now) <= 8
    found = growth_of(steps)
    assert (found.apart, found.relabelled, found.duplicates) == (0, 0, 0)
    assert set(found.changed) == {0.0}
    assert found.together == (1.0,)
    assert {topic.id for topic in steps[0]} <= {topic.id for topic in steps[-1]}


@pytest.mark.parametrize("courtesy", ["hello there", "And now?", "Anything else?", "thanks!"])
async def test_a_courtesy_or_a_follow_up_changes_no_topic_and_founds_none(extractor, courtesy):
    messages = demo_chat("year-of-projects")
    before, after = await steps_of((*messages, *asked(courtesy)), extractor, start=len(messages))
    assert tops(before).keys() == tops(after).keys()
    gained = set().union(*tops(after).values()) - set().union(*tops(before).values())
    assert gained == {"q0"}
    assert "q0" in next(t.message_ids for t in after if messages[-1].id in t.message_ids)


async def test_the_demonstrations_chats_keep_their_topics_from_the_first_message_on(extractor):
    found = Growth()
    for name in DEMO_CHATS:
        found += growth_of(await steps_of(demo_chat(name), extractor))
    assert sum(found.changed) == 0
    assert (found.apart, found.duplicates) == (0, 0)
    assert set(found.together) == {1.0}
    assert found.relabelled <= 0.05 * found.labels
    assert found.most <= 8


async def test_taxes_stay_taxes_in_a_german_chat(extractor):
    texts = [text for _, question, answer in GERMAN for text in (question, answer)]
    later = [text for pair in GERMAN_LATER for text in pair]
    messages = said(*texts, *later, prefix="m")
    steps = await steps_of(messages, extractor, start=len(texts))
    subject_of = {
        f"m{2 * n + k}": subject for n, (subject, *_) in enumerate(GERMAN) for k in (0, 1)
    }
    wanted = {
        subject: {i for i, found in subject_of.items() if found == subject}
        for subject in subject_of.values()
    }
    for topics in steps:
        old = (held & subject_of.keys() for held in tops(topics).values())
        assert sorted(map(sorted, old)) == sorted(map(sorted, wanted.values()))
    assert {t.label for t in steps[0]} <= {t.label for t in steps[-1]}
    assert len(tops(steps[-1])) == 3

"""Topics stay themselves while a chat grows: the demonstration's chats, and other languages."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from smart_context.chat.messages import Message, MessageId, messages_of
from smart_context.cli.evaluation.measures import Growth, growth_of, steps_of
from smart_context.cli.evaluation.runs import RememberingEmbedder
from smart_context.cli.server.serve import DEMO_VAULT
from smart_context.llm.offline.every_language import EveryLanguageEmbedder
from smart_context.topics.clusters.grouping import SubjectMessages, subjects_of
from smart_context.topics.embedded import EmbeddedTopicExtractor
from smart_context.topics.values import FixedTopics, Previous, Topic

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

NOWHERE = ""
ASKED = {
    "year-of-projects": (
        ("How do we cut over?", "How do we keep downtime under five minutes at the cut-over?"),
        ("And now?", "q0"),
        ("hello there", "q0"),
        ("What did the plumber say?", NOWHERE),
        ("Can I rent a piano?", "Should I buy a digital piano or rent an upright?"),
        ("Which pass do I need for the trains?", "Is the rail pass still worth it?"),
        ("Is my lawyer right?", NOWHERE),
        ("Anything else?", NOWHERE),
        ("When does the plumber come?", "q3"),
        ("thanks!", "q8"),
    ),
    "agent-debugging": (
        ("How do I cancel the tasks?", "My async tests hang in pytest since then."),
        ("Why does pytest hang?", "My async tests hang in pytest since then."),
        ("Is it going to rain?", NOWHERE),
    ),
    "chengdu-plan": (
        ("麻婆豆腐要放多少花椒？", "豆腐总是碎，怎么办？"),
        ("宽带多少钱一个月？", "路由器放在哪里信号最好？"),
        ("青城山的门票多少钱？", "山上住一晚还是当天回来？"),
        ("埃菲尔铁塔有多高？", NOWHERE),
    ),
    "gartenjahr": (
        ("Wie oft gieße ich die Tomaten?", "Meine Tomatenpflanzen werden lang und dünn."),
        ("Wie lange dauert der Kompost?", "Darf Zitronenschale auf den Kompost?"),
    ),
    "short-story": (("Who wrote the letters?", "What could the letters say?"),),
}
"""Twenty questions of visitors, in turn, each with a message whose topic it joins."""

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


LANGUAGES = Path(__file__).with_name("languages")
OPENINGS = {"Mein Vermieter": "rent", "Unsere Katze": "cat", "أريد السفر": "travel"}
RETURNING = {
    OPENINGS[opening]: chat
    for name in ("growing_choose", "growing_report")
    for chat in json.loads((LANGUAGES / f"{name}.json").read_bytes())
    for opening in OPENINGS
    if chat["utterances"][0].startswith(opening)
}
"""Chats whose three subjects take turns and return, with follow-ups that name none of them."""


@pytest.fixture(scope="module")
def extractor():
    """Of all tests here, since embedding the same chats again is most of what they cost."""
    return EmbeddedTopicExtractor(RememberingEmbedder(EveryLanguageEmbedder(), None))


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


def echoed(*questions):
    """Questions with the answers of an endpoint that repeats them."""
    return tuple(
        Message(id=f"{kind}{n}", role=role, content=text)
        for n, question in enumerate(questions)
        for kind, role, text in (
            ("q", "user", question),
            ("a", "assistant", f"You said: {question}"),
        )
    )


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


@pytest.mark.parametrize("answered", [asked, echoed], ids=["notices", "answers"])
@pytest.mark.parametrize("name", ASKED)
async def test_each_question_of_a_visitor_goes_where_its_subject_is(extractor, name, answered):
    messages = demo_chat(name)
    questions = ASKED[name]
    added = answered(*(question for question, _ in questions))
    steps = await steps_of((*messages, *added), extractor, start=len(messages))
    ids = {message.text: message.id for message in messages}
    for n, (question, beside) in enumerate(questions):
        topics = tops(steps[n + 1]).values()
        found = [held for held in topics if f"q{n}" in held]
        if beside == NOWHERE:
            assert not found, question
        else:
            assert len(found) == 1, question
            assert ids.get(beside, beside) in found[0], question


async def test_what_fits_nowhere_is_never_pooled_with_what_is_unlike_it(extractor):
    messages = demo_chat("year-of-projects")
    questions = (
        *("What did the plumber say?", "And now?", "hello there", "Is my lawyer right?"),
        *("How tall is the Eiffel tower?", "Can my cat eat tuna?", "thanks!"),
    )
    before, *_, after = await steps_of(
        (*messages, *asked(*questions)), extractor, start=len(messages)
    )
    assert tops(before) == tops(after)


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
        messages = demo_chat(name)
        steps = await steps_of(messages, extractor)
        afresh = await extractor.extract(messages, regroup=True)
        assert groups(steps[-1]) == groups(afresh.topics)
        if name != "agent-debugging":  # its first questions fall into three topics later
            found += growth_of(steps)
    assert len([share for share in found.changed if share]) <= 1  # a question finds its topic later
    assert max(found.changed) < 0.06
    assert (found.apart, found.duplicates) == (0, 0)
    assert set(found.together) == {1.0}
    assert found.relabelled <= 0.05 * found.labels
    assert found.most <= 8


def groups(topics):
    return {frozenset(topic.message_ids) for topic in topics}


@pytest.mark.parametrize(("turns", "is_compared"), [(150, True), (152, False)])
async def test_a_long_chat_is_not_grouped_as_a_whole_at_each_turn(
    extractor, monkeypatch, turns, is_compared
):
    pairs = [(question, answer) for _, question, answer in GERMAN] * (turns // 8 + 1)
    messages = said(*(text for pair in pairs[:turns] for text in pair), prefix="m")
    old = tuple(message.id for message in messages[:-2])
    topic = Topic(label="Sauerteig", count=len(old), id="t1", message_ids=old)
    grouped = []
    monkeypatch.setattr(
        "smart_context.topics.embedded.subjects_of",
        lambda said, most: grouped.append(len(said.vectors)) or subjects_of(said, most=most),
    )
    before = Previous(topics=(topic,), seen=messages[-3].id)
    found = await extractor.extract(messages, previous=before)
    assert {message.id for message in messages[-2:]} <= set().union(*tops(found.topics).values())
    assert bool(grouped) == is_compared


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


@pytest.mark.parametrize("first", OPENINGS.values())
async def test_subjects_that_return_have_one_topic_each_in_other_languages(extractor, first):
    chat = RETURNING[first]
    messages = said(*chat["utterances"], prefix="m")
    steps = await steps_of(messages, extractor)
    wanted = {frozenset(f"m{place}" for place in group) for group in chat["groups"]}
    assert {frozenset(held) for held in tops(steps[-1]).values()} == wanted
    changed = growth_of(steps[5:]).changed  # the first questions may stand apart at first
    assert len([share for share in changed if share]) <= 1


async def test_less_likeness_is_asked_for_in_other_languages_unless_all_questions_are_alike():
    english = SubjectMessages(
        vectors=apart(0.1), lexical=np.zeros((6, 1), dtype=np.float32), goes_on=[]
    )
    german = replace(english, is_mapped=True)
    assert english.share_asked(english.vectors) == 1
    assert 0.45 <= german.share_asked(apart(0.0)) < german.share_asked(apart(0.1)) < 1
    assert german.share_asked(apart(0.6)) == 1


def apart(alike):
    """Six unit rows, each two of them as similar as this."""
    return np.linalg.cholesky(np.full((6, 6), alike) + (1 - alike) * np.eye(6)).astype(np.float32)


FIRST_CHATS = {
    "solar and Kyoto": (
        ("solar", "How big should a battery for my solar panels be?", "Ten kWh suit most homes."),
        ("kyoto", "Which temples in Kyoto should I see in three days?", "Kinkaku-ji and Fushimi."),
        ("solar", "Does the solar battery work in a power cut?", "Only with a backup inverter."),
        ("kyoto", "Where do I stay in Kyoto with two children?", "Near the station in Kyoto."),
        ("solar", "How long does a solar battery last?", "The battery lasts some 15 years."),
    ),
    "Solaranlage und Kyoto": (
        ("solar", "Wie groß soll der Speicher für meine Solaranlage sein?", "Zehn kWh genügen."),
        ("kyoto", "Welche Tempel in Kyoto lohnen sich in drei Tagen?", "Kinkaku-ji in Kyoto."),
        ("solar", "Läuft der Solarspeicher bei Stromausfall?", "Nur mit Notstrom."),
        ("kyoto", "Wo übernachte ich in Kyoto mit Kindern?", "Nahe am Bahnhof von Kyoto."),
        ("solar", "Wie lange hält der Speicher einer Solaranlage?", "Der Speicher 15 Jahre."),
    ),
    "太阳能和京都": (
        ("solar", "家里的太阳能电池板要配多大的储能电池？", "十度电的储能电池够用。"),
        ("kyoto", "去京都三天应该看哪些寺庙？", "金阁寺和伏见稻荷。"),
        ("solar", "停电时太阳能储能电池能用吗？", "要有备用逆变器。"),
        ("kyoto", "带孩子去京都住哪里好？", "京都站附近。"),
        ("solar", "太阳能储能电池能用多少年？", "电池大约十五年。"),
    ),
    "starter, tomatoes, compost": (
        (
            "starter",
            "How often do I feed a sourdough starter?",
            "Feed the sourdough starter with equal weights of flour and water once a day.",
        ),
        (
            "starter",
            "My sourdough starter smells of acetone. Is it dead?",
            "A hungry sourdough starter smells like that; feed it twice a day for a while.",
        ),
        (
            "tomato",
            "Why do the leaves of my tomato plants curl?",
            "Tomato leaves curl in heat and wind; the plants recover in the evening.",
        ),
        (
            "tomato",
            "When do I pinch out the side shoots of tomato plants?",
            "Pinch out side shoots of tomato plants every week, while they are small.",
        ),
        (
            "compost",
            "May citrus peel go on the compost heap?",
            "Yes, the compost heap takes citrus peel in small pieces.",
        ),
        (
            "compost",
            "Why does my compost heap stink?",
            "A compost heap that stinks is too wet; mix in cardboard and turn the heap.",
        ),
    ),
}


@pytest.mark.parametrize("name", FIRST_CHATS)
async def test_the_subjects_of_a_chat_that_begins_have_a_bubble_each(extractor, name):
    chat = FIRST_CHATS[name]
    messages = said(*(text for _, *pair in chat for text in pair), prefix="m")
    subject_of = {f"m{2 * n + k}": pair[0] for n, pair in enumerate(chat) for k in (0, 1)}
    steps = await steps_of(messages, extractor)
    assert all(len({subject_of[i] for i in held}) == 1 for held in tops(steps[-1]).values())
    assert len(tops(steps[-1])) == len(set(subject_of.values()))


@pytest.mark.parametrize("name", ["solar and Kyoto", "太阳能和京都"])
async def test_two_unlike_first_questions_have_a_bubble_each(extractor, name):
    messages = said(*(text for _, *pair in FIRST_CHATS[name][:2] for text in pair), prefix="m")
    *_, topics = await steps_of(messages, extractor)
    assert sorted(map(sorted, tops(topics).values())) == [["m0", "m1"], ["m2", "m3"]]


async def test_what_is_picked_loses_nothing_and_the_rest_of_a_new_chat_is_put_right(extractor):
    chat = FIRST_CHATS["solar and Kyoto"]
    messages = said(*(text for _, *pair in chat for text in pair), prefix="m")
    mixed = Topic(label="Batteries", count=4, id="t1", message_ids=("m0", "m1", "m2", "m3"))
    left = Topic(label="Trips", count=4, id="t2", message_ids=("m4", "m5", "m6", "m7"))
    before = Previous(topics=(mixed, left), seen="m7", fixed_labels=frozenset({"Batteries"}))
    found = await extractor.extract(messages, previous=before)
    picked = next(topic for topic in found.topics if topic.id == "t1")
    assert set(mixed.message_ids) <= set(picked.message_ids)
    assert picked.label == "Batteries"
    others = [set(topic.message_ids) for topic in found.topics if topic.id != "t1"]
    assert not any({"m5", "m6"} <= held for held in others)


HELLO = ("Hallo!", "Hallo! Wobei kann ich helfen?")
SOLAR = (
    (
        "Lohnt sich eine Solaranlage auf dem Garagendach?",
        "Meist ja: Bei 4 kWp und Südausrichtung rechnet sie sich nach etwa zehn Jahren.",
    ),
    ("Was kostet das?", "Rund 1.500 Euro pro kWp, also 6.000 Euro mit Montage."),
)
KYOTO = (
    "Wann ist die beste Zeit für eine Reise nach Kyoto?",
    "Anfang April zur Kirschblüte oder Mitte November, wenn sich der Ahorn färbt.",
)
STORAGE = (
    "Brauche ich einen Speicher?",
    "Ein Speicher mit 5 kWh erhöht den Eigenverbrauch auf etwa 60 Prozent, kostet aber 4.000 Euro.",
)


def words_of(*pairs):
    return said(*(text for pair in pairs for text in pair), prefix="m")


@pytest.mark.parametrize(
    ("greeting", "first", "second"),
    [
        (HELLO, SOLAR[0], ("Wie pflege ich Orchideen?", "Einmal pro Woche tauchen, hell stellen.")),
        (
            ("您好", "您好！请问有什么需要？"),
            ("怎么养一只小狗？", "准备狗粮、牵引绳和窝，每天遛两次。"),
            ("西红柿炒鸡蛋怎么做？", "先炒鸡蛋盛出，再炒西红柿出汁，最后合在一起。"),
        ),
        (
            ("hi there", "Hi! What can I do for you?"),
            ("How do I keep a sourdough starter in the fridge?", "Feed it once a week."),
            ("How do I prune roses?", "In March, above an outward-facing bud."),
        ),
    ],
    ids=["German", "Chinese", "English"],
)
async def test_two_subjects_in_two_questions_are_two_bubbles(extractor, greeting, first, second):
    for hello in ((), (greeting,)):
        messages = words_of(*hello, first, second)
        (*_, last) = await steps_of(messages, extractor)
        ids = [message.id for message in messages[2 * len(hello) :]]
        assert sorted(map(sorted, tops(last).values())) == [ids[:2], ids[2:]]


THREE_SUBJECTS = {
    "English": (
        ("My bathroom tap drips, how do I fix it?", "Turn off the water and replace the washer."),
        ("How do I learn to juggle three balls?", "Start with one ball, then throw two."),
        ("Which telescope is good for a beginner?", "A 130 mm Newtonian shows Saturn's rings."),
    ),
    "German": (
        ("Meine Fahrradkette springt, was kann ich tun?", "Meist ist die Kette gelängt."),
        ("Wie viel Elterngeld bekomme ich?", "In der Regel 65 Prozent des Nettoeinkommens."),
        ("Wann sieht man in Norwegen Polarlichter?", "Von September bis März in Tromsø."),
    ),
    "Chinese": (
        (
            "多肉植物叶子发黄怎么办？",
            "多半是浇水太多。先停水一周，把花盆放到通风、有阳光的地方，烂掉的根要剪掉。",
        ),
        (
            "公积金贷款怎么申请？",
            "连续缴存六个月以上，带身份证、购房合同和收入证明到公积金中心办理。",
        ),
        (
            "去云南旅游哪个月份最好？",
            "三月到五月和九月到十一月最好，大理和丽江气候温和，雨水也少。",
        ),
    ),
}


@pytest.mark.parametrize("language", THREE_SUBJECTS)
async def test_no_bubble_holds_two_of_three_subjects_in_three_questions(extractor, language):
    (*_, last) = await steps_of(words_of(*THREE_SUBJECTS[language]), extractor)
    assert all(len({int(i[1:]) // 2 for i in held}) == 1 for held in tops(last).values())


@pytest.mark.parametrize(
    "talk",
    [
        (
            ("Welche Winterreifen brauche ich?", "Das hängt von der Größe ab."),
            ("Wie pflege ich Orchideen?", "Einmal in der Woche tauchen. Stehen sie hell?"),
            ("Nein, eher dunkel.", "Dann ans Ostfenster stellen."),
        ),
        (
            ("自行车链条多久上一次油？", "每骑两百公里上一次。"),
            ("怎么给孩子申请护照？", "带户口本和照片。孩子满六岁了吗？"),
            ("没有，才四岁。", "那就要父母一起去。"),
        ),
    ],
    ids=["German", "Chinese"],
)
async def test_a_few_words_in_reply_go_with_the_question_that_they_answer(extractor, talk):
    (*_, last) = await steps_of(words_of(*talk), extractor)
    assert sorted(map(sorted, tops(last).values())) == [["m0", "m1"], ["m2", "m3", "m4", "m5"]]


async def test_what_stands_apart_never_goes_over_to_a_picked_topic(extractor):
    bike, allowance, north = THREE_SUBJECTS["German"]
    messages = words_of(
        bike,
        allowance,
        north,
        (
            "Welches Öl nehme ich für die Kette?",
            "Ein dünnflüssiges im Sommer, bei Regen ein zäheres. Fahren Sie oft bei Regen?",
        ),
        ("Ja, genau.", "Dann ist ein zähes Öl besser: Es hält länger und schützt vor Rost."),
        ("Und wie oft?", "Alle 200 Kilometer und nach jeder Regenfahrt."),
    )
    topics = (
        Topic(
            label="Kette",
            count=6,
            id="t1",
            message_ids=("m0", "m1", *map("m{}".format, (6, 7, 8, 9))),
        ),
        Topic(label="Geld", count=2, id="t2", message_ids=("m2", "m3")),
        Topic(label="Norwegen", count=2, id="t3", message_ids=("m4", "m5")),
    )
    before = Previous(topics=topics, seen="m9", fixed_labels=frozenset({"Kette"}))
    found = await extractor.extract(messages, previous=before)
    kept = {topic.id: set(topic.message_ids) for topic in found.topics}
    assert kept["t1"] == {*topics[0].message_ids, "m10", "m11"}
    assert (kept["t2"], kept["t3"]) == ({"m2", "m3"}, {"m4", "m5"})


async def test_a_question_about_something_else_does_not_join_what_stands_around_it(extractor):
    steps = await steps_of(words_of(HELLO, *SOLAR, KYOTO, STORAGE), extractor)
    assert not any(held >= {"m2", "m6"} for topics in steps for held in tops(topics).values())
    assert sorted(map(sorted, tops(steps[-1]).values())) == [
        ["m2", "m3", "m4", "m5", "m8", "m9"],
        ["m6", "m7"],
    ]


NEW_SUBJECTS = (
    (
        (
            "我刚领养了一只三个月的小猫，它一直躲在沙发底下怎么办？",
            "给小猫一点时间，把食物和水放在沙发旁边，不要硬拉它出来，一般三五天就会适应。",
        ),
        (
            "换个话题，我想买房，首付三成，贷款三十年划算吗？",
            "贷款三十年月供低，但总利息多。如果收入稳定，可以选二十年，或者以后提前还款。",
        ),
        (
            "等额本息和等额本金有什么区别？",
            "等额本息每月还款一样多，等额本金前期多后期少，总利息更少。",
        ),
        (
            "我的面包机做出来的面包总是塌，为什么？",
            "可能水太多或酵母太多，面团发过头就会塌。把水减少十毫升，酵母减到三克试试。",
        ),
    ),
    (
        (
            "عندي امتحان رياضيات بعد أسبوعين ولا أعرف كيف أذاكر",
            (
                "قسم المنهج على عشرة أيام، وحل مسائل رياضيات كل يوم، واترك آخر أربعة أيام "
                "لامتحانات السنوات السابقة."
            ),
        ),
        (
            "كيف أصنع قهوة عربية مثل المقاهي؟",
            (
                "اغل الماء، أضف البن الأشقر واتركه على نار هادئة ربع ساعة، ثم أضف الهيل والزعفران "
                "إلى القهوة."
            ),
        ),
        (
            "بطارية هاتفي تنفد بسرعة، ما الحل؟",
            (
                "راجع التطبيقات التي تستهلك البطارية من الإعدادات، وخفف سطوع الشاشة وأوقف الموقع "
                "الجغرافي."
            ),
        ),
    ),
)


@pytest.mark.parametrize("chat", NEW_SUBJECTS)
async def test_a_question_about_something_new_is_put_into_no_topic_of_another(extractor, chat):
    messages = words_of(*chat)
    *_, topics = await steps_of(messages, extractor)
    newest = {message.id for message in messages[-2:]}
    assert all(not held & newest or held == newest for held in tops(topics).values())


async def test_a_first_question_leaves_the_second_ones_group_when_the_third_tells(extractor):
    flights = (
        "I will fly to Hangzhou next Thursday. Could you help me check if there's a flight?",
        "You could take MU5132 of China Eastern Airlines, from Terminal 2.",
    )
    cars = (
        ("Hello, I want to buy a gas-powered SUV within 150,000 yuan.", "The T-Cross suits you."),
        ("Does it have cruise control?", "Sure, it has."),
    )
    messages = words_of(flights, *cars)
    mixed = Topic(label="Trips", count=4, id="t1", message_ids=("m0", "m1", "m2", "m3"))
    before = Previous(topics=(mixed,), seen="m3")
    shown = await extractor.extract(messages, previous=before)
    afresh = await extractor.extract(messages, regroup=True)
    assert groups(shown.topics) == groups(afresh.topics)
    assert len(groups(shown.topics)) == 2


async def test_a_greeting_is_in_no_topic_and_names_none(extractor):
    steps = await steps_of(words_of(HELLO, *SOLAR), extractor)
    assert [set().union(*tops(topics).values()) for topics in steps] == [
        set(),
        {"m2", "m3"},
        {"m2", "m3", "m4", "m5"},
    ]
    assert {label for topics in steps for label in tops(topics)} == {"Solaranlage & Garagendach"}
    # it stays where it was found before
    held = Topic(label="Dach", count=4, id="t1", message_ids=("m0", "m1", "m2", "m3"))
    before = Previous(topics=(held,), seen="m3", fixed_labels=frozenset(["Dach"]))
    found = await extractor.extract(words_of(HELLO, *SOLAR), previous=before)
    assert {"m0", "m1"} <= tops(found.topics)["Dach"]


@pytest.mark.parametrize(
    ("picked", "waiting", "said"),
    [
        (
            (
                ("How do I keep a sourdough starter alive?", "Feed it flour and water each week."),
                ("How long does sourdough dough rise?", "The dough needs four hours, then a fold."),
            ),
            ("When should I plant tomatoes?", "Plant tomatoes after the last frost, in May."),
            ("How deep do I plant tomatoes?", "Plant tomatoes up to their first leaves."),
        ),
        (
            SOLAR,
            KYOTO,
            ("Wo übernachte ich in Kyoto?", "In Kyoto nahe Gion, im November früh buchen."),
        ),
    ],
)
async def test_what_waits_in_no_topic_follows_nothing_into_the_topic_that_it_was_said_under(
    extractor, picked, waiting, said
):
    messages = words_of(*picked, waiting, said)
    held = {MessageId(name): ("It",) for name in ("m6", "m7")}
    topic = Topic(label="It", count=4, id="t1", message_ids=("m0", "m1", "m2", "m3"))
    previous = Previous(
        topics=(topic,), seen="m5", fixed_labels=frozenset(["It"]), held=FixedTopics(said=held)
    )
    for seen in ("m5", "m7"):
        found = await extractor.extract(messages, previous=replace(previous, seen=seen))
        assert tops(found.topics)["It"] == {"m0", "m1", "m2", "m3", "m6", "m7"}
        previous = replace(previous, topics=found.topics)


async def test_a_topic_of_two_questions_bears_their_words_not_those_of_the_answers(extractor):
    starter = (
        ("How do I keep a sourdough starter alive?", "In a jar in the fridge, or in a warm room."),
        ("How often should I feed it?", "Each day in a warm room, each week in the fridge."),
    )
    for topics in await steps_of(words_of(*starter), extractor):
        assert ["sourdough" in label.lower() for label in tops(topics)] == [True]

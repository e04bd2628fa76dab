"""Chat topics become topics and themes: alike ones meet, ids stay, labels are distinct."""

import random
import zlib
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smart_context.topics.atlas import merging
from smart_context.topics.atlas.merging import linked, merged
from smart_context.topics.atlas.subjects import NO_SUBJECTS, Subjects
from smart_context.topics.atlas.values import Atlas, ChatTopic, from_document, to_document
from smart_context.topics.clusters.units import at_unit_length

WIDTH = 32


def direction(name):
    return np.random.default_rng(zlib.crc32(name.encode())).standard_normal(WIDTH)


def chat_topic(chat, subject, label=None, messages=4, topic="t"):
    own = at_unit_length(direction(subject) + 0.3 * direction(f"{chat} {topic}"))
    return ChatTopic(
        key=(chat, topic),
        label=subject if label is None else label,
        vector=np.asarray(own, dtype=np.float32),
        words=np.array([zlib.crc32(subject.encode())], dtype=np.uint32),
        counts=np.array([1], dtype=np.uint8),
        places=np.arange(messages, dtype=np.int32),
        language="en",
    )


def archive(subjects, chats):
    pick = random.Random(7)
    return [chat_topic(f"c{n:04d}", f"Subject {pick.randrange(subjects)}") for n in range(chats)]


def atlas_of(topics, before=None):
    return merged(topics, before or Atlas(), reads_all=True)


def groups(atlas):
    return {frozenset(topic.members) for topic in atlas.topics}


def test_one_subject_under_different_labels_is_one_topic_and_two_of_one_name_are_two():
    topics = [
        chat_topic("a", "databases", "Postgres Tuning"),
        chat_topic("b", "databases", "Slow Queries"),
        chat_topic("c", "snakes", "Python"),
        chat_topic("d", "programming", "Python"),
    ]
    atlas = atlas_of(topics)
    assert groups(atlas) == {
        frozenset({("a", "t"), ("b", "t")}),
        frozenset({("c", "t")}),
        frozenset({("d", "t")}),
    }
    labels = [topic.label.casefold() for topic in atlas.topics]
    assert len(set(labels)) == len(labels)


def test_of_two_topics_of_one_name_the_smaller_names_its_chat_and_goes_on_to():
    topics = [chat_topic("c", "snakes", "Python"), chat_topic("d", "programming", "Python", 9)]
    titles = {"c": "A day at\nthe zoo", "d": "Python"}
    atlas = merged(topics, Atlas(), reads_all=True, titles=titles)
    assert {topic.label for topic in atlas.topics} == {"Python", "Python (A day at the zoo)"}
    grown = [*topics, chat_topic("e", "snakes", "Reptiles", 1)]
    again = merged(grown, atlas, reads_all=True, titles={**titles, "c": "Renamed"})
    assert {topic.label for topic in again.topics} == {"Python", "Python (A day at the zoo)"}


def test_the_order_of_chats_makes_no_difference():
    topics = archive(subjects=30, chats=200)
    assert atlas_of(topics) == atlas_of(topics[::-1])


def test_ids_stay_when_chats_are_added_and_over_a_restart():
    before = atlas_of(archive(subjects=20, chats=100))
    restarted = from_document(to_document(before))
    assert restarted == before
    after = atlas_of(archive(subjects=20, chats=260), restarted)
    members = {topic.id: set(topic.members) for topic in after.topics}
    for topic in before.topics:
        assert len(members[topic.id] & set(topic.members)) * 2 > len(topic.members)


def test_nothing_is_made_anew_where_nothing_has_changed():
    topics = archive(subjects=20, chats=100)
    atlas = atlas_of(topics)
    assert atlas_of(topics, atlas) is atlas


@pytest.mark.parametrize("subjects", [20, 60])
def test_no_theme_of_an_archive_of_many_subjects_is_large(subjects):
    atlas = atlas_of(archive(subjects=subjects, chats=400))
    sizes = {theme.id: 0 for theme in atlas.themes}
    for topic in atlas.topics:
        sizes[topic.theme] += len(topic.members)
    assert all(sizes.values())
    assert max(sizes.values()) <= 0.35 * sum(sizes.values())


def test_topics_that_have_nothing_in_common_share_no_theme_where_few_are_enough():
    subjects = ("ferries", "ovens", "violins", "taxes", "tulips", "chess", "moths", "glass", "ink")
    topics = [chat_topic(subject, subject) for subject in subjects]
    first = atlas_of(topics[:3])
    for atlas in (atlas_of(topics), atlas_of(topics, first)):
        assert len(atlas.themes) == len(subjects)


def near(chat, label, topic="t"):
    """A chat topic that shares a theme with one of another name's length, but is another topic."""
    vector = np.zeros(WIDTH, dtype=np.float32)
    vector[[0, len(label)]] = 0.68, 0.733  # two have a cosine of .46
    return replace(chat_topic(chat, label, topic=topic), vector=vector)


AXES = np.eye(WIDTH, dtype=np.float32)
BAKING = Subjects(("Food", "Law"), AXES[[0, WIDTH - 1]])
CHEMISTRY = Subjects(("Chemistry",), AXES[[WIDTH - 1]])


@pytest.mark.parametrize(
    ("topics", "subjects", "name"),
    [
        ([near("c", "Yeast"), near("c", "Rye", "u")], NO_SUBJECTS, "Yeast, Rye"),
        ([near("c", "Sourdough Starter"), near("d", "Sourdough Loaf")], BAKING, "Sourdough"),
        ([near("c", "Yeast"), near("d", "Rye")], BAKING, "Food"),
        ([near("c", "Yeast"), near("d", "Rye")], CHEMISTRY, "Yeast, Rye"),
        ([near("c", "Yeast"), near("d", "Rye")], NO_SUBJECTS, "Yeast, Rye"),
    ],
)
def test_a_theme_is_named_by_a_shared_word_its_subject_or_its_topics_not_by_its_chat(
    topics, subjects, name
):
    others = [chat_topic(subject, subject) for subject in ("ferries", "taxes", "chess", "glass")]
    said = [*topics, *others, chat_topic("ink", "ink", messages=9)]
    titles = {"c": "Bread at home"}
    atlas = merged(said, Atlas(), reads_all=True, titles=titles, subjects=subjects)
    assert len(atlas.topics) == len(said)
    names = [theme.label for theme in atlas.themes]
    assert sorted(names) == sorted([name, "ferries", "taxes", "chess", "glass", "ink"])


def test_equal_chats_are_one_topic_however_many_there_are():
    same = [chat_topic(f"c{n:04d}", "Ferries") for n in range(5_000)]
    assert len(atlas_of(same).topics) == 1


def test_labels_of_many_topics_of_one_name_are_compared_a_few_times_each(monkeypatch):
    compared = []
    monkeypatch.setattr(
        merging, "label_key", lambda label: compared.append(label) or label.casefold()
    )
    groups = [[chat_topic(f"c{n}", "s", "General")] for n in range(300)]
    found = merging.distinct_labels(groups, [""] * len(groups), {})
    assert set(found) == {"General", *(f"General {n}" for n in range(2, 301))}
    assert len(compared) < 10 * len(groups)


@pytest.mark.parametrize(
    "label", ["x" * 200, "<img src=x onerror=alert(1)>", "\x00\u202e\n", "", "Ünïcode 笔记"]
)
def test_any_label_is_shown_on_one_line_of_at_most_80_characters(label):
    (topic,) = atlas_of([chat_topic("a", "ferries", label)]).topics
    assert 1 <= len(topic.label) <= 80
    assert topic.label.isprintable()


@given(st.lists(st.sampled_from("abcdef"), max_size=12))
@settings(max_examples=40)
def test_every_chat_topic_is_in_one_topic_of_one_theme(subjects):
    topics = [chat_topic(f"c{n}", subject) for n, subject in enumerate(subjects)]
    atlas = atlas_of(topics, atlas_of(topics[::2]))
    members = [key for topic in atlas.topics for key in topic.members]
    assert sorted(members) == sorted(topic.key for topic in topics)
    assert {topic.theme for topic in atlas.topics} == {theme.id for theme in atlas.themes}


@pytest.mark.parametrize("document", [None, {}, {"version": 1}, {"version": 1, "topics": 7}])
def test_a_damaged_document_is_an_empty_atlas(document):
    assert from_document(document) == Atlas()


@given(st.integers(0, 2**16), st.floats(-0.5, 0.9))
@settings(max_examples=30)
def test_linkage_merges_until_no_two_groups_are_alike_enough(seed, least):
    rows = at_unit_length(np.random.default_rng(seed).standard_normal((12, 4)))
    found = linked(np.asarray(rows, dtype=np.float32), least)
    for one in range(found.max() + 1):
        for other in range(one):
            mean = (rows[found == one] @ rows[found == other].T).mean()
            assert mean < least + 1e-4

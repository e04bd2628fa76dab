"""Reading a chat again gives the same as reading it anew, and reads only what has changed."""

import zlib
from dataclasses import fields
from itertools import count

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smart_context.chat.messages import Message
from smart_context.plugin.atlas.atlases import PersonsAtlas
from smart_context.plugin.atlas.reading import ReadChat, read_chat, with_kept
from smart_context.plugin.choices.sidecars import ChatSidecar
from smart_context.topics.atlas.values import ChatEntry, StoredAtlas
from smart_context.topics.identity import colours_of, hue_of
from smart_context.topics.values import Topic

NOTHING = ReadChat(entry=ChatEntry(revision="", is_known=True, times=np.zeros(0, np.int64)))
SHOWN = [{"label": "Bread", "count": 0, "id": "a"}, {"label": "Databases", "count": 0, "id": "b"}]

MESSAGE = st.tuples(st.sampled_from(["", "rye", "an index"]), st.sampled_from("ab-"), st.booleans())
CHAT = st.lists(MESSAGE, max_size=6)


def message(number, text="How is rye bread made?"):
    at = f"2026-03-01T10:{number:02d}:00"
    return Message(id=f"m{number}", role="user", content=text, created_at=at)


def vector_of(key):
    return np.random.default_rng(zlib.crc32(key.encode())).standard_normal(8)


def read(messages, topics, before=NOTHING, kept=lambda _key: True):
    """The chat as it is read, and the keys whose vectors were wanted."""
    members = tuple(
        Topic(label=label, count=len(ids), message_ids=tuple(ids), id=id_)
        for id_, label, ids in zip("ab", ("Bread", "Databases"), topics, strict=True)
    )
    sidecar = ChatSidecar(topics=members, seen=messages[-1].id if messages else "")
    found = read_chat("c", "1", (tuple(messages), {"topics": SHOWN}), sidecar, before)
    wanted = [key for keys in found.keys.values() for key in keys]
    rows = [vector_of(key) if kept(key) else np.zeros(8) for key in wanted]
    rows = np.array(rows, dtype=np.float32).reshape(len(rows), 8)
    return with_kept(found, rows) if wanted else found, wanted


def plain(topic):
    values = (getattr(topic, field.name) for field in fields(topic))
    return [value.tolist() if isinstance(value, np.ndarray) else value for value in values]


@given(CHAT, CHAT)
def test_a_chat_that_was_read_before_is_read_as_one_that_was_not(first, second):
    def given_chat(chat):
        topics = [[f"m{n}" for n, (_, topic, _) in enumerate(chat) if topic == t] for t in "ab"]
        kept = {f"m{n}" for n, (_, _, has_vector) in enumerate(chat) if has_vector}
        messages = [message(n, text) for n, (text, _, _) in enumerate(chat)]
        return messages, topics, lambda key: key.rpartition(":")[0] in kept or key in seen

    seen = set()
    messages, topics, kept = given_chat(first)
    before, wanted = read(messages, topics, kept=kept)
    seen = {key for key in wanted if kept(key)}  # a vector that is kept once stays
    messages, topics, kept = given_chat(second)
    again, _ = read(messages, topics, before, kept)
    anew, _ = read(messages, topics, kept=kept)
    assert list(map(plain, again.entry.topics)) == list(map(plain, anew.entry.topics))
    assert again.entry.times.tolist() == anew.entry.times.tolist()
    assert again.missing == anew.missing


def test_a_topic_has_the_colour_of_its_chat_also_after_another_took_it():
    near = next(f"a{n}" for n in count() if hue_of(f"a{n}") == hue_of("b"))
    before, two = NOTHING, [message(0), message(1)]
    for ids in (["b"], ["b", near]):
        topics = [Topic(label=id_, count=1, message_ids=(f"m{n}",)) for n, id_ in enumerate(ids)]
        shown = {"topics": [{"label": id_, "count": 1, "id": id_} for id_ in ids]}
        before = read_chat("c", "1", (tuple(two), shown), ChatSidecar(topics=tuple(topics)), before)
        found = {topic.key[1]: topic.colour for topic in before.entry.topics}
        assert found == {id_: str(hue) for id_, hue in colours_of((n, "") for n in ids).items()}
    assert found["b"] != str(hue_of("b"))


def test_after_a_turn_only_the_vectors_of_the_topic_that_grew_are_wanted():
    messages = [message(n) for n in range(6)]
    before, wanted = read(messages, [["m0", "m1"], ["m2", "m3"]])
    assert [key.rpartition(":")[0] for key in wanted] == ["m0", "m1", "m2", "m3"]
    grown = [*messages, message(6)]
    after, wanted = read(grown, [["m0", "m1"], ["m2", "m3", "m6"]], before)
    assert [key.rpartition(":")[0] for key in wanted] == ["m2", "m3", "m6"]
    assert after.entry.topics[0].words is before.entry.topics[0].words


@pytest.mark.parametrize("has_vector", [False, True])
def test_a_topic_without_a_vector_gets_that_of_its_messages_as_soon_as_they_have_one(has_vector):
    chat = [message(n) for n in range(2)], [["m0", "m1"], []]
    before, _ = read(*chat, kept=lambda _key: False)
    assert before.missing == {0: ["How is rye bread made?"] * 2}
    after, _ = read(*chat, before, lambda _key: has_vector)
    assert after.missing == ({} if has_vector else before.missing)


def test_a_chat_is_pending_until_its_topics_are_merged():
    entry = ChatEntry(revision="1", is_known=True, times=np.zeros(0, dtype=np.int64))
    mine = PersonsAtlas(archive=StoredAtlas(chats={"a": entry}))
    assert mine.pending == 1
    mine.merged_of = mine.archive.chats
    assert mine.pending == 0

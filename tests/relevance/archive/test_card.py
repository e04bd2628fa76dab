from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smart_context.chat.messages import Message, MessageId
from smart_context.relevance.archive.card import ChatCard, card_of
from smart_context.relevance.vectors.warm import key_of

texts = st.lists(st.text(st.characters(codec="utf-8"), max_size=30), max_size=6)


def said(text, place=0, role="user", **more):
    return Message(id=MessageId(f"m:{place}"), role=role, content=text, **more)


def vectors_of(messages, width=8):
    rows = np.random.default_rng(1).normal(size=(len(messages), width)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def test_only_what_people_and_models_said_can_be_found():
    messages = [
        said("kept"),
        said("system", 1, "system"),
        said("result", 2, "tool"),
        said("failed", 3, error="no"),
        said("writing", 4, generating=True),
        said("in short", 5, is_summary=True),
        said("quoted", 6, extra={"extracted": True}),
        said("  ", 7),
        said("kept, too", 8, "assistant"),
    ]
    card = card_of(messages, is_private=False)
    assert [card.message_id(row) for row in range(len(card.keys))] == ["m:0", "m:8"]


@given(texts, st.booleans())
def test_a_card_is_the_same_from_its_bytes(found, is_private):
    messages = [said(text, place) for place, text in enumerate(found)]
    keys = [key_of(m.id, m.text) for m in messages]
    card = card_of(messages, is_private=is_private).with_vectors(keys, vectors_of(messages))
    again = ChatCard.unpacked(card.packed())
    assert (again.keys, again.authors, again.is_private) == (card.keys, card.authors, is_private)
    for name in ("vectors", "scales", "words", "places", "lengths", "days"):
        np.testing.assert_array_equal(getattr(again, name), getattr(card, name))


@given(texts, texts)
def test_a_card_from_an_earlier_one_is_the_same_as_a_new_one(earlier, later):
    first, second = ([said(text, n) for n, text in enumerate(found)] for found in (earlier, later))
    before = card_of(first, is_private=False)
    again = card_of(second, is_private=False, before=before)
    assert again.packed() == card_of(second, is_private=False).packed()


def test_the_words_of_messages_that_an_earlier_card_has_are_not_read_again():
    messages = [said("rye bread"), said("an index", 1), said("sourdough starter", 2)]
    before = card_of(messages[:2], is_private=False)
    marked = replace(before, words=before.words + np.uint32(1))
    words = card_of(messages, is_private=False, before=marked).words
    new = card_of(messages, is_private=False).words[len(marked.words) :]
    assert words.tolist() == [*marked.words.tolist(), *new.tolist()]


@pytest.mark.parametrize("content", [b"", b"{}", b"[]\n", b'{"version":1}\n', b'{"version":9}\n'])
def test_damaged_bytes_are_refused(content):
    with pytest.raises(ValueError, match=r"."):
        ChatCard.unpacked(content)


def test_vectors_as_bytes_give_nearly_the_same_cosines():
    messages = [said(f"text {place}", place) for place in range(50)]
    keys, rows = [key_of(m.id, m.text) for m in messages], vectors_of(messages, 384)
    card = card_of(messages, is_private=False).with_vectors(keys[:-1], rows[:-1])
    query = rows[3] + rows[7]
    found = card.vectors.astype(np.float32) @ query * card.scales
    assert np.abs(found[:-1] - rows[:-1] @ query).max() < 0.02
    assert (found[-1], card.lacking) == (0, 1)

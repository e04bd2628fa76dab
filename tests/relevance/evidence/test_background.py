from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smart_context.chat.messages import Message
from smart_context.relevance.evidence.background import BLOCK, BackgroundMaker
from smart_context.relevance.vectors.cosines import unit
from tests.relevance.doubles import messages_saying

NULLS = unit(np.random.default_rng(1).standard_normal((7, 16)).astype(np.float32))


def vectors(count):
    return unit(np.random.default_rng(2).standard_normal((count, 16)).astype(np.float32))


def assert_same(one, other):
    for field in fields(one):
        np.testing.assert_array_equal(getattr(one, field.name), getattr(other, field.name))


@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(1, 2 * BLOCK + 40), min_size=1, max_size=4))
def test_a_chat_that_grew_or_shrank_has_bit_for_bit_the_background_of_one_read_at_once(counts):
    most = max(counts)
    messages, rows = messages_saying(*map(str, range(most))), vectors(most)
    kept = BackgroundMaker(NULLS)
    for count in counts:
        grown = kept.background(messages[:count], rows[:count])
        assert_same(grown, BackgroundMaker(NULLS).background(messages[:count], rows[:count]))


def test_a_message_that_was_edited_is_looked_at_again():
    messages, rows = messages_saying(*map(str, range(BLOCK + 5))), vectors(BLOCK + 5)
    kept = BackgroundMaker(NULLS)
    kept.background(messages, rows)
    edited, changed = list(messages), rows.copy()
    edited[3] = replace(messages[3], content="another")
    changed[3] = rows[7]
    assert kept.new(edited) == len(edited) - 3
    found = kept.background(edited, changed)
    assert kept.new(edited) == 0
    assert_same(found, BackgroundMaker(NULLS).background(edited, changed))


def test_usual_and_null_peaks_are_means_and_maxima_of_cosines():
    rows = vectors(20)
    found = BackgroundMaker(NULLS).background(messages_saying(*"abcdefghijklmnopqrst"), rows)
    np.testing.assert_allclose(found.usual, (rows @ NULLS.T).mean(axis=1), atol=1e-6)
    np.testing.assert_allclose(found.null_peaks, (rows @ NULLS.T).max(axis=0), atol=1e-6)


def test_a_stretch_ends_where_the_user_changes_the_subject():
    one, other = np.eye(16, dtype=np.float32)[:2]
    messages = [
        Message(id=f"m{n}", role="assistant" if n % 2 else "user", content=str(n)) for n in range(8)
    ]
    rows = np.stack([one] * 4 + [other] * 4)
    found = BackgroundMaker(NULLS).background(messages, rows)
    assert found.stretches.tolist() == [0] * 4 + [1] * 4
    assert found.stretch_begins.tolist() == [0, 4]


def test_a_session_ends_with_a_pause():
    times = ["2024-01-01T10:00:00", "2024-01-01T10:05:00+00:00", "2024-01-02T09:00:00+00:00"]
    messages = [Message(id=t, role="user", content="a", created_at=t) for t in times]
    found = BackgroundMaker(NULLS).background(messages, vectors(3))
    assert found.sessions.tolist() == [0, 0, 1]


@pytest.mark.parametrize("count", [0, 1, 2])
def test_tiny_chats_have_a_background(count):
    found = BackgroundMaker(NULLS).background(messages_saying(*"ab"[:count]), vectors(count))
    assert len(found.usual) == len(found.stretches) == count
    assert len(found.null_peaks) == len(NULLS)

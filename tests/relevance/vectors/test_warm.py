"""What the vectors of one chat take in memory."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smart_context.relevance.vectors.warm import WarmChat
from tests.relevance.doubles import messages_saying

NOTHING = ([], np.zeros((0, 0), dtype=np.float32))


class Kept:
    """Where vectors are stored; counts them."""

    def __init__(self):
        self.counts = []

    def replace(self, keys, vectors):
        assert len(keys) == len(vectors)
        self.counts.append(len(keys))


def vector_of(text, width):
    return np.full(width, float(text.split()[-1]), dtype=np.float32)


def embed(warm, messages, *, batch, width=4):
    """Give each message without a vector one, some at a time; the matrix."""
    missing = warm.place(tuple(messages))
    for start in range(0, len(missing), batch):
        some = missing[start : start + batch]
        warm.add([key for key, _ in some], np.array([vector_of(text, width) for _, text in some]))
    return warm.matrix()


def most_memory(count, width):
    """Bytes at most while the vectors of a chat come in batches and are stored."""
    messages = messages_saying(*(f"Number {n}" for n in range(count)))
    warm = WarmChat(Kept(), NOTHING)
    tracemalloc.start()
    try:
        embed(warm, messages[:10], batch=10, width=width)
        embed(warm, messages, batch=100, width=width)
        warm.write()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_the_vectors_of_a_long_chat_are_held_once_while_they_come_and_after_they_are_stored():
    count, narrow, wide = 3_000, 64, 256
    copies = (most_memory(count, wide) - most_memory(count, narrow)) / (
        count * (wide - narrow) * np.float32().itemsize
    )
    assert copies < 1.3  # what is kept once, and a batch


@given(st.lists(st.lists(st.integers(0, 6), max_size=8), max_size=5), st.integers(1, 3))
def test_each_message_has_its_own_vector_whatever_came_and_went_before(chats, batch):
    warm = WarmChat(Kept(), NOTHING)
    for numbers in chats:
        messages = messages_saying(*(f"Number {n}" for n in numbers))
        matrix = embed(warm, messages, batch=batch)
        assert [row[0] for row in matrix] == [float(n) for n in numbers]
        assert warm.matrix().tolist() == matrix.tolist()
        warm.write()
        assert warm.kept.counts[-1] == len(numbers)


@pytest.mark.parametrize("left_out", [0, 3])
def test_a_message_without_words_has_no_vector(left_out):
    texts = [f"Number {n}" for n in range(5)]
    texts[left_out] = " "
    matrix = embed(WarmChat(Kept(), NOTHING), messages_saying(*texts), batch=2)
    expected = [0.0 if n == left_out else float(n) for n in range(5)]
    assert [row[0] for row in matrix] == expected

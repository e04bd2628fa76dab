"""Counts in words."""

import pytest

from smart_context.base.text.scores import counted


@pytest.mark.parametrize(
    ("count", "words"), [(0, "0 files"), (1, "1 file"), (2, "2 files"), (1_200, "1,200 files")]
)
def test_a_noun_follows_its_count(count, words):
    assert counted(count, "file") == words

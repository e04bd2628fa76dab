"""Rows that can be made again are kept once more after the disk, or the file, was in the way."""

import sqlite3

import pytest

from smart_context.relevance.kept_rows import KeptRows
from smart_context.storage.files.caches import FileCaches

ADD = "INSERT INTO cards VALUES (?)"


@pytest.fixture
def kept(tmp_path):
    caches = FileCaches(tmp_path)
    return KeptRows(caches=caches, name="cards", table="cards", columns="(card)", max_bytes=1 << 20)


@pytest.mark.parametrize(
    ("error", "stays"),
    [
        pytest.param(sqlite3.OperationalError("the disk is full"), True, id="a full disk"),
        pytest.param(sqlite3.DatabaseError("not a database"), False, id="a damaged file"),
    ],
)
def test_a_write_that_fails_is_followed_by_one_that_does_not(kept, monkeypatch, error, stays):
    assert kept.write((ADD, [("a",)]))

    def refuse(*_, **__):
        raise error

    with monkeypatch.context() as patched:
        patched.setattr(kept.caches, "database", refuse)
        assert not kept.write((ADD, [("b",)]))
    assert kept.write((ADD, [("c",)]))
    assert kept.read("SELECT card FROM cards") == ([("a",), ("c",)] if stays else [("c",)])

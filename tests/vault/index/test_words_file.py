import json
import os
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smart_context.base.text.bm25 import Bm25
from smart_context.storage.files.caches import FileCaches
from smart_context.vault.index import passages as passages_module
from smart_context.vault.index.kept_words import WORDS_FILE, KeptWords, read_words, write_words
from smart_context.vault.index.passages import VaultPassages
from tests.vaults import kept_index

WORDS = st.lists(st.sampled_from(["a", "b", "é", "日"]), max_size=5)


@pytest.fixture
def caches(tmp_path):
    (tmp_path / "index").mkdir()
    return FileCaches(tmp_path)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "index" / WORDS_FILE


@pytest.fixture
def vault(tmp_path, monkeypatch):
    monkeypatch.setattr(passages_module, "_WORTH_KEEPING", 2)
    root = tmp_path / "vault"
    (root / ".memory").mkdir(parents=True)
    for name, text in {"garden": "roses and rain", "travel": "lisbon", "empty": ""}.items():
        (root / f"{name}.md").write_text(text)
        os.utime(root / f"{name}.md", (1, 1))  # long ago, so that its stamp can be trusted
    return root


def opened(vault, **options):
    return VaultPassages(kept_index(vault, vault / ".memory", makes_folder=False), **options)


def sources(passages, query):
    return [passage.source for passage in passages.find(query, 5)]


@given(documents=st.lists(WORDS, max_size=6), added=st.lists(WORDS, max_size=3), query=WORDS)
def test_kept_words_score_as_those_that_were_read(tmp_path_factory, documents, added, query):
    caches = FileCaches(tmp_path_factory.mktemp("words"))
    stamps = [(f"{number}.md", number, 1, 1) for number in range(len(documents))]
    write_words(caches, KeptWords(stamps=stamps, postings=Bm25(documents).postings()))
    kept = read_words(caches)
    index, read = Bm25(added, base=kept.postings), Bm25([*documents, *added])
    assert kept.stamps == stamps
    np.testing.assert_array_equal(index.scores(query), read.scores(query))
    np.testing.assert_array_equal(index.shares(query), read.shares(query))
    again = Bm25(base=index.postings())
    np.testing.assert_array_equal(again.scores(query), read.scores(query))


def written(caches, path):
    stamps = [("a.md", 1, 1, 1), None]
    write_words(caches, KeptWords(stamps=stamps, postings=Bm25([["a", "b"], ["b"]]).postings()))
    return path.read_bytes()


def test_no_part_of_a_file_reads_as_an_index(caches, path):
    content = written(caches, path)
    assert read_words(caches).stamps == [("a.md", 1, 1, 1), None]
    for length in range(len(content)):
        path.write_bytes(content[:length])
        assert read_words(caches) is None
        path.write_bytes(content[:length] + bytes([content[length] ^ 1]) + content[length + 1 :])
        assert read_words(caches) is None


def forged(stamps, words, *numbers, **head):
    parts = [json.dumps(stamps).encode(), words, *(np.array(n, "<u4").tobytes() for n in numbers)]
    body = b"".join(parts)
    head = {"sizes": [len(part) for part in parts], "checksum": zlib.crc32(body)} | head
    return b"\n".join((b"smart-context words 1", json.dumps(head).encode(), body))


_STAMP = ["a.md", 1, 1, 1]


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(forged([_STAMP], b"a", [1], [1], [1], [1]), id="a position too far"),
        pytest.param(forged([_STAMP], b"a", [2], [0], [1], [1]), id="an end too far"),
        pytest.param(forged([_STAMP], b"a\nb", [1, 0], [0], [1], [1]), id="ends that go back"),
        pytest.param(forged([_STAMP], b"a\nb", [1], [0], [1], [1]), id="a word too many"),
        pytest.param(forged([_STAMP], b"a", [1], [0], [1, 1], [1]), id="a count too many"),
        pytest.param(forged([], b"a", [1], [0], [1], [1]), id="a stamp too few"),
        pytest.param(forged([_STAMP] * 2, b"a", [1], [0], [1], [1, 1]), id="a note twice"),
        pytest.param(forged([["a.md", "1", 1, 1]], b"a", [1], [0], [1], [1]), id="a time in words"),
        pytest.param(forged([[1, 1, 1, 1]], b"a", [1], [0], [1], [1]), id="a path in numbers"),
        pytest.param(forged([_STAMP], b"\xff", [1], [0], [1], [1]), id="words not in UTF-8"),
        pytest.param(forged([_STAMP], b"a", [1], [0], [1], [1], sizes="no"), id="odd sizes"),
        pytest.param(forged([_STAMP], b"a", [1], [0], [1], [1], sizes=[]), id="no sizes"),
        pytest.param(b"smart-context words 1\n[]\n", id="no head"),
        pytest.param(b"smart-context words 0\n{}\n", id="another version"),
    ],
)
def test_a_forged_file_reads_as_none(caches, path, content):
    path.write_bytes(content)
    assert read_words(caches) is None


def test_a_well_formed_file_is_no_forgery(caches, path):
    path.write_bytes(forged([_STAMP], b"a", [1], [0], [1], [1]))
    assert read_words(caches).postings.words == ["a"]


def test_after_a_start_only_changed_notes_are_read(vault, monkeypatch):
    assert sources(opened(vault), "roses") == ["garden.md"]
    again = opened(vault)
    read = []
    add = VaultPassages._add
    monkeypatch.setattr(
        VaultPassages,
        "_add",
        lambda self, stamp, files: (read.append(stamp[0]), add(self, stamp, files)),
    )
    (vault / "travel.md").write_text("no roses in porto")
    (vault / "new.md").write_text("roses, roses")
    (vault / "empty.md").unlink()
    assert sources(again, "roses") == ["new.md", "garden.md", "travel.md"]
    assert sources(again, "lisbon") == []
    assert set(read) == {"new.md", "travel.md"}


def test_a_damaged_file_is_replaced(vault):
    opened(vault).find("roses", 1)
    file = vault / ".memory" / "index" / WORDS_FILE
    whole = file.read_bytes()
    file.write_bytes(whole[:-3])
    assert sources(opened(vault), "roses") == ["garden.md"]
    assert file.read_bytes() == whole


@pytest.mark.parametrize("case", ["forbidden", "no folder", "few notes"])
def test_nothing_is_written(vault, case, monkeypatch):
    if case == "few notes":
        monkeypatch.setattr(passages_module, "_WORTH_KEEPING", 10)
    if case == "no folder":
        (vault / ".memory").rmdir()
    passages = opened(vault, may_keep=lambda: case != "forbidden")
    assert sources(passages, "roses") == ["garden.md"]
    assert not (vault / ".memory" / "index" / WORDS_FILE).exists()
    assert (vault / ".memory").exists() is (case != "no folder")


def test_a_link_in_place_of_the_file_is_neither_read_nor_written(vault, tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (vault / ".memory" / "index").mkdir()
    (vault / ".memory" / "index" / WORDS_FILE).symlink_to(victim)
    assert sources(opened(vault), "roses") == ["garden.md"]
    assert victim.read_text() == "precious"

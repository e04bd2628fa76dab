"""What is copied into a database comes out of it again as it was."""

import asyncio
import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smart_context.app.storage_verbs import copied
from smart_context.chat.documents.document import raw_version, read_version
from smart_context.storage import vector_format
from smart_context.storage.files.storage import file_storage
from smart_context.storage.layout import SameStorage
from smart_context.storage.postgres.storage import postgres_storage
from tests.chat.made_documents import json_documents, said
from tests.postgres_server import new_database
from tests.storage.memory import MemoryCaches

WRITTEN = Path(__file__).parent / "written" / "memory"

BY_HAND = """{ "title" : "By hand",
  "messages": [ {"role": "user",  "content": "1e0 \\u00e9 \\ud800 \\u0000", "n": 1e0},
                {"id": "b", "role": "user", "content": "", "m": [1.50, -0, 9876543210987654321]}],
  "rate": 1.0E+2, "odd": {"z": 1, "a": NaN} }
"""


@pytest.fixture
def url(tmp_path_factory):
    return new_database(tmp_path_factory)


@pytest.fixture
def vault(tmp_path):
    """Makes a vault; gives its memory folder."""

    def make(name):
        (tmp_path / name / ".memory").mkdir(parents=True)
        return tmp_path / name / ".memory"

    return make


def copy(source, target):
    return copied(str(source), str(target), lambda done, total: None)


def contents(memory):
    paths = (path for path in memory.rglob("*") if path.is_file())
    names = {path.relative_to(memory).as_posix(): path.read_bytes() for path in paths}
    return {name: body for name, body in names.items() if not name.startswith((".index", "index/"))}


def test_a_memory_folder_comes_back_byte_for_byte(url, vault, tmp_path):
    memory = vault("one")
    shutil.copytree(WRITTEN, memory, dirs_exist_ok=True)
    (memory / "c1.json.damaged").write_bytes(b"{")
    (memory / "torn.json").write_bytes(b'{"messages": [')
    os.utime(memory / "long.json", ns=(5_000, 7_000_000_001_000))
    account = copy(tmp_path / "one", url)
    assert not account.refused
    assert account.copied["chat"] == 4  # one is in the trash
    assert account.copied["other"] == 2
    assert account.as_files == {"torn.json": "is damaged: no chat can be read from it"}
    copy(url, tmp_path / "two")
    two = tmp_path / "two" / ".memory"
    assert contents(two) == contents(memory)
    assert (two / "long.json").stat().st_mtime_ns == 7_000_000_001_000


def test_copying_again_changes_nothing_and_another_version_is_kept_and_said(url, vault, tmp_path):
    memory = vault("one")
    shutil.copytree(WRITTEN, memory, dirs_exist_ok=True)
    first = copy(tmp_path / "one", url)
    again = copy(tmp_path / "one", url)
    assert (again.copied, again.refused) == ({}, {})
    assert again.unchanged == sum(first.copied.values())
    (memory / "subjects.json").write_text(json.dumps(said("changed")))
    third = copy(tmp_path / "one", url)
    assert list(third.refused) == ["subjects.json"]
    copy(url, tmp_path / "two")
    copied_back = tmp_path / "two" / ".memory" / "subjects.json"
    assert copied_back.read_bytes() == (WRITTEN / "subjects.json").read_bytes()


def test_what_was_written_by_hand_keeps_its_values_order_and_spelling(url, vault, tmp_path):
    memory = vault("one")
    (memory / "hand.json").write_text(BY_HAND)
    (memory / "hand.filter.json").write_text('{ "on": 1e0 }')
    copy(tmp_path / "one", url)
    assert copy(tmp_path / "one", url).unchanged == 2
    copy(url, tmp_path / "two")
    two = tmp_path / "two" / ".memory"
    written = (two / "hand.json").read_text()
    for spelled in ("1e0", "\\u00e9", "\\ud800", "\\u0000", "1.50", "-0", "1.0E+2", '"z": 1, "a"'):
        assert spelled in written
    assert read_version(written.encode()).copy() == read_version(BY_HAND.encode()).copy()
    assert (two / "hand.filter.json").read_text() == '{ "on": 1e0 }'


@given(document=json_documents, indent=st.sampled_from([None, 0, 3]))
def test_the_raw_document_says_what_the_document_says(document, indent):
    text = json.dumps(document, indent=indent).encode()
    again = read_version(raw_version(text).encode())
    assert again.says_the_same(read_version(text))
    assert [*again.copy()] == [*read_version(text).copy()]


def test_what_a_team_wrote_is_read_from_files(url, tmp_path):
    database = postgres_storage(url, MemoryCaches())

    async def write():
        await database.chats.save("c", said("a", "b") | {"title": "Moved \ud800"})
        await database.documents.replace("c", "filter", {"on": True}, expected=None)
        await database.chats.save("d", said("x"))
        await database.chats.delete("d")
        return await database.blobs.put("a.txt", b"attached")

    blob = asyncio.run(write())
    database.close()
    assert not copy(url, tmp_path / "one").refused
    files = file_storage(tmp_path / "one" / ".memory")

    async def read():
        assert (await files.chats.load("c"))["title"] == "Moved \ud800"
        assert (await files.documents.read("c", "filter"))[0].value == {"on": True}
        await files.chats.restore("d")
        assert await files.chats.exists("d")
        assert await files.blobs.info(blob.storage_key) == blob
        assert await files.blobs.content(blob.storage_key) == b"attached"

    asyncio.run(read())


def test_what_does_not_come_over_as_what_it_was_is_named_each_time(url, vault, tmp_path):
    memory = vault("one")
    (memory / "a.json").write_text('{"messages": []}')
    damaged = {"b.json": "{", "a.filter.json": "[]", "a.embeddings.json": "{}", ".x.json": ""}
    for name, body in damaged.items():
        (memory / name).write_text(body)
    (memory / "c.json").symlink_to(memory / "a.json")
    os.mkfifo(memory / "d.json")
    for target in (url, tmp_path / "two", url, tmp_path / "two"):
        account = copy(tmp_path / "one", target)
        assert set(account.as_files) == set(damaged)
        assert set(account.refused) == {"c.json", "d.json"}
        assert "c.json" in account.refused["c.json"]


def test_vectors_of_another_model_than_the_others_are_named(url, vault, tmp_path):
    memory = vault("one")
    head, row = vector_format.VectorHead("new", 2), np.ones((1, 2), dtype="<f4")
    (memory / "a.json").write_text('{"messages": []}')
    written = b"".join(vector_format.encoded_vectors("old", ["k"], row))
    (memory / "a.embeddings.json").write_bytes(written)
    added = vector_format.journal_head(head) + vector_format.journal_records(["k"], row)
    (memory / "a.embeddings.journal").write_bytes(added)
    account = copy(tmp_path / "one", url)
    told = {"a.embeddings.json": "is of another model than the chat's other vectors"}
    assert account.as_files == told
    assert (account.copied["added vectors"], account.copied["other"]) == (1, 1)


def test_nothing_is_copied_onto_itself_however_it_is_named(url, vault, tmp_path):
    memory = vault("one")
    (memory / "a.json").write_text('{"messages": []}')
    (tmp_path / "link").symlink_to(tmp_path / "one")
    other = url + ("&" if "?" in url else "?") + "application_name=other"
    for source, target in ((url, other), (tmp_path / "one", tmp_path / "link")):
        with pytest.raises(SameStorage, match="same storage"):
            copy(source, target)
    assert not copy(tmp_path / "one", url).refused

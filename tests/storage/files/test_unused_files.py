"""Attached files that nothing names go after a week; all others stay."""

import os
import time

import pytest

from smart_context.base.disk.folders import Folder
from smart_context.base.disk.places import Place
from smart_context.chat.documents.branches import leave
from smart_context.storage.files.blobs import FileBlobs
from smart_context.storage.files.chats import FileChats
from smart_context.storage.files.unused_files import remove_unused
from smart_context.storage.ports import KEPT_S
from tests.hostile_places import KINDS, lay, make_outside, print_of

pytestmark = pytest.mark.anyio

NOW = time.time()


async def stored(memory, text, *, age_s=KEPT_S + 60):
    file = await FileBlobs(memory / "files").put("note.txt", text.encode("utf-16"))
    for path in (memory / "files").glob(f"{file.storage_key}*"):
        os.utime(path, (NOW - age_s, NOW - age_s))
    return file.storage_key


def names(memory):
    return {path.name[:64] for path in (memory / "files").iterdir()}


async def test_a_file_that_nothing_names_goes_with_all_that_is_known_of_it(tmp_path):
    key = await stored(tmp_path, "unused")
    assert len(list((tmp_path / "files").iterdir())) == 3
    assert remove_unused(tmp_path, now=NOW) == [key]
    assert not list((tmp_path / "files").iterdir())
    assert remove_unused(tmp_path, now=NOW) == []


@pytest.mark.parametrize(
    "place",
    [
        pytest.param("c1.json", id="a chat"),
        pytest.param("trash/c1.20260101T000000Z-0001/c1.json", id="a deleted chat"),
        pytest.param("c1.damaged.json", id="a chat that was set aside"),
        pytest.param("c1.sync-conflict.json", id="a copy that a sync made"),
        pytest.param("c1.receipts.jsonl", id="a receipt"),
    ],
)
async def test_a_file_that_anything_names_stays(tmp_path, place):
    used, unused = await stored(tmp_path, "used"), await stored(tmp_path, "unused")
    document = tmp_path / place
    document.parent.mkdir(parents=True, exist_ok=True)
    document.write_bytes(b'{"messages": [{"files": [{"storage_key": "%s"}], "con' % used.encode())
    assert remove_unused(tmp_path, now=NOW) == [unused]
    assert names(tmp_path) == {used}


async def test_a_file_that_only_another_version_names_stays(tmp_path):
    used = await stored(tmp_path, "used")
    question = {"id": "q", "role": "user", "content": "?", "files": [{"storage_key": used}]}
    document = {"messages": [question, {"id": "a", "role": "assistant", "content": "!"}]}
    leave(document, 0, branch_id="b", now="")
    assert document["messages"] == []
    await FileChats(tmp_path).save("c1", document)
    assert remove_unused(tmp_path, now=NOW) == []


async def test_a_young_file_stays_and_so_does_one_that_is_used_again(tmp_path):
    young = await stored(tmp_path, "young", age_s=KEPT_S - 60)
    again = await stored(tmp_path, "again")
    await FileBlobs(tmp_path / "files").keep(again)
    assert remove_unused(tmp_path, now=NOW) == []
    assert names(tmp_path) == {young, again}


async def test_where_a_chat_cannot_be_read_nothing_goes(tmp_path, monkeypatch, caplog):
    key = await stored(tmp_path, "unused")
    (tmp_path / "c1.json").write_text("{}")

    def refuse(_folder, name, _max_bytes):
        raise PermissionError(13, "Permission denied", name)

    monkeypatch.setattr(Folder, "read", refuse)
    assert remove_unused(tmp_path, now=NOW) == []
    assert names(tmp_path) == {key}
    assert "not removed" in caplog.text


async def test_what_is_no_stored_file_stays(tmp_path):
    await stored(tmp_path, "unused")
    other = tmp_path / "files" / "readme.txt"
    other.write_text("mine")
    os.utime(other, (0, 0))
    remove_unused(tmp_path, now=NOW)
    assert [path.name for path in (tmp_path / "files").iterdir()] == ["readme.txt"]


@pytest.mark.parametrize("linked", ["the folder", "the memory folder's part", "a file"])
async def test_nothing_behind_a_link_goes(tmp_path, linked):
    outside, vault = tmp_path / "outside", tmp_path / "vault"
    key = await stored(outside, "theirs")
    before = print_of(outside)
    memory = vault / ".memory"
    memory.mkdir(parents=True)
    if linked == "the folder":
        (memory / "files").symlink_to(outside / "files")
    elif linked == "a file":
        (memory / "files").mkdir()
        (memory / "files" / key).symlink_to(outside / "files" / key)
    else:
        memory.rmdir()
        memory.symlink_to(outside)
    assert remove_unused(Place(vault) / ".memory", now=NOW) == []
    assert print_of(outside) == before


@pytest.mark.parametrize("kind", KINDS)
async def test_what_is_no_document_names_no_file_and_holds_nothing_up(tmp_path, kind):
    memory = tmp_path / "memory"
    used, unused = await stored(memory, "used"), await stored(memory, "unused")
    outside = make_outside(tmp_path)
    (outside / "key.json").write_text(used)
    (memory / "c.json").write_text(used)
    lay(kind, memory / "x.json", outside)
    gone = remove_unused(memory, now=NOW)
    assert gone == ([] if kind == "a file of 5 GB" else [unused])  # it could name any of them


def test_no_folder_is_no_fault(tmp_path):
    assert remove_unused(tmp_path / "none", now=NOW) == []

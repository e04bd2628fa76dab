from datetime import UTC, datetime

import pytest

from smart_context.base.disk.files import signature_of
from smart_context.base.disk.folders import opened
from smart_context.base.disk.places import Place
from smart_context.base.errors import ChatIdInvalid, StoreFailed
from smart_context.storage.files.chat_files import (
    ChatFiles,
    _refuse_other_case,
)
from tests.chat.made_documents import ids, put, said, version


@pytest.fixture
def chats(tmp_path):
    return ChatFiles(tmp_path, lambda: datetime(2026, 3, 1, tzinfo=UTC))


def test_an_unchanged_file_gives_what_was_known(chats, tmp_path):
    put(tmp_path / "c.json", said("a"))
    known = chats.read("c")
    assert chats.read("c", known) is known


def test_what_an_editor_changed_shares_the_rest_with_what_was_known(chats, tmp_path):
    put(tmp_path / "c.json", said("a", "b"))
    known = chats.read("c")
    put(tmp_path / "c.json", said("a", "x"), age_s=30)
    read = chats.read("c", known)
    assert read.version.entries[0] is known.version.entries[0]
    assert ids(read.version.copy()) == ["a", "x"]


def test_a_file_that_changes_before_every_attempt_is_not_overwritten(chats, tmp_path):
    path = put(tmp_path / "c.json", said("0"))
    read = chats.read("c")
    numbers = iter(range(1, 1000))

    def read_then_changed(chat_id, known=None):
        stored = ChatFiles.read(chats, chat_id, known)
        put(path, said(str(next(numbers))))
        return stored

    chats.read = read_then_changed
    put(path, said("changed"))
    with pytest.raises(StoreFailed, match="another program"):
        chats.put("c", version(said("ours")), read)
    assert "ours" not in path.read_text()


def test_leftovers_are_swept_once_when_the_first_chat_is_written(chats, tmp_path):
    old = put(tmp_path / ".x.json.00000001.tmp", b"", age_s=5000)
    assert chats.read("c") is None
    assert old.exists()
    chats.put("c", version(said("a")), None)
    assert not old.exists()


def test_an_id_is_refused_where_the_system_gives_it_the_file_of_another_case(tmp_path):
    # A second name for the file stands for a system that ignores case.
    path = put(tmp_path / "Chat.json", said("a"))
    (tmp_path / "CHAT.JSON").hardlink_to(path)
    signature = signature_of(path)
    with opened(Place(tmp_path)) as folder:
        with pytest.raises(ChatIdInvalid, match="case only"):
            _refuse_other_case(folder, "chat.json", signature)
        _refuse_other_case(folder, path.name, signature)


def test_ids_that_differ_in_case_are_two_chats_where_the_system_tells_them_apart(chats, tmp_path):
    put(tmp_path / "Chat.json", said("a"))
    put(tmp_path / "cHAT.JSON", said("b"))
    assert ids(chats.read("Chat").version.copy()) == ["a"]

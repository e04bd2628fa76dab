import os
import stat
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smart_context.base.disk.files import (
    FileReplaced,
    atomic_write,
    is_temporary,
    read_file,
    replace_unless_changed,
    signature_of,
    sweep,
)
from smart_context.base.disk.shared_file import read_object, write_object
from smart_context.base.errors import StoreFailed
from smart_context.base.values import encoded, parsed
from tests.chat.made_documents import full_disk, names_in, put


def test_a_file_is_written_whole_and_its_folder_made(tmp_path):
    path = tmp_path / "a" / "b" / "x.json"
    written = atomic_write(path, b"one")
    assert read_file(path) == (written, b"one")
    assert signature_of(path) == written


def test_a_second_writing_replaces_the_first_and_leaves_nothing_else(tmp_path):
    path = tmp_path / "x.json"
    first = atomic_write(path, b"one")
    second = atomic_write(path, b"two")
    assert path.read_bytes() == b"two"
    assert first != second
    assert names_in(tmp_path) == ["x.json"]


def test_a_reader_that_has_the_old_file_open_keeps_seeing_the_old_one(tmp_path):
    path = tmp_path / "x.json"
    atomic_write(path, b"one")
    with path.open("rb") as reader:
        atomic_write(path, b"two and more")
        assert reader.read() == b"one"


def test_the_content_is_durable_before_it_takes_the_name_and_the_name_before_it_is_reported(
    tmp_path, monkeypatch
):
    order, fsync, replace = [], os.fsync, os.replace

    def watched_fsync(descriptor):
        kind = "folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file"
        order.append(f"fsync of the {kind}")
        fsync(descriptor)

    def watched_replace(source, target, **folders):
        order.append("rename")
        replace(source, target, **folders)

    monkeypatch.setattr(os, "fsync", watched_fsync)
    monkeypatch.setattr(os, "replace", watched_replace)
    for write in (atomic_write, lambda path, content: replace_unless_changed(path, content, None)):
        (tmp_path / "x.json").unlink(missing_ok=True)
        order.clear()
        write(tmp_path / "x.json", b"one")
        assert order == ["fsync of the file", "rename", "fsync of the folder"]


def test_rights_of_the_old_file_are_kept(tmp_path):
    path = put(tmp_path / "x.json", b"one")
    path.chmod(0o640)
    atomic_write(path, b"two")
    assert path.stat().st_mode & 0o777 == 0o640


def test_on_a_full_disk_the_old_file_is_intact_and_nothing_is_left_behind(tmp_path):
    path = tmp_path / "x.json"
    atomic_write(path, b"one")
    with full_disk(), pytest.raises(StoreFailed) as refused:
        atomic_write(path, b"x" * 5000)
    assert str(path) in str(refused.value)
    assert "unchanged" in str(refused.value)
    assert path.read_bytes() == b"one"
    assert names_in(tmp_path) == ["x.json"]


@pytest.mark.parametrize("marked", ["the file", "its folder"])
def test_what_is_marked_read_only_is_not_replaced_not_even_by_root(tmp_path, marked):
    path = put(tmp_path / "chats" / "x.json", b"one")
    place = path if marked == "the file" else path.parent
    place.chmod(0o444 if place is path else 0o555)
    try:
        with pytest.raises(StoreFailed, match="read-only"):
            atomic_write(path, b"two")
        assert path.read_bytes() == b"one"
        assert names_in(tmp_path) == ["chats/x.json"]
    finally:
        place.chmod(0o755)


def test_a_folder_that_is_a_file_is_refused_in_words(tmp_path):
    put(tmp_path / "file", b"")
    with pytest.raises(StoreFailed):
        atomic_write(tmp_path / "file" / "x.json", b"two")


@pytest.mark.parametrize("kind", ["a folder", "a link", "a FIFO", "a link to nothing"])
def test_only_plain_files_are_read(tmp_path, kind):
    path = tmp_path / "x.json"
    secret = put(tmp_path / "secret", b'{"messages": []}')
    {
        "a folder": path.mkdir,
        "a link": lambda: path.symlink_to(secret),
        "a FIFO": lambda: os.mkfifo(path),
        "a link to nothing": lambda: path.symlink_to(tmp_path / "none"),
    }[kind]()
    for look in (read_file, signature_of):
        with pytest.raises(StoreFailed):
            look(path)


def test_a_huge_file_is_not_read(tmp_path):
    path = tmp_path / "x.json"
    with path.open("wb") as file:
        file.truncate(257 * 1024 * 1024)
    with pytest.raises(StoreFailed, match="at most"):
        read_file(path)


def test_no_file_is_no_error(tmp_path):
    assert read_file(tmp_path / "x") is None
    assert signature_of(tmp_path / "none" / "x") is None


def test_a_file_that_changed_since_it_was_read_is_not_replaced(tmp_path):
    path = tmp_path / "x.json"
    seen = atomic_write(path, b"one")
    atomic_write(path, b"two")
    with pytest.raises(FileReplaced):
        replace_unless_changed(path, b"three", seen)
    assert path.read_bytes() == b"two"
    assert names_in(tmp_path) == ["x.json"]


@pytest.mark.parametrize("there", [True, False])
def test_a_file_that_appeared_or_vanished_is_a_conflict(tmp_path, there):
    path = tmp_path / "x.json"
    seen = None if there else atomic_write(path, b"one")
    if there:
        atomic_write(path, b"two")
    else:
        path.unlink()
    with pytest.raises(FileReplaced):
        replace_unless_changed(path, b"three", seen)
    assert path.exists() is there


def test_a_file_in_the_state_that_was_read_is_replaced(tmp_path):
    path = tmp_path / "x.json"
    seen = replace_unless_changed(path, b"one", None)
    replace_unless_changed(path, b"two", seen)
    assert path.read_bytes() == b"two"


def test_the_new_state_is_told_before_a_reader_can_see_it(tmp_path):
    path, told = tmp_path / "x.json", []
    seen = replace_unless_changed(path, b"one", None)
    new = replace_unless_changed(
        path, b"two", seen, lambda state: told.append((state, path.read_bytes()))
    )
    assert told == [(new, b"one")]
    assert signature_of(path) == new


WRITE_SLOWLY = """
import os, sys, time
from pathlib import Path
from smart_context.base.disk import files

def slowly(descriptor):
    print("writing", flush=True)
    time.sleep(600)

files.os.fsync = slowly
files.atomic_write(Path(sys.argv[1]), b"new")
"""


def test_what_a_killed_writer_left_is_swept_and_what_a_living_one_writes_is_not(tmp_path):
    target = tmp_path / "chat.json"
    target.write_bytes(b"old")
    command = [sys.executable, "-c", WRITE_SLOWLY, str(target)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
        try:
            assert writer.stdout.readline() == "writing\n"
            (temporary,) = [path for path in tmp_path.iterdir() if is_temporary(path.name)]
            os.utime(temporary, (0, 0))  # it has been at it for a very long time
            sweep(tmp_path)
            assert temporary.exists()
        finally:
            writer.kill()
            writer.wait()
        assert temporary.exists()
        sweep(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["chat.json"]
    assert target.read_bytes() == b"old"


def test_where_files_can_not_be_locked_leftovers_are_swept_after_an_hour(tmp_path, monkeypatch):
    monkeypatch.setattr("smart_context.base.disk.files.try_lock", lambda descriptor: True)
    old = put(tmp_path / ".a.json.00000001.tmp", b"", age_s=4000)
    new = put(tmp_path / ".a.json.00000002.tmp", b"", age_s=3000)
    sweep(tmp_path)
    assert not old.exists()
    assert new.exists()


def test_leftovers_of_killed_writers_are_swept_after_a_minute(tmp_path):
    old = put(tmp_path / ".a.json.00000001.tmp", b"", age_s=70)
    new = put(tmp_path / ".a.json.00000002.tmp", b"", age_s=10)
    others = [put(tmp_path / name, b"", age_s=4000) for name in ("a.json", ".editor.tmp")]
    sweep(tmp_path)
    assert not old.exists()
    assert new.exists()
    assert all(other.exists() for other in others)


def test_leftovers_in_the_folders_of_a_folder_are_swept_and_not_behind_a_link(tmp_path):
    name = ".a.json.00000001.tmp"
    inner = [put(tmp_path / "memory" / below / name, b"", age_s=4000) for below in ("files", "b")]
    outside = put(tmp_path / "outside" / name, b"", age_s=4000)
    (tmp_path / "memory" / "contexts").symlink_to(tmp_path / "outside")
    sweep(tmp_path / "memory")
    assert not any(path.exists() for path in inner)
    assert outside.exists()


def test_sweeping_a_folder_that_is_not_there_is_no_error(tmp_path):
    sweep(tmp_path / "none")


def test_names_of_temporary_files_are_no_chats():
    assert is_temporary(".a.json.1234abcd.tmp")
    assert not is_temporary("a.json")


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@given(st.dictionaries(st.text(st.characters(exclude_categories=[])), _VALUES, max_size=4))
def test_an_object_reads_back_as_it_was(document):
    for indent in (None, 2):
        assert parsed(encoded(document, indent=indent)) == document


def test_a_compact_object_is_one_line_and_an_indented_one_ends_a_line():
    assert encoded({"a": [1, "é"]}) == '{"a":[1,"é"]}'.encode()
    assert encoded({"a": 1}, indent=2) == b'{\n  "a": 1\n}\n'


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b'{"a": ', id="cut short"),
        pytest.param(b'{"a": "\xff"}', id="not UTF-8"),
        pytest.param(b"[1, 2]", id="a list"),
        pytest.param(b"[" * 100_000, id="absurdly nested"),
        pytest.param(b'{"a": ' + b"9" * 5_000 + b"}", id="a number of 5,000 digits"),
    ],
)
def test_a_damaged_file_reads_as_empty_and_stays_as_it_is(tmp_path, content):
    path = put(tmp_path / "a.json", content)
    assert read_object(path) == {}
    assert path.read_bytes() == content


def test_a_missing_a_large_and_a_linked_file_read_as_empty(tmp_path):
    path = put(tmp_path / "a.json", b'{"a": 1}')
    (tmp_path / "link.json").symlink_to(path)
    assert read_object(tmp_path / "none.json") == {}
    assert read_object(path, max_bytes=7) == {}
    assert read_object(tmp_path / "link.json") == {}
    assert read_object(path, max_bytes=8) == {"a": 1}


def test_a_disk_that_refuses_leaves_the_old_file(tmp_path):
    path = tmp_path / "a.json"
    write_object(path, {"a": 1})
    with full_disk(100), pytest.raises(StoreFailed):
        write_object(path, {"a": "x" * 1_000})
    assert read_object(path) == {"a": 1}

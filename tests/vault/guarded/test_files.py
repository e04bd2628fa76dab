"""What is read as a note, whatever lies there, and what is exchanged while it is opened."""

import os
import socket

import pytest

from smart_context.base.disk.folders import NotPlain, TooLarge
from smart_context.vault.guarded import files
from smart_context.vault.guarded.files import FileText, Unreadable, VaultFiles, read_text
from smart_context.vault.guarded.walk import file_stamps, readable_folders, stamp_of
from smart_context.vault.index.vault_index import VaultIndex


@pytest.fixture
def vault(tmp_path):
    """A vault beside a folder with a secret."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "key.md").write_text("secret")
    (tmp_path / "vault" / "folder").mkdir(parents=True)
    (tmp_path / "vault" / "folder" / "key.md").write_text("mine")
    return tmp_path / "vault"


@pytest.fixture(params=["one file", "many files", "where the system tells no path"])
def read(request, vault, monkeypatch):
    """Reads a file of the vault in one of the ways that there are."""
    if request.param.startswith("where"):
        monkeypatch.setattr(files, "path_of_open", lambda _descriptor: None)
    if request.param != "many files":
        yield lambda path, **options: read_text(vault, path, **options)
        return
    with VaultFiles(vault) as opened:
        yield opened.read


def sparse(path):
    with path.open("wb") as file:
        file.truncate(5 << 30)


def bound(path):
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))


NO_FILES = [
    pytest.param(lambda path, out: os.mkfifo(path), id="a FIFO"),
    pytest.param(lambda path, out: bound(path), id="a socket"),
    pytest.param(lambda path, out: path.mkdir(), id="a folder"),
    pytest.param(lambda path, out: path.symlink_to(out / "key.md"), id="a link out of the vault"),
    pytest.param(lambda path, out: path.symlink_to("/dev/zero"), id="a link to a device"),
    pytest.param(lambda path, out: path.symlink_to("/dev/tty"), id="a link to the terminal"),
    pytest.param(lambda path, out: path.symlink_to(path.name), id="a link to itself"),
]
NO_NOTES = [*NO_FILES, pytest.param(lambda path, out: sparse(path), id="a file of 5 GB")]


@pytest.mark.parametrize("make", NO_NOTES)
def test_what_is_no_note_is_never_read_or_waited_for(vault, tmp_path, read, make):
    make(vault / "x.md", tmp_path / "outside")
    assert isinstance(read("x.md"), Unreadable)


@pytest.mark.parametrize("make", NO_NOTES)
def test_what_is_no_note_is_no_part_of_the_index_and_holds_nothing_up(vault, tmp_path, make):
    make(vault / "x.md", tmp_path / "outside")
    index = VaultIndex(vault)
    index.refresh()
    assert index.read("folder/key.md")[0] == "mine"
    assert index.read("x.md") is None
    index.close()


@pytest.mark.parametrize("make", NO_FILES)
def test_an_ignore_file_that_is_something_else_says_nothing(vault, tmp_path, make):
    make(vault / ".gitignore", tmp_path / "outside")
    make(vault / "folder" / ".scignore", tmp_path / "outside")
    assert [stamp[0] for stamp in file_stamps(vault)] == ["folder/key.md"]


def test_a_folder_behind_a_link_is_neither_listed_nor_read(vault, tmp_path, read):
    (vault / "link").symlink_to(tmp_path / "outside")
    assert [stamp[0] for stamp in file_stamps(vault)] == ["folder/key.md"]
    assert file_stamps(vault, below="link") == []
    assert stamp_of(vault, "link/key.md") is None
    assert sorted(readable_folders(vault)) == ["", "folder"]
    assert isinstance(read("link/key.md"), Unreadable)


def test_links_that_stay_in_the_vault_are_followed(vault, read):
    (vault / "note.md").symlink_to("folder/key.md")
    (vault / "link").symlink_to("folder")
    for path in ("note.md", "link/key.md"):
        found = read(path)
        assert isinstance(found, FileText)
        assert found.text == "mine"


def test_a_vault_behind_a_link_is_read(vault, tmp_path):
    (tmp_path / "link").symlink_to(vault)
    assert read_text(tmp_path / "link", "folder/key.md").text == "mine"
    assert [stamp[0] for stamp in file_stamps(tmp_path / "link")] == ["folder/key.md"]


@pytest.mark.parametrize("path", ["../outside/key.md", "/etc/hostname", "folder/../../x", "a\0b"])
def test_paths_that_leave_the_vault_name_no_file(vault, read, path):
    assert isinstance(read(path), Unreadable)


def test_a_folder_that_becomes_a_link_while_a_note_is_opened_leads_nowhere(
    vault, tmp_path, monkeypatch
):
    opened = []
    real_open = os.open

    def exchanging(path, *args, **kwargs):
        if os.fspath(path).endswith("key.md") and not opened:
            opened.append(path)
            (vault / "folder").rename(vault / "moved")
            (vault / "folder").symlink_to(tmp_path / "outside")
        return real_open(path, *args, **kwargs)

    monkeypatch.setattr(os, "open", exchanging)
    found = read_text(vault, "folder/key.md")
    assert opened
    assert isinstance(found, Unreadable)


def test_a_folder_that_becomes_a_link_between_two_notes_is_not_followed(vault, tmp_path):
    (vault / "folder" / "b.md").write_text("also mine")
    (tmp_path / "outside" / "b.md").write_text("not yours")
    with VaultFiles(vault) as opened:
        assert opened.read("folder/key.md").text == "mine"
        (vault / "folder").rename(vault / "moved")
        (vault / "folder").symlink_to(tmp_path / "outside")
        assert opened.read("folder/b.md").text == "also mine"  # the folder that was opened
    assert isinstance(read_text(vault, "folder/b.md"), Unreadable)


def test_the_reason_is_told_and_so_is_the_size(vault, read):
    os.mkfifo(vault / "x.md")
    assert "not a plain file" in read("x.md").reason
    assert read("folder/key.md", max_bytes=3).size == 4
    assert read("none.md").reason == "No such file or directory"


def test_bytes_are_read_with_errors_that_can_be_told_apart(vault):
    os.mkfifo(vault / "pipe")
    opened = VaultFiles(vault)
    assert opened.content("folder/key.md", max_bytes=4) == b"mine"
    with pytest.raises(TooLarge):
        opened.content("folder/key.md", max_bytes=3)
    with pytest.raises(NotPlain):
        opened.content("pipe", max_bytes=4)


def test_folders_are_looked_into_only_so_deep(vault):
    deep = vault
    for _ in range(150):
        deep = deep / "d"
        deep.mkdir()
    (deep / "note.md").write_text("")
    (vault / "d" / "note.md").write_text("")
    found = [stamp[0] for stamp in file_stamps(vault)]
    assert sorted(found) == ["d/note.md", "folder/key.md"]

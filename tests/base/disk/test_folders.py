import errno
import os
import socket
import stat
import threading
from types import SimpleNamespace

import pytest

from smart_context.base.disk import folders
from smart_context.base.disk.files import atomic_write, read_file
from smart_context.base.disk.folders import (
    NotPlain,
    SharedSync,
    TooLarge,
    leads_elsewhere,
    opened,
    read_inside,
)
from smart_context.base.disk.places import Place
from smart_context.base.errors import StoreFailed
from tests.chat.made_documents import put

LIMIT = 1000


@pytest.fixture
def outside(tmp_path):
    put(tmp_path / "outside" / "secret", b"key")
    return tmp_path / "outside"


@pytest.fixture
def vault(tmp_path):
    put(tmp_path / "vault" / "a" / "note", b"text")
    return tmp_path / "vault"


def make(kind, path, outside):
    match kind:
        case "a link to a file":
            path.symlink_to(outside / "secret")
        case "a link to a folder":
            path.symlink_to(outside)
        case "a link to nothing":
            path.symlink_to(outside / "new")
        case "a link to a device":
            path.symlink_to("/dev/zero")
        case "a FIFO":
            os.mkfifo(path)
        case "a socket":
            with socket.socket(socket.AF_UNIX) as server:
                server.bind(str(path))
        case "a folder":
            path.mkdir()


KINDS = [
    "a link to a file",
    "a link to a folder",
    "a link to nothing",
    "a link to a device",
    "a FIFO",
    "a socket",
    "a folder",
]


@pytest.fixture(params=["by descriptor", "by name, as where there is no dir_fd"])
def way_of_opening(request, monkeypatch):
    if request.param.startswith("by name"):
        monkeypatch.setattr(folders, "_BY_DESCRIPTOR", False)


pytestmark = pytest.mark.usefixtures("way_of_opening")


@pytest.mark.parametrize("kind", KINDS)
def test_only_a_plain_file_is_read_and_nothing_is_waited_for(vault, outside, kind):
    make(kind, vault / "a" / "x", outside)
    with pytest.raises(NotPlain):
        read_inside(vault, "a/x", max_bytes=LIMIT)


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_but_a_plain_file_is_replaced_and_nothing_is_written_through_it(
    vault, outside, kind
):
    path = vault / "a" / "x"
    make(kind, path, outside)
    before = path.lstat()
    with pytest.raises(StoreFailed, match="not a plain file"):
        atomic_write(Place(vault) / "a/x", b"new")
    assert path.lstat().st_ino == before.st_ino
    assert {each.name: each.read_bytes() for each in outside.iterdir()} == {"secret": b"key"}
    assert sorted(each.name for each in (vault / "a").iterdir()) == ["note", "x"]


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "a folder"])
def test_no_folder_on_the_way_is_anything_else(vault, outside, kind):
    make(kind, vault / "b", outside)
    place = Place(vault) / "b/secret"
    with pytest.raises(NotPlain):
        read_inside(place, max_bytes=LIMIT)
    with pytest.raises(NotPlain):
        opened(place.parent)
    with pytest.raises(StoreFailed):
        atomic_write(place, b"new")
    assert (outside / "secret").read_bytes() == b"key"


def test_the_trusted_folder_itself_may_be_a_link(vault, tmp_path):
    (tmp_path / "link").symlink_to(vault)
    assert read_inside(tmp_path / "link", "a/note", max_bytes=LIMIT) == b"text"


def test_a_larger_file_is_not_read(vault):
    with (vault / "a" / "x").open("wb") as file:
        file.truncate(5 << 30)
    with pytest.raises(TooLarge, match="5,368,709,120 bytes; at most 1,000"):
        read_inside(vault, "a/x", max_bytes=LIMIT)
    with pytest.raises(StoreFailed, match="at most 1,000"):
        read_file(vault / "a" / "x", max_bytes=LIMIT)


def test_a_file_of_just_the_size_is_read(vault):
    assert read_inside(vault, "a/note", max_bytes=4) == b"text"
    with pytest.raises(TooLarge):
        read_inside(vault, "a/note", max_bytes=3)


@pytest.mark.parametrize("missing", ["a/x", "x/note"])
def test_what_is_missing_is_told_apart(vault, missing):
    with pytest.raises(FileNotFoundError):
        read_inside(vault, missing, max_bytes=LIMIT)


@pytest.mark.parametrize("relative", ["../outside/secret", "a//note", "/etc/passwd", "a/./note"])
def test_a_place_is_below_its_folder(vault, relative):
    with pytest.raises(ValueError, match="not a path below"):
        read_inside(vault, relative, max_bytes=LIMIT)


def test_what_is_made_is_for_its_owner_alone(vault):
    atomic_write(Place(vault) / ".memory/files/x", b"new")
    modes = [stat.S_IMODE((vault / name).stat().st_mode) for name in (".memory", ".memory/files")]
    assert modes == [0o700, 0o700]
    assert stat.S_IMODE((vault / ".memory/files/x").stat().st_mode) == 0o600


def test_a_file_that_others_may_read_stays_as_it_is(vault):
    (vault / "a" / "note").chmod(0o644)
    atomic_write(Place(vault) / "a/note", b"new")
    assert stat.S_IMODE((vault / "a" / "note").stat().st_mode) == 0o644


def test_what_is_made_at_a_path_of_the_user_is_as_the_umask_says(tmp_path):
    umask = os.umask(0o027)
    try:
        atomic_write(tmp_path / "x", b"new")
    finally:
        os.umask(umask)
    assert stat.S_IMODE((tmp_path / "x").stat().st_mode) == 0o640


def test_a_file_is_touched_and_a_link_is_not(vault, outside):
    os.utime(vault / "a" / "note", (1, 1))
    os.utime(outside / "secret", (1, 1))
    (vault / "a" / "x").symlink_to(outside / "secret")
    with opened(Place(vault) / "a") as folder:
        folder.touch("note")
        with pytest.raises(NotPlain):
            folder.touch("x")
    assert (vault / "a" / "note").stat().st_mtime > 1
    assert (outside / "secret").stat().st_mtime == 1


def test_a_link_is_removed_and_not_what_it_leads_to(vault, outside):
    (vault / "a" / "x").symlink_to(outside / "secret")
    with opened(Place(vault) / "a") as folder:
        folder.remove("x")
        assert folder.names() == ["note"]
    assert (outside / "secret").exists()


@pytest.mark.parametrize("name", ["note", "Note.md", "ü.md", "u\u0308.md", "x~1", "a.", "12"])
def test_a_folder_lists_each_of_its_names_as_they_are_spelled(vault, name):
    put(vault / "b" / name, b"")
    with opened(Place(vault) / "b") as folder:
        assert folder.lists(name)
        with pytest.raises(FileNotFoundError):
            folder.lists(name.swapcase() + "x")


def test_a_folder_may_list_names_that_differ_in_case_alone(vault):
    for name in ("x.md", "X.md", "X.MD"):
        put(vault / "b" / name, b"")
    with opened(Place(vault) / "b") as folder:
        assert all(map(folder.lists, ("x.md", "X.md", "X.MD")))


@pytest.mark.parametrize("change", ["replace", "unlink", "rmdir"])
def test_a_change_is_tried_again_where_a_file_that_is_read_can_not_be_changed(
    vault, monkeypatch, change
):
    put(vault / "b" / "new", b"new")
    (vault / "b" / "empty").mkdir()
    tries, really = [], getattr(os, change)

    def refused_twice(*names, **options):
        tries.append(names)
        if len(tries) < 3:
            raise PermissionError(errno.EACCES, "used by another process")
        really(*names, **options)

    monkeypatch.setattr(os, change, refused_twice)
    with opened(Place(vault) / "b") as folder:
        changes = {
            "replace": lambda: folder.move("new", folder, "old"),
            "unlink": lambda: folder.remove("new"),
            "rmdir": lambda: folder.remove_folder("empty"),
        }
        if folder.descriptor is not None:  # there it is a matter of rights
            with pytest.raises(PermissionError):
                changes[change]()
            return
        changes[change]()
    assert len(tries) == 3


def test_a_file_that_is_just_being_replaced_is_opened_a_moment_later(vault, monkeypatch):
    put(vault / "b" / "x", b"text")
    tries, really = [], os.open

    def refused_once(name, *options, **more):
        if os.fspath(name).endswith("x"):
            tries.append(name)
            if len(tries) < 2:
                raise PermissionError(errno.EACCES, "used by another process")
        return really(name, *options, **more)

    monkeypatch.setattr(os, "open", refused_once)
    with opened(Place(vault) / "b") as folder:
        if folder.descriptor is not None:  # there it is a matter of rights
            with pytest.raises(PermissionError):
                folder.read("x", LIMIT)
            return
        assert folder.read("x", LIMIT)[1] == b"text"


@pytest.mark.parametrize(
    ("mode", "tag", "leads"),
    [
        pytest.param(stat.S_IFLNK, 0, True, id="a link"),
        pytest.param(stat.S_IFREG, 0, False, id="a file"),
        pytest.param(stat.S_IFDIR, 0xA0000003, True, id="a junction"),
        pytest.param(stat.S_IFREG, 0xA000000C, True, id="a link of Windows"),
        pytest.param(stat.S_IFREG, 0x9000001A, False, id="a file that OneDrive fetches"),
    ],
)
def test_links_and_junctions_lead_elsewhere_and_files_fetched_when_needed_do_not(mode, tag, leads):
    assert leads_elsewhere(SimpleNamespace(st_mode=mode, st_reparse_tag=tag)) is leads


class Disk:
    """Its first synchronisation lasts until it is let go; counts them for each folder."""

    def __init__(self, monkeypatch):
        self.is_busy, self.goes_on = threading.Event(), threading.Event()
        self.synced = []
        monkeypatch.setattr(os, "fsync", self.fsync)

    def fsync(self, descriptor):
        self.synced.append(os.fstat(descriptor).st_ino)
        if len(self.synced) == 1:
            self.is_busy.set()
            assert self.goes_on.wait(5)


@pytest.fixture
def disk(tmp_path, monkeypatch):
    with opened(Place(tmp_path)) as folder:
        if folder.descriptor is None:
            pytest.skip("nothing is synchronised there")
    return Disk(monkeypatch)


def all_sync(disk, shared, paths):
    """One thread for each folder; those after the first ask while that one is waited for."""
    asked = threading.Semaphore(0)

    def sync(path):
        with opened(Place(path)) as folder:
            asked.release()
            shared(folder)

    threads = [threading.Thread(target=sync, args=(path,)) for path in paths]
    threads[0].start()
    assert disk.is_busy.wait(5)
    for thread in threads[1:]:
        thread.start()
    for _ in paths:
        assert asked.acquire(timeout=5)
    disk.goes_on.set()
    for thread in threads:
        thread.join(5)


def test_who_asks_while_a_folder_is_being_synchronised_waits_for_the_next_time(tmp_path, disk):
    all_sync(disk, SharedSync(), [tmp_path] * 2)
    assert len(disk.synced) == 2


def test_many_who_ask_meanwhile_share_the_next_time(tmp_path, disk):
    all_sync(disk, SharedSync(), [tmp_path] * 20)
    assert 2 <= len(disk.synced) <= 6  # some may ask a moment later


def test_another_folder_is_synchronised_for_itself(tmp_path, disk):
    (tmp_path / "other").mkdir()
    all_sync(disk, SharedSync(), [tmp_path, tmp_path / "other"])
    assert len(set(disk.synced)) == 2

"""A folder that is exchanged for a link between two steps."""

import os

import pytest

from smart_context.base.disk import folders
from smart_context.base.disk.folders import opened
from smart_context.base.disk.places import Place
from tests.chat.made_documents import put

pytestmark = pytest.mark.skipif(not folders._BY_DESCRIPTOR, reason="the system opens by name only")


@pytest.fixture
def vault(tmp_path):
    put(tmp_path / "vault" / "a" / "x", b"ours")
    put(tmp_path / "outside" / "x", b"theirs")
    return tmp_path / "vault"


@pytest.mark.parametrize(
    "step",
    [
        pytest.param(lambda folder: folder.read("x", 100), id="reading"),
        pytest.param(lambda folder: folder.names(), id="listing"),
        pytest.param(lambda folder: folder.touch("x"), id="touching"),
        pytest.param(lambda folder: folder.remove("x"), id="removing"),
        pytest.param(lambda folder: folder.make_folder("new"), id="making a folder"),
        pytest.param(lambda folder: folder.move("x", folder, "y"), id="moving"),
        pytest.param(
            lambda folder: os.close(folder.open("new", os.O_CREAT | os.O_WRONLY)), id="writing"
        ),
    ],
)
def test_an_open_folder_stays_the_one_that_was_opened(vault, tmp_path, step):
    with opened(Place(vault) / "a") as folder:
        (vault / "a").rename(vault / "b")
        (vault / "a").symlink_to(tmp_path / "outside")
        os.utime(tmp_path / "outside" / "x", (1, 1))
        step(folder)
    assert [each.name for each in (tmp_path / "outside").iterdir()] == ["x"]
    assert (tmp_path / "outside" / "x").read_bytes() == b"theirs"
    assert (tmp_path / "outside" / "x").stat().st_mtime == 1


def test_what_is_read_is_what_was_opened(vault):
    with opened(Place(vault) / "a") as folder:
        (vault / "a").rename(vault / "b")
        put(vault / "a" / "x", b"another's")
        assert folder.read("x", 100)[1] == b"ours"

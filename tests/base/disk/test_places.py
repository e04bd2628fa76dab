import ntpath
from pathlib import Path

import pytest

from smart_context.base.disk.places import Place, folder_of, place_of, relative_or_whole

TOP = Path("/vault")


def test_a_place_knows_its_way():
    place = Place(TOP) / "a" / "b/c"
    assert place == Place(TOP, ("a", "b", "c"))
    assert (place.path, place.name, place.parent) == (TOP / "a/b/c", "c", Place(TOP) / "a/b")
    assert str(place) == str(TOP / "a/b/c")


@pytest.mark.parametrize("relative", ["", ".", "..", "a/..", "a//b", "/a", "a/", "a\0b"])
def test_a_way_leads_down(relative):
    with pytest.raises(ValueError, match="not a path below"):
        Place(TOP) / relative


def test_the_folder_of_a_path_is_trusted_and_the_file_is_not():
    assert place_of(TOP / "x") == Place(TOP) / "x"
    assert folder_of(TOP / "x") == Place(TOP / "x")
    assert place_of(Place(TOP) / "x") == folder_of(Place(TOP) / "x")


def test_what_is_on_another_drive_keeps_its_whole_path():
    assert relative_or_whole("C:/a", Path("D:/b"), ntpath.relpath) == "C:/a"
    assert relative_or_whole("C:/a/x", Path("C:/b"), ntpath.relpath) == r"..\a\x"
    assert relative_or_whole("/a/x", Path("/a")) == "x"

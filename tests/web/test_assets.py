"""The version of the files that pages ask for."""

import os

import pytest

from smart_context.web.assets import assets_version


@pytest.fixture
def files(tmp_path):
    (tmp_path / "css").mkdir()
    (tmp_path / "css" / "a.css").write_text("a")
    (tmp_path / "b.js").write_text("b")
    return tmp_path


def of_another_time(path):
    os.utime(path, ns=(1, 1))


CHANGES = {
    "a file is edited": lambda files: (files / "css" / "a.css").write_text("longer"),
    "a file is as long, but newer": lambda files: of_another_time(files / "css" / "a.css"),
    "a file is added": lambda files: (files / "css" / "c.css").write_text(""),
    "a file is removed": lambda files: (files / "b.js").unlink(),
    "a file is renamed": lambda files: (files / "b.js").rename(files / "c.js"),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_the_version_changes_when(files, change):
    before = assets_version(files)
    change(files)
    assert assets_version(files) != before


def test_the_version_stays_as_long_as_the_files_do(files):
    assert assets_version(files) == assets_version(files)


def test_a_link_to_nowhere_is_no_error(files):
    (files / "gone.js").symlink_to(files / "nowhere")
    assert assets_version(files)

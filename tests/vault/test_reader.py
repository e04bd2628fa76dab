import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from smart_context.vault.guarded.files import FileText, Unreadable, read_text
from smart_context.vault.reader import read_include_files, read_requested_files

pytestmark = pytest.mark.anyio


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "a.md").write_text("alpha")
    (tmp_path / "b.txt").write_text("beta")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/c.md").write_text("gamma é")
    return tmp_path


async def _read(folder, paths, **guards):
    read = {}
    await read_requested_files(paths, read, folder, **guards)
    return {os.path.relpath(path, folder): text for path, text in read.items()}


async def test_files_are_read_under_their_absolute_path(folder):
    read = {}
    await read_requested_files(["sub/../a.md", str(folder / "sub/c.md")], read, dir=folder)
    assert read == {str(folder / "a.md"): "alpha", str(folder / "sub/c.md"): "gamma é"}


async def test_the_key_does_not_follow_links(folder):
    (folder / "link.md").symlink_to("a.md")
    assert await _read(folder, ["link.md"]) == {"link.md": "alpha"}


@pytest.mark.parametrize("dir_", [{}, {"dir": "."}, {"dir": ""}, {"dir": None}], ids=str)
async def test_relative_paths_start_at_the_working_directory(folder, monkeypatch, dir_):
    monkeypatch.chdir(folder)
    read = {}
    await read_requested_files(["a.md"], read, **dir_)
    assert read == {str(folder / "a.md"): "alpha"}


async def test_paths_may_be_path_objects(folder):
    assert await _read(folder, (Path("a.md"), folder / "sub" / "c.md"), filter="a*") == {
        "a.md": "alpha"
    }
    read = {}
    await read_include_files([Path("b.txt")], read, folder)
    assert read == {str(folder / "b.txt"): "beta"}


async def test_reading_stops_when_enough_is_there(folder):
    read = {"/included": "x", "/missing": "[Error reading file: …]"}
    await read_requested_files(["a.md", "b.txt"], read, folder, max_files=3)
    assert list(read) == ["/included", "/missing", str(folder / "a.md")]


async def test_what_is_there_is_not_read_again(folder):
    read = {str(folder / "a.md"): "from before"}
    await read_requested_files(["a.md"], read, folder)
    assert read == {str(folder / "a.md"): "from before"}


async def test_other_names_are_passed_over(folder):
    assert await _read(folder, ["a.md", "b.txt", "sub/c.md"], filter="*.md") == {
        "a.md": "alpha",
        "sub/c.md": "gamma é",
    }


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        pytest.param(5, "alpha", id="as large as may be"),
        pytest.param(4, "[Skipped: file size 5 bytes exceeds maxFileSize 4]", id="too large"),
        pytest.param(0, "[Skipped: file size 5 bytes exceeds maxFileSize 0]", id="nothing fits"),
    ],
)
async def test_the_size_is_limited(folder, limit, expected):
    assert await _read(folder, ["a.md"], max_file_size=limit) == {"a.md": expected}


async def test_a_file_that_is_too_large_is_not_opened(folder):
    large = folder / "large.md"
    with large.open("wb") as file:
        file.truncate(1 << 40)
    note = (await _read(folder, ["large.md"], max_file_size=10))["large.md"]
    assert note == f"[Skipped: file size {1 << 40} bytes exceeds maxFileSize 10]"
    assert (await _read(folder, ["large.md"]))["large.md"].startswith("[Error reading file: ")


@pytest.mark.parametrize(
    "path",
    [
        pytest.param("none.md", id="missing"),
        pytest.param("sub", id="a folder"),
        pytest.param("", id="the folder itself"),
        pytest.param("binary.md", id="binary"),
        pytest.param("latin.md", id="not UTF-8"),
        pytest.param("pipe.md", id="a pipe"),
        pytest.param("loop.md", id="a link to itself"),
        pytest.param("a\0.md", id="a NUL"),
        pytest.param("\ud800.md", id="no possible name"),
        pytest.param("x" * 5000, id="too long"),
    ],
)
async def test_a_failure_is_a_note(folder, path):
    (folder / "binary.md").write_bytes(b"text\0more")
    (folder / "latin.md").write_bytes(b"caf\xe9")
    (folder / "loop.md").symlink_to("loop.md")
    os.mkfifo(folder / "pipe.md")
    (note,) = (await _read(folder, [path], max_file_size=100)).values()
    assert note.startswith("[Error reading file: ")
    assert note.endswith("]")


async def test_nothing_outside_the_root_is_read(folder, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside") / "secret.md"
    outside.write_text("secret")
    (folder / "out.md").symlink_to(outside)
    paths = [str(outside), "out.md", os.path.relpath(outside, folder), "sub/../a.md"]
    *refused, allowed = (await _read(folder, paths, root=folder)).values()
    assert allowed == "alpha"
    assert all(note.startswith("[Error reading file: ") for note in refused)
    assert len(refused) == 2  # two of the paths are one key


async def test_includes_heed_neither_filter_nor_count(folder):
    read = {}
    await read_include_files(["a.md", "b.txt"], read, folder, max_file_size=4)
    assert list(read.values()) == [
        "[Skipped: file size 5 bytes exceeds maxFileSize 4]",
        "beta",
    ]


@pytest.mark.parametrize("paths", [None, "a.md", b"a.md", 7, [None, 3, {}]])
async def test_what_is_no_list_of_paths_is_nothing(folder, paths):
    read = {}
    await read_include_files(paths, read, folder)
    await read_requested_files(paths, read, folder)
    assert read == {}


async def test_includes_stay_in_the_root_too(folder):
    read = {}
    await read_include_files(["/etc/passwd"], read, folder, root=folder)
    assert read["/etc/passwd"].startswith("[Error reading file: ")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
@given(st.lists(st.text(max_size=12) | st.sampled_from(["a.md", "..", "../..", "/"]), max_size=5))
async def test_no_request_raises(folder, paths):
    for note in (await _read(folder, paths, root=folder, max_file_size=100)).values():
        assert note == "alpha" or note.startswith("[")


def test_a_file_in_the_kernels_memory_is_read_to_its_end():
    outcome = read_text("/proc/self", "status")
    assert isinstance(outcome, FileText)
    assert outcome.text.endswith("\n")


def test_a_stream_without_end_is_refused():
    outcome = read_text("/dev", "zero")
    assert isinstance(outcome, Unreadable)
    assert "not a plain file" in outcome.reason

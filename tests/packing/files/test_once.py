import os

import pytest

from smart_context.packing.files.patterns import PatternSet
from smart_context.packing.files.sources import FilesOnce, Sources


@pytest.fixture
def repo(tmp_path):
    root = tmp_path / "repo"
    (root / "docs").mkdir(parents=True)
    (root / "docs" / "b.md").write_text("b")
    (root / "docs" / "c.md").write_text("c")
    (root / "a.md").symlink_to("docs/b.md")
    (root / "linked").symlink_to("docs")
    return root


@pytest.fixture
def once(repo):
    return FilesOnce(Sources(repo, PatternSet(())))


@pytest.mark.parametrize(
    ("paths", "left"),
    [
        pytest.param(["a.md", "docs/b.md"], ["docs/b.md"], id="its own name is the better one"),
        pytest.param(["docs/b.md", "a.md"], ["docs/b.md"], id="in any order"),
        pytest.param(["a.md"], ["a.md"], id="a link alone"),
        pytest.param(["a.md", "linked/b.md"], ["a.md"], id="two links to one file"),
        pytest.param(["linked/c.md", "docs/c.md"], ["docs/c.md"], id="a link to a folder"),
        pytest.param(["docs/c.md", "docs/c.md"], ["docs/c.md"], id="a path twice"),
        pytest.param(["docs/c.md", "docs/b.md"], ["docs/c.md", "docs/b.md"], id="two files"),
        pytest.param(["none.md", "../x", "\0"], ["none.md", "../x", "\0"], id="what is no file"),
    ],
)
def test_a_file_is_taken_once_whatever_leads_to_it(once, paths, left):
    assert once.left(paths) == left
    assert once.take(paths) == left
    assert once.take(paths) == []


def test_what_was_taken_by_a_link_is_not_taken_by_its_name(once):
    assert once.take(["a.md"]) == ["a.md"]
    assert once.left(["docs/b.md", "linked/b.md", "docs/c.md"]) == ["docs/c.md"]


def test_hard_links_are_files_of_their_own(repo, once):
    os.link(repo / "docs" / "b.md", repo / "docs" / "d.md")
    assert once.take(["docs/b.md", "docs/d.md"]) == ["docs/b.md", "docs/d.md"]


def test_a_repository_is_not_looked_at_for_nothing(repo):
    sources = Sources(repo, PatternSet(()))
    assert FilesOnce(sources).take([]) == []
    assert "stamps" not in vars(sources)

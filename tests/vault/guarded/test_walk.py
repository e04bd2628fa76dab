import os
import shutil
import subprocess

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from smart_context.base.disk import folders
from smart_context.base.disk.folders import Folder
from smart_context.vault.guarded.ignore import parse_ignore
from smart_context.vault.guarded.repository import folders_of
from smart_context.vault.guarded.walk import (
    cut_words,
    file_stamps,
    readable_files,
    rest_after,
    stamp_of,
)
from tests.folding_folders import FoldingFolder


@pytest.fixture
def vault(tmp_path):
    def make(files):
        for path, text in files.items():
            file = tmp_path / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        return tmp_path

    return make


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        pytest.param(
            {"b.md": "", "a/z.md": "", "a-b.md": ""}, ["a-b.md", "a/z.md", "b.md"], id="all, sorted"
        ),
        pytest.param(
            {".gitignore": "x.md", "x.md": "", "sub/x.md": "", "y.md": ""},
            ["y.md"],
            id="a name at any depth",
        ),
        pytest.param(
            {".gitignore": "/x.md", "x.md": "", "sub/x.md": ""}, ["sub/x.md"], id="an anchored name"
        ),
        pytest.param(
            {".scignore": "*.log", "x.log": "", "y.md": ""}, ["y.md"], id="our own ignore file"
        ),
        pytest.param(
            {
                ".gitignore": "*.log",
                "sub/.gitignore": "!keep.log",
                "sub/keep.log": "",
                "sub/x.log": "",
            },
            ["sub/keep.log"],
            id="a nested file takes back in",
        ),
        pytest.param(
            {".gitignore": "build/", "build/.gitignore": "!a.md", "build/a.md": "", "x/build": ""},
            ["x/build"],
            id="nothing comes back from a folder that is out",
        ),
        pytest.param(
            {".gitignore": "a.md", ".scignore": "!a.md", "a.md": ""},
            ["a.md"],
            id="ours has the last word",
        ),
        pytest.param(
            {".gitignore": "x/*\n!x/keep.md", "x/keep.md": "", "x/a.md": "", "x/y/b.md": ""},
            ["x/keep.md"],
            id="all of a folder but one file",
        ),
        pytest.param(
            {".obsidian/x.md": "", ".env": "", "sub/.hidden/y.md": ""},
            [],
            id="dot-names are hidden",
        ),
        pytest.param(
            {".gitignore": "[\n(\n!\n\\", "a.md": ""},
            ["a.md"],
            id="nonsense patterns are passed over",
        ),
    ],
)
def test_the_walk_gives(vault, files, expected):
    assert list(readable_files(vault(files))) == expected


def test_a_folder_below_heeds_the_ignore_files_above(vault):
    root = vault(
        {".gitignore": "sub/x.md\nout/", "sub/x.md": "", "sub/y.md": "", "out/z.md": "", "a.md": ""}
    )
    assert list(readable_files(root, below="sub/")) == ["sub/y.md"]
    assert list(readable_files(root, below="out")) == []
    assert list(readable_files(root, below="missing")) == []


def test_a_folder_can_be_left_out_and_dot_names_taken_in(vault):
    root = vault(
        {"memory/c.json": "", "a.md": "", ".github/w.yml": "", ".git/config": "", ".gitignore": ""}
    )
    assert list(readable_files(root, without=("memory",))) == ["a.md"]
    assert list(readable_files(root, hidden=True)) == [".github/w.yml", "a.md", "memory/c.json"]


def test_links_are_followed_to_files_of_the_vault_only(vault, tmp_path_factory):
    root = vault({"a.md": "", "sub/b.md": ""})
    outside = tmp_path_factory.mktemp("outside") / "secret.md"
    outside.write_text("secret")
    (root / "out.md").symlink_to(outside)
    (root / "in.md").symlink_to("a.md")
    (root / "loop.md").symlink_to("loop.md")
    (root / "sub/up").symlink_to(root)
    os.mkfifo(root / "pipe.md")
    assert list(readable_files(root)) == ["a.md", "in.md", "sub/b.md"]


def test_a_link_to_what_is_left_out_is_left_out(vault):
    root = vault({".gitignore": "private.md\n/sub/", "private.md": "", "sub/b.md": "", ".env": "",
                  ".dot/c.md": "", "memory/d.json": "", "a.md": ""})  # fmt: skip
    for name in ("private.md", "sub/b.md", ".env", ".dot/c.md", "memory/d.json", "a.md"):
        (root / f"to-{name.replace('/', '-')}").symlink_to(root / name)
    (root / "chain.md").symlink_to("to-private.md")
    assert list(readable_files(root, without=("memory",))) == ["a.md", "to-a.md"]
    assert stamp_of(root, "to-private.md") is None
    assert stamp_of(root, "to-a.md") is not None
    assert "to-.env" in readable_files(root, hidden=True)


def git(root, *arguments):
    return subprocess.run(
        ["git", *arguments], cwd=root, check=True, capture_output=True, text=True
    ).stdout


def listed_by_git(root):
    """What git lists in a folder of a repository, without the ignore files and hidden names."""
    names = git(root, "ls-files", "-z", "--others", "--exclude-standard", ".").split("\0")
    return sorted(name for name in names if name and not f"/{name}".count("/."))


_NAMES = st.sampled_from(["a", "b", "ab", "aab", "a.md", "b.md", "a1", "é"])
_LINES = st.lists(st.text(st.sampled_from("abé1.*?/!#[]c- \\"), max_size=8), max_size=4).map(
    "\n".join
)
_TREES = st.fixed_dictionaries(
    {
        "paths": st.lists(
            st.lists(_NAMES, min_size=1, max_size=3).map("/".join), min_size=1, max_size=6
        ),
        "top": _LINES,
        "above": _LINES,
        "here": _LINES,
        "nested": _LINES,
        "excluded": _LINES,
    }
)


@pytest.fixture(scope="module")
def emptied(tmp_path_factory):
    root = tmp_path_factory.mktemp("repository")
    git(root, "init", "-q")

    def make():
        shutil.rmtree(root / "notes", ignore_errors=True)
        return root

    return make


def check_against_git(root, paths, **rules):
    """Compare the walk of `notes/b` in a repository with what git lists there."""
    vault = root / "notes/b"
    for path in paths:
        file = vault / path
        if any(parent.is_file() for parent in file.parents) or file.is_dir():
            continue
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("")
    (root / ".git/info/exclude").write_text(rules["excluded"])
    places = {"top": root, "above": root / "notes", "here": vault, "nested": vault / "a"}
    for name, folder in places.items():
        if folder.is_dir():
            (folder / ".gitignore").write_text(rules[name])
    listed = listed_by_git(vault)
    if listed or not is_excluded_by_git(vault):  # else git lists nothing there
        assert list(readable_files(vault)) == listed


def is_excluded_by_git(folder):
    return (
        subprocess.run(["git", "check-ignore", "-q", "."], cwd=folder, check=False).returncode == 0
    )


@settings(deadline=None, max_examples=25)
@given(tree=_TREES)
@example(
    tree={
        "paths": ["a", "ab", "a1"],
        "top": "?[]*\nb/*",
        "above": "[!]*",
        "here": "!a1",
        "nested": "",
        "excluded": "ab",
    }
)
def test_the_ignore_files_mean_what_they_mean_to_git(emptied, tree):
    check_against_git(emptied(), **tree)


@pytest.mark.slow
@settings(deadline=None, max_examples=150)
@given(tree=_TREES)
def test_the_ignore_files_of_many_trees_mean_what_they_mean_to_git(emptied, tree):
    check_against_git(emptied(), **tree)


@pytest.fixture
def repository(vault):
    root = vault(
        {
            ".gitignore": "*.key\n/private/\n/notes/drafts/*\n!/notes/drafts/good.md",
            "notes/a.md": "",
            "notes/a.key": "",
            "notes/kept.key": "",
            "notes/b.log": "",
            "notes/.gitignore": "!kept.key",
            "notes/drafts/bad.md": "",
            "notes/drafts/good.md": "",
            "notes/drafts/b.log": "",
            "private/p.md": "",
            "private/p.key": "",
        }
    )
    git(root, "init", "-q")
    (root / ".git/info/exclude").write_text("*.log")
    return root


def test_the_rules_of_the_repository_that_a_vault_is_in_count(repository):
    expected = ["a.md", "drafts/good.md", "kept.key"]
    assert list(readable_files(repository / "notes")) == listed_by_git(repository / "notes")
    assert list(readable_files(repository / "notes")) == expected
    assert list(readable_files(repository / "notes", below="drafts")) == ["drafts/good.md"]
    assert list(readable_files(repository / "notes/drafts")) == ["good.md"]
    assert stamp_of(repository / "notes", "a.md") is not None
    assert stamp_of(repository / "notes", "a.key") is None
    assert stamp_of(repository / "notes", "b.log") is None


def test_a_vault_that_its_repository_excludes_is_read_and_the_other_rules_count(repository):
    assert list(readable_files(repository / "private")) == ["p.md"]
    (repository / ".gitignore").write_text("*\n!.gitignore")
    (repository / ".git/info/exclude").write_text("*.key")
    assert list(readable_files(repository / "private")) == ["p.md"]


def test_the_rules_end_at_the_top_of_the_repository(repository):
    git(repository / "notes", "init", "-q")
    assert "b.log" in list(readable_files(repository / "notes"))
    assert list(readable_files(repository)) == [
        "notes/a.md",
        "notes/drafts/good.md",
        "notes/kept.key",
    ]


def test_a_work_tree_has_the_excludes_of_its_repository(repository, tmp_path_factory):
    tree = tmp_path_factory.mktemp("trees") / "tree"
    author = ("-c", "user.name=a", "-c", "user.email=a@b.c")
    git(repository, *author, "commit", "-q", "--allow-empty", "-m", "a")
    git(repository, "worktree", "add", "-q", str(tree))
    for name in ("b.log", "sub/b.log", "sub/b.md"):
        (tree / name).parent.mkdir(exist_ok=True)
        (tree / name).write_text("")
    assert list(readable_files(tree)) == ["sub/b.md"]
    assert list(readable_files(tree / "sub")) == ["b.md"]


def test_a_link_is_not_followed_to_an_ignore_file_but_to_the_repositorys_excludes(vault):
    root = vault({"rules": "*.md", "a.md": "", "b.log": "", "logs": "*.log"})
    git(root, "init", "-q")
    (root / ".gitignore").symlink_to("rules")
    (root / ".git/info/exclude").unlink()
    (root / ".git/info/exclude").symlink_to("../../logs")
    assert list(readable_files(root)) == listed_by_git(root) == ["a.md", "logs", "rules"]


def test_a_pointer_to_another_machine_is_not_followed(vault):
    root = vault({".git": "gitdir: //machine/share", "sub/a.md": ""})
    with pytest.raises(ValueError, match="leads to another machine"):
        folders_of(root)
    assert list(readable_files(root / "sub")) == ["a.md"]


@pytest.mark.parametrize("pattern", ["*a" * 60 + "b", "**/a/" * 40 + "b", "[" * 500])
def test_no_pattern_makes_the_match_slow(pattern):
    rules = parse_ignore(pattern + "\nlast")
    assert rules is not None
    assert rules.verdict("a" * 250 + "/" + "a/" * 1000 + "c") is None


def test_names_without_wildcards_all_count_and_the_last_rule_about_a_path_decides():
    names = "".join(f"name{number}\n" for number in range(50_000))
    rules = parse_ignore(f"{names}!name7\n/top/file\n*.log\n!a.log\na.log/\n")
    paths = ["name49999", "x/name3/", "name7", "top/file", "x/top/file", "b.log", "a.log", "a.log/"]
    assert [rules.verdict(path) for path in paths] == [
        True,
        True,
        False,
        True,
        None,
        True,
        False,
        True,
    ]
    assert rules.left_out == 0


@pytest.mark.parametrize(
    ("text", "left_out"),
    [
        pytest.param("".join(f"*{number}\n" for number in range(1_500)), 500, id="wildcards"),
        pytest.param("*" + "a*" * 3_000 + "\n*.log", 1, id="a long pattern"),
        pytest.param("a\n" * 100_005, 6, id="lines"),
        pytest.param("#" * (1 << 20) + "\n*.log\n*.txt\n", 3, id="after a megabyte"),
    ],
)
def test_what_does_not_count_is_counted(text, left_out):
    assert parse_ignore(text).left_out == left_out


def test_a_walk_tells_of_lines_that_do_not_count(vault):
    root = vault({"sub/.gitignore": "".join(f"*{n}\n" for n in range(1_500)), "a": ""})
    told = []
    file_stamps(root, on_cut=lambda *cut: told.append(cut))
    assert told == [("sub/", 500)]


@pytest.mark.parametrize(
    ("look_s", "work_s", "rest_s"),
    [
        pytest.param(0.02, 0.02, 0, id="quick"),
        pytest.param(0.2, 0.01, 0, id="on a busy machine"),
        pytest.param(0.05, 0.04, 1, id="in a large vault"),
        pytest.param(2, 0.01, 40, id="on a slow disk"),
    ],
)
def test_only_slow_looks_need_a_rest(look_s, work_s, rest_s):
    assert rest_after(look_s, work_s) == rest_s


@pytest.fixture
def unreadable(monkeypatch):
    """Makes the ignore files of a folder unreadable, as their permissions do for others."""

    def make(place, *names):
        read = Folder.read

        def refusing(folder, name, max_bytes):
            if name in names and folder.path == place:
                raise PermissionError(13, "Permission denied")
            return read(folder, name, max_bytes)

        monkeypatch.setattr(Folder, "read", refusing)

    return make


@pytest.mark.parametrize("name", [".gitignore", ".scignore"])
def test_what_an_ignore_file_excludes_that_can_not_be_read_is_not_shown(vault, unreadable, name):
    root = vault({"a.md": "", "sub/b.md": "", "sub/deep/c.md": "", f"sub/{name}": "secret*"})
    unreadable(root / "sub", name)
    told = []
    stamps = file_stamps(root, on_cut=lambda folder, lines: told.append((folder, lines)))
    assert [stamp[0] for stamp in stamps] == ["a.md"]
    assert told == [("sub/", 0)]
    assert "can't be read" in cut_words("sub/", 0)
    assert stamp_of(root, "sub/b.md") is None
    assert stamp_of(root, "a.md") is not None


@pytest.mark.parametrize("name", [".gitignore", ".scignore", ".git/info/exclude"])
def test_what_a_large_ignore_file_excludes_is_not_shown(vault, name):
    root = vault({"a.md": "", ".git/HEAD": "ref: refs/heads/main\n", name: "x\n" * (3 << 20)})
    told = []
    assert file_stamps(root, on_cut=lambda folder, lines: told.append((folder, lines))) == []
    assert told == [("", 0)]


def test_nothing_is_shown_below_an_ignore_file_that_can_not_be_read(repository, unreadable):
    unreadable(repository, ".gitignore")
    assert list(readable_files(repository / "notes" / "drafts")) == []


@pytest.fixture
def folding(monkeypatch):
    monkeypatch.setattr(folders, "Folder", FoldingFolder)


NFC, NFD = "Ger\u00e4t", "Gera\u0308t"


@pytest.mark.usefixtures("folding")
def test_a_file_is_found_by_the_name_that_its_folder_lists_and_by_no_other(vault):
    root = vault({"notes/x.md": "", f"{NFD}/y.md": "", "2.md": ""})
    for path in ("notes/x.md", f"{NFD}/y.md", "2.md"):
        assert stamp_of(root, path) is not None
    for path in ("NOTES/x.md", "notes/X.md", "notes./x.md", "notes/x.md ", f"{NFC}/y.md", "2.md."):
        assert stamp_of(root, path) is None
    assert list(readable_files(root, below="NOTES")) == []


@pytest.mark.usefixtures("folding")
@pytest.mark.parametrize("pattern", ["secret/", "notes/ignored.md", "s?cret", "[r-t]*T/", "*.MD"])
def test_patterns_match_without_case_where_the_file_system_folds_it(vault, pattern):
    root = vault({".gitignore": pattern, "SECRET/x.md": "", "Notes/IGNORED.md": "", "a.txt": ""})
    shown = {"SECRET/x.md", "Notes/IGNORED.md", "a.txt"}
    excluded = {"notes/ignored.md": {"Notes/IGNORED.md"}, "*.MD": shown - {"a.txt"}}
    assert set(readable_files(root)) == shown - excluded.get(pattern, {"SECRET/x.md"})
    assert (stamp_of(root, "SECRET/x.md") is None) is (pattern != "notes/ignored.md")


@pytest.mark.parametrize(
    "pattern",
    ["secret/", "/SECRET/*", "[^p-r]*T", "[[:upper:]]*t", "s*t/", "!secret\nsecret"],
)
@pytest.mark.parametrize("value", ["true", "false"])
def test_patterns_match_without_case_where_git_does(vault, pattern, value):
    root = vault({".gitignore": pattern, "Secret/x.md": "", "notes/SECRET/y.md": "", "z.md": ""})
    git(root, "init", "-q")
    git(root, "config", "core.ignorecase", value)
    assert list(readable_files(root)) == listed_by_git(root)
    assert list(readable_files(root / "notes")) == listed_by_git(root / "notes")


def test_a_repository_without_rules_tells_the_folders_below_that_git_ignores_case(vault):
    root = vault({"notes/.gitignore": "x.md", "notes/X.md": "", "notes/y.md": ""})
    git(root, "init", "-q")
    (root / ".git/info/exclude").unlink()
    git(root, "config", "core.ignorecase", "true")
    assert list(readable_files(root)) == ["notes/y.md"]
    assert list(readable_files(root / "notes")) == ["y.md"]


@pytest.mark.parametrize(("pattern", "name"), [(NFC, NFD), (NFD, NFC), (f"{NFC}*", NFD)])
def test_a_pattern_holds_for_a_name_that_is_composed_otherwise(vault, pattern, name):
    root = vault({".gitignore": f"{pattern}/", f"{name}/x.md": "", "y.md": ""})
    assert list(readable_files(root)) == ["y.md"]
    assert stamp_of(root, f"{name}/x.md") is None


def test_a_name_with_a_dot_or_a_space_at_its_end_is_excluded_as_without_it(vault):
    root = vault(
        {".gitignore": "secret/", "secret./x.md": "", "a/secret /x.md": "", "Inc./y.md": ""}
    )
    assert list(readable_files(root)) == ["Inc./y.md"]
    assert stamp_of(root, "secret./x.md") is None


def test_a_folder_to_leave_out_is_left_out_however_its_name_was_spelled(vault):
    root = vault({"Memory/x.md": "", "y.md": ""})
    (root / "memory").symlink_to("Memory")  # the same folder by both names, as where case folds
    assert list(readable_files(root, without=["memory"])) == ["y.md"]
    (root / "memory").unlink()
    (root / "memory").mkdir()
    assert list(readable_files(root, without=["memory"])) == ["Memory/x.md", "y.md"]

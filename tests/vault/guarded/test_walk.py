import os
import subprocess

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from smart_context.vault.guarded.ignore import parse_ignore
from smart_context.vault.guarded.walk import file_stamps, readable_files, rest_after


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


_NAMES = st.sampled_from(["a", "b", "ab", "aab", "a.md", "b.md", "abc"])
_PATTERNS = st.lists(st.text(st.sampled_from("ab.*?/!#[]c- \\"), max_size=8), max_size=4)


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    paths=st.lists(st.lists(_NAMES, min_size=1, max_size=3).map("/".join), min_size=1, max_size=6),
    top=_PATTERNS,
    nested=_PATTERNS,
)
@example(paths=["a"], top=["?[]*"], nested=[])
@example(paths=["a", "ab"], top=["[!]*"], nested=[])
def test_the_ignore_files_mean_what_they_mean_to_git(tmp_path_factory, paths, top, nested):
    root = tmp_path_factory.mktemp("repo")
    for path in paths:
        file = root / path
        if any(parent.is_file() for parent in file.parents) or file.is_dir():
            continue
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("")
    (root / ".gitignore").write_text("\n".join(top))
    if (root / "a").is_dir():
        (root / "a/.gitignore").write_text("\n".join(nested))
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--others", "--exclude-standard"],
        cwd=root,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    expected = sorted(
        path for path in listed.split("\0") if path and not path.endswith(".gitignore")
    )
    assert list(readable_files(root)) == expected


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

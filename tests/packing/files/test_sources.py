import os

import pytest

from smart_context.packing.files.patterns import PatternSet
from smart_context.packing.files.sources import (
    BINARY,
    SECRET,
    TOO_LARGE,
    UNREADABLE,
    Allowance,
    SizeLimits,
    SourceFile,
    Sources,
)


@pytest.fixture
def repo(tmp_path):
    root = tmp_path / "repo"
    root.mkdir()
    return root


def sources(root, *exclude: str, **fields) -> Sources:
    return Sources(root, PatternSet(exclude), **fields)


def read(found: Sources, path: str, *allowance: Allowance) -> SourceFile:
    return found.read([path], *allowance)[0]


def put(root, **texts):
    for name, text in texts.items():
        path = root / name.replace("__", "/").replace("_dot_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())


def test_ignored_hidden_and_excluded_files_are_not_found(repo):
    put(
        repo,
        a_dot_py="",
        b_dot_log="",
        keep_dot_log="",
        sub__c_dot_log="",
        sub__keep_dot_log="",
        gen__d_dot_py="",
        _dot_git__e_dot_py="",
        _dot_hidden_dot_py="",
    )
    (repo / ".gitignore").write_text("*.log\n!keep.log\n")
    (repo / "sub" / ".gitignore").write_text("!c.log\n")
    assert sources(repo, "gen/").find(["**"]) == ["a.py", "keep.log", "sub/c.log", "sub/keep.log"]


def test_a_large_ignore_file_leaves_all_out_and_is_named(repo):
    put(repo, notes__a_dot_md="a", notes___dot_gitignore="x\n" * (3 << 20), b_dot_md="b")
    found = sources(repo)
    assert found.find(["**"]) == ["b.md"]
    (warning,) = found.warnings
    assert "an ignore file in notes/" in warning


def test_an_exact_path_is_taken_whatever_ignores_or_excludes_it(repo):
    put(repo, a_dot_log="x")
    (repo / ".gitignore").write_text("*.log\n")
    found = sources(repo, "*.log")
    assert found.find(["a.log"]) == ["a.log"]
    assert read(found, "a.log").text == "x"


def test_a_name_with_wildcards_that_is_a_file_is_that_file(repo):
    put(repo, **{"[id]_dot_ts": "x", "i_dot_ts": "y"})
    assert sources(repo).find(["[id].ts"]) == ["[id].ts"]


def test_a_folder_is_all_that_is_in_it(repo):
    put(repo, docs__a_dot_md="", docs__deep__b_dot_md="", other__docs__c_dot_md="")
    assert sources(repo).find(["docs"]) == ["docs/a.md", "docs/deep/b.md"]


def test_a_path_that_names_nothing_is_a_warning(repo):
    found = sources(repo)
    assert found.find(["missing.py"]) == []
    assert "missing.py" in found.warnings[0]


@pytest.mark.parametrize("request_", ["../secret.txt", "/etc/passwd", "a/../../secret.txt", "link"])
def test_what_is_outside_is_neither_found_nor_read(repo, request_):
    (repo.parent / "secret.txt").write_text("hidden")
    (repo / "link").symlink_to(repo.parent / "secret.txt")
    found = sources(repo)
    assert found.find([request_, "**"]) == []
    assert read(found, request_).text is None
    assert found.peek(request_) is None
    assert any("refused" in warning for warning in found.warnings)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        pytest.param(b"a\0b", BINARY, id="binary"),
        pytest.param(b"\xe9t\xe9", BINARY, id="not UTF-8"),
        pytest.param(b"version https://git-lfs.github.com/spec/v1\n", BINARY, id="an LFS pointer"),
        pytest.param(b"AKIA" + b"ABCDEFGHIJKLMNOP", SECRET, id="a secret"),
        pytest.param(b"x" * ((1 << 20) + 1), TOO_LARGE, id="too large"),
    ],
)
def test_a_file_that_can_not_be_shown_says_why(repo, content, reason):
    put(repo, f=content)
    file = read(sources(repo), "f")
    assert (file.text, file.reason) == (None, reason)
    assert file.detail


def test_a_file_of_the_largest_size_is_read(repo):
    put(repo, f=b"x" * (1 << 20))
    assert read(sources(repo), "f").size == 1 << 20


def test_a_byte_order_mark_is_not_text(repo):
    put(repo, f=b"\xef\xbb\xbfx")
    assert read(sources(repo), "f").text == "x"


def test_secrets_are_read_when_they_are_asked_for(repo):
    put(repo, f="AKIA" + "ABCDEFGHIJKLMNOP")
    assert read(sources(repo, allow_secrets=True), "f").text


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names")
def test_a_pipe_is_not_waited_for(repo):
    os.mkfifo(repo / "pipe")
    assert read(sources(repo), "pipe").reason == UNREADABLE


def test_a_folder_and_a_missing_file_are_unreadable(repo):
    (repo / "d").mkdir()
    assert read(sources(repo), "d").reason == UNREADABLE
    assert read(sources(repo), "missing").reason == UNREADABLE


def test_all_files_together_have_a_limit_and_a_smaller_one_still_fits(repo):
    put(repo, a="x" * 6, b="x" * 6, c="x" * 4)
    found = sources(repo, limits=SizeLimits(total=10))
    assert [read(found, name).reason for name in "abc"] == ["", TOO_LARGE, ""]


@pytest.mark.parametrize(
    ("limits", "left_out", "detail"),
    [
        pytest.param(SizeLimits(), "total", "over the size limit of 10 MiB in all", id="all"),
        pytest.param(SizeLimits(total=0), "", "", id="no limit for all"),
        pytest.param(
            SizeLimits(file=700), "file", "over the size limit of 700 bytes for a file", id="a file"
        ),
        pytest.param(SizeLimits(total=12 << 20), "", "", id="a higher limit"),
    ],
)
def test_what_is_left_out_by_size_names_the_limit(repo, limits, left_out, detail):
    put(repo, **{f"f{number:02}": b"x" * (1 << 20) for number in range(11)})
    files = sources(repo, limits=limits).read([f"f{number:02}" for number in range(11)])
    assert (files[-1].limit or "", files[-1].detail) == (left_out, detail)


def test_a_raised_total_is_for_required_files_too():
    assert SizeLimits().with_total(0).required == 0
    assert SizeLimits().with_total(50 << 20).required == 50 << 20
    assert SizeLimits().with_total(1 << 20).required == 2 << 20


def test_a_second_allowance_counts_as_well(repo):
    put(repo, a="x" * 6, b="x" * 6)
    found = sources(repo)
    allowance = Allowance("required", 8)
    assert read(found, "a", allowance).text
    assert read(found, "b", allowance).reason == TOO_LARGE
    assert read(found, "b").text


def test_names_that_begin_with_a_dash_or_hold_newlines_are_files_like_others(repo):
    names = ["-rf", "a\nb", "文 件.md", "'q'\"", "🎈"]
    for name in names:
        (repo / name).write_text("x")
    found = sources(repo)
    assert found.find(["**"]) == sorted(names)
    assert all(read(found, name).text == "x" for name in names)


@pytest.mark.parametrize(
    ("text", "is_reported"),
    [("a\u202eb", True), ("a\u200bb", True), ("日本語 👩\u200d💻", False), ("plain", False)],
)
def test_invisible_characters_are_reported(repo, text, is_reported):
    put(repo, f=text)
    found = sources(repo)
    assert read(found, "f").text == text
    assert ("f contains invisible" in "".join(found.warnings)) is is_reported

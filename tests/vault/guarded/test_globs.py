"""Wildcards, by git's own table; that git agrees on others is tested with the ignore files."""

import re
from pathlib import Path

import pytest

from smart_context.vault.guarded.globs import name_regex, path_regex

CASES = [
    line.split("\t")
    for line in (Path(__file__).parent / "wildmatch.tsv").read_text("utf-8").splitlines()
    if not line.startswith("#")
]


def matches(regex_of, glob, text):
    try:
        return re.fullmatch(regex_of(glob), text, re.DOTALL) is not None
    except ValueError:
        return False


def test_globs_match_paths_as_git_says():
    wrong = [
        (glob, text)
        for is_match, _, glob, text in CASES
        if matches(path_regex, glob, text) != bool(int(is_match))
    ]
    assert wrong == []
    assert len(CASES) > 170


def test_globs_match_names_as_git_says():
    wrong = [
        (glob, text)
        for _, is_match, glob, text in CASES
        if "/" not in text + glob and matches(name_regex, glob, text) != bool(int(is_match))
    ]
    assert wrong == []


@pytest.mark.parametrize("glob", ["a\\", "[a", "[!", "[", "[a-", "a[]b", "[[:shape:]]", "[[::]]"])
def test_an_invalid_glob_is_refused(glob):
    with pytest.raises(ValueError, match=r"after a backslash|never closed|no class"):
        path_regex(glob)


@pytest.mark.parametrize(
    ("glob", "text", "is_match"),
    [
        pytest.param(r"a/**\/b", "a/x/b", True, id="an escaped slash after two stars"),
        pytest.param(r"a/**\/b", "a/b", False, id="which stands for a folder at least"),
        pytest.param("?", "é".encode().decode("latin-1"), False, id="one byte of two"),
        pytest.param("??", "é".encode().decode("latin-1"), True, id="both bytes"),
        pytest.param("[[:space:]]", "\v", False, id="what git takes for no space"),
        pytest.param("[/]", "/", False, id="a slash in a class"),
        pytest.param("a/***/b", "a/x/y/b", True, id="three stars"),
    ],
)
def test_a_rare_glob_matches_as_in_git(glob, text, is_match):
    assert matches(path_regex, glob, text) is is_match

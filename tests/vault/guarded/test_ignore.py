"""What patterns of ignore files match, and that git agrees."""

import os
import subprocess

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from smart_context.vault.guarded.ignore import parse_ignore


def verdicts(text, *paths):
    rules = parse_ignore(text)
    return [None if rules is None else rules.verdict(path) for path in paths]


@pytest.mark.parametrize(
    ("pattern", "excluded", "others"),
    [
        pytest.param("a", ["a", "a/", "x/a", "x/y/a/"], ["ab", "xa", "a/b"], id="a name"),
        pytest.param("a/", ["a/", "x/a/"], ["a", "x/a"], id="a folder"),
        pytest.param("/a", ["a", "a/"], ["x/a"], id="an anchored name"),
        pytest.param("x/a", ["x/a", "x/a/"], ["a", "y/x/a"], id="a path is anchored"),
        pytest.param("x/a/", ["x/a/"], ["x/a"], id="an anchored folder"),
        pytest.param("*.md", ["a.md", ".md", "x/b.md/"], ["md", "a.md/b", "a.mdx"], id="a star"),
        pytest.param("x/*", ["x/a", "x/a/"], ["x/", "x/a/b", "y/x/a"], id="one folder"),
        pytest.param("**/a", ["a", "x/a", "x/y/a"], ["xa", "x/a/b"], id="at any depth"),
        pytest.param("x/**", ["x/a", "x/a/b", "x/a/"], ["x/", "x", "a"], id="all below"),
        pytest.param("x/**/a", ["x/a", "x/y/a", "x/y/z/a"], ["a", "x/ya"], id="depth between"),
        pytest.param("**/x/**/a*/b", ["x/a/b", "y/x/z/ab/b"], ["x/b", "a/b"], id="depths"),
        pytest.param("a?c", ["abc", "x/a.c"], ["ac", "abbc", "a/c"], id="one character"),
        pytest.param("*a*b*", ["ab", "xaybz"], ["ba", "a/b"], id="several stars"),
        pytest.param("[ab].c", ["a.c", "b.c"], ["c.c", "ab.c"], id="a class"),
        pytest.param("[!ab]", ["c"], ["a", "b", "/", "cc"], id="a negated class"),
        pytest.param("[^a-c]", ["d"], ["b"], id="a range"),
        pytest.param("[]a]", ["]", "a"], ["b"], id="a bracket in a class"),
        pytest.param("[+--]", ["+", ",", "-"], ["a"], id="a range to a hyphen"),
        pytest.param("[a\\-z]", ["a", "-", "z"], ["m"], id="an escaped hyphen"),
        pytest.param("[a", [], ["[a", "a"], id="a bracket that is never closed"),
        pytest.param("*.[[:digit:]]", ["a.1", "x/a.2/"], ["a.b", "1"], id="a named class"),
        pytest.param("[z-a]", ["z"], ["a", "m", "-"], id="a range from the end"),
        pytest.param("a//b", [], ["a/b", "a"], id="two slashes"),
        pytest.param("a//", [], ["a", "a/"], id="two slashes at the end"),
        pytest.param("***/", ["a/", "x/a/"], ["a"], id="every folder"),
        pytest.param("x/***/a", ["x/a", "x/y/z/a"], ["a"], id="three stars"),
        pytest.param("/a**/b", ["ab", "ax/y/b"], ["b", "x/ab"], id="two stars after plain text"),
        pytest.param("a?", ["ab"], ["aé", "aéé"], id="one byte"),
        pytest.param("[!b]é", ["aé"], ["éé"], id="a class is one byte"),
        pytest.param("a\\\\ ", ["a\\"], ["a\\ "], id="a space after an escaped backslash"),
        pytest.param("a\\", [], ["a", "a\\"], id="a backslash at the end"),
        pytest.param(r"\*", ["*"], ["a"], id="an escaped star"),
        pytest.param(r"[\]a]", ["]", "a"], ["b"], id="an escape in a class"),
        pytest.param(r"\#a", ["#a"], ["a"], id="an escaped comment"),
        pytest.param(r"\!a", ["!a"], ["a"], id="an escaped exclamation mark"),
        pytest.param("a  ", ["a"], ["a "], id="spaces at the end"),
        pytest.param("a\t", ["a\t"], ["a"], id="a tab at the end"),
        pytest.param("a\\ ", ["a "], ["a"], id="an escaped space at the end"),
        pytest.param("\ufeffa\r", ["a"], [], id="a file from Windows"),
    ],
)
def test_a_pattern_matches_as_in_git(pattern, excluded, others):
    assert verdicts(pattern, *excluded) == [True] * len(excluded)
    assert verdicts(pattern, *others) == [None] * len(others)


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("*.md\n!a.md", False),
        ("!a.md\n*.md", True),
        ("a.md\n!*.md", False),
        ("!*.md\na.md", True),
        ("*.md\n!a*\n*.m?", True),
        ("*.txt\n!x*", None),
        ("*\n!a.md", False),
        ("**\n!/a.md", False),
    ],
)
def test_the_last_rule_that_matches_counts(text, verdict):
    assert verdicts(text, "a.md") == [verdict]


@pytest.mark.parametrize("text", ["", "\n\n", "# a\n", "!\n", "/\n", "//\n", "[a\n"])
def test_a_file_without_a_rule_has_none(text):
    assert parse_ignore(text) is None


def test_an_invalid_pattern_is_skipped_and_the_others_count():
    assert verdicts("[[:shape:]]\n*.md", "a.md", "z") == [True, None]


def test_more_rules_than_one_expression_takes_are_all_tried_from_the_last():
    text = "\n".join(["!keep*", *(f"begin-{number}-*" for number in range(900))])
    paths = ("begin-0-x", "begin-899-x", "keep", "begin-900-x")
    assert verdicts(text, *paths) == [True, True, False, None]


PIECES = (
    *(
        "a",
        "b",
        "c",
        "1",
        "é",
        "\udcff",
        ".",
        ":",
        "#",
        "!",
        " ",
        "\t",
        "\r",
        "\\",
        "\\/",
        "-",
        "^",
    ),
    *("*", "**", "***", "/**/", "**/", "/*", "?", "/", "//", "[", "]", "[a-c]", "[!a]", "[^b]"),
    *("[[:digit:]]", "[:alpha:]", "[[:punct:]b]", "[:x:]", "[:", ":]", "[/]", "[]-a]"),
)
NAMES = (
    *("a", "b", "ab", "abc", "a1", "1", "é", "\udcff", "a\udcff", "[", "[a", "]", "*", "?", "\\"),
    *("a\\", "a ", " ", "a\t", "a\r", "!a", "#", "-", "^", ".a", "a:"),
)
LINES = st.lists(st.lists(st.sampled_from(PIECES), max_size=6).map("".join), max_size=3)
PATHS = st.lists(
    st.lists(st.sampled_from(NAMES), min_size=1, max_size=4).map("/".join), min_size=1, max_size=40
)
FILES = st.tuples(st.sampled_from(["", "\ufeff"]), LINES, st.sampled_from(["\n", "\r\n"]))


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    root = tmp_path_factory.mktemp("repository")
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    return root


def asked_of_git(root, paths):
    """For each path what git says: excluded, included again, or no pattern matches."""
    asked = subprocess.run(
        ["git", "check-ignore", "-z", "-v", "-n", "--stdin", "--no-index"],
        input="".join(f"{path}\0" for path in paths).encode("utf-8", "surrogateescape"),
        cwd=root,
        capture_output=True,
        check=False,
    )
    fields = asked.stdout.split(b"\0")
    assert len(fields) == 4 * len(paths) + 1, asked.stderr
    return [
        None if not file else not pattern.startswith(b"!")
        for file, pattern in zip(fields[::4], fields[2::4], strict=False)
    ]


def asked_of_us(rules, path):
    """The same, asked for each folder on the way as a walk does."""
    names = path.split("/")
    ways = ["/".join(names[:depth]) + "/" for depth in range(1, len(names))]
    excluded = rules is not None and any(rules.verdict(way) for way in ways)
    return excluded or (None if rules is None else rules.verdict(path))


def check_against_git(repository, file, paths):
    mark, lines, end = file
    text = mark + end.join(lines)
    (repository / ".gitignore").write_bytes(text.encode("utf-8", "surrogateescape"))
    paths = list(dict.fromkeys(paths))
    rules = parse_ignore(text)
    assert [asked_of_us(rules, path) for path in paths] == asked_of_git(repository, paths)


IN_ONE_REPOSITORY = [HealthCheck.function_scoped_fixture]


@pytest.mark.skipif(os.name == "nt", reason="names that Windows can't have")
@settings(deadline=None, suppress_health_check=IN_ONE_REPOSITORY)
@given(file=FILES, paths=PATHS)
@example(file=("", ["[[:digit:]-a]"], "\n"), paths=["-", "a", "5"])
@example(file=("", ["a**/b", "!/a**/b"], "\n"), paths=["ab", "ax/y/b", "a/b"])
@example(file=("\ufeff", ["a\r", "b "], "\r\n"), paths=["a", "a\r", "b", "b "])
def test_git_agrees_on_each_pattern(repository, file, paths):
    check_against_git(repository, file, paths)


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="names that Windows can't have")
@settings(max_examples=300, deadline=None, suppress_health_check=IN_ONE_REPOSITORY)
@given(file=FILES, paths=PATHS)
def test_git_agrees_on_many_more_files(repository, file, paths):
    check_against_git(repository, file, paths)

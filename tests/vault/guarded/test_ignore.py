"""What patterns of ignore files match; that git agrees is tested with the walk."""

import pytest

from smart_context.vault.guarded.ignore import parse_ignore


def verdicts(text, *paths):
    rules = parse_ignore(text)
    return [rules.verdict(path) for path in paths]


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
        pytest.param("[a", ["[a"], ["a"], id="a bracket that is never closed"),
        pytest.param(r"\*", ["*"], ["a"], id="an escaped star"),
        pytest.param(r"[\]a]", ["]", "a"], ["b"], id="an escape in a class"),
        pytest.param(r"\#a", ["#a"], ["a"], id="an escaped comment"),
        pytest.param(r"\!a", ["!a"], ["a"], id="an escaped exclamation mark"),
        pytest.param("a \t", ["a"], ["a "], id="spaces at the end"),
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


@pytest.mark.parametrize("text", ["", "\n\n", "# a\n", "!\n", "/\n", "[z-a]\n"])
def test_a_file_without_a_rule_has_none(text):
    assert parse_ignore(text) is None


def test_an_invalid_pattern_is_skipped_and_the_others_count():
    assert verdicts("[z-a]\n*.md", "a.md", "z") == [True, None]


def test_more_rules_than_one_expression_takes_are_all_tried_from_the_last():
    text = "\n".join(["!keep*", *(f"begin-{number}-*" for number in range(900))])
    paths = ("begin-0-x", "begin-899-x", "keep", "begin-900-x")
    assert verdicts(text, *paths) == [True, True, False, None]

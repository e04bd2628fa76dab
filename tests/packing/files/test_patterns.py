import pytest

from smart_context.packing.files.patterns import PatternSet, is_glob

PATHS = [
    "a.py",
    "src/a.py",
    "src/deep/b.py",
    "src/readme.md",
    "docs/guide.md",
    "docs/more/deep/end.md",
    ".github/ci.yml",
    "#odd.py",
    "src/.hidden.py",
]


@pytest.mark.parametrize(
    ("patterns", "picked"),
    [
        pytest.param(["*.py"], "a.py src/a.py src/deep/b.py #odd.py", id="at any depth"),
        pytest.param(["**/*.py"], "a.py src/a.py src/deep/b.py #odd.py", id="the root is a depth"),
        pytest.param(["src/*.py"], "src/a.py", id="a slash ties it to the root"),
        pytest.param(["src/**"], "src/a.py src/deep/b.py src/readme.md", id="all below"),
        pytest.param(["src/**/*.py"], "src/a.py src/deep/b.py", id="any depth between"),
        pytest.param(["docs/"], "docs/guide.md docs/more/deep/end.md", id="a folder"),
        pytest.param(["/*.py"], "a.py #odd.py", id="the root alone"),
        pytest.param(["*.py", "!src/**"], "a.py #odd.py", id="taken back"),
        pytest.param(["#*.py"], "#odd.py", id="no comment"),
        pytest.param([".github/*"], ".github/ci.yml", id="a spelled dot"),
        pytest.param(
            ["src/.h*", ".github/"], ".github/ci.yml src/.hidden.py", id="two spelled dots"
        ),
        pytest.param([".github/", "!.github/*.yml"], "", id="a spelled dot taken back"),
        pytest.param(["*.yml", "*hidden*"], "", id="no wildcard is a leading dot"),
        pytest.param(["./src/*.py"], "src/a.py", id="a leading dot and slash"),
        pytest.param([], "", id="nothing"),
    ],
)
def test_globs_mean_what_they_mean_in_a_gitignore(patterns, picked):
    wanted = PatternSet(tuple(patterns))
    assert " ".join(path for path in PATHS if wanted.picks(path)) == picked


def test_a_folder_decides_for_all_below_it_unless_a_pattern_takes_it_back():
    wanted = PatternSet(("docs/", "!docs/more/"))
    assert [path for path in PATHS if wanted.picks(path)] == ["docs/guide.md"]
    excluded = PatternSet((".github/",))
    assert excluded.wants_hidden
    assert not PatternSet(("X.md",)).wants_hidden
    assert excluded.excludes(".github/deep/ci.yml")
    assert excluded.excludes(".github/deep/more.yml")
    assert not excluded.excludes("src/a.py")


def test_an_exclusion_holds_for_hidden_files_too():
    assert PatternSet(("*.yml",)).excludes(".github/ci.yml")


@pytest.mark.parametrize(("pattern", "expected"), [("a/b.py", False), ("a/*", True), ("[a]", True)])
def test_a_pattern_with_wildcards_is_a_glob(pattern, expected):
    assert is_glob(pattern) is expected

import fnmatch
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smart_context.vault.match import build_matcher


@pytest.mark.parametrize(
    ("pattern", "value", "expected"),
    [
        pytest.param("", "anything", True, id="an empty pattern matches all"),
        pytest.param(None, "anything", True, id="no pattern matches all"),
        pytest.param("*.md", "a.md", True, id="a star is any run"),
        pytest.param("*.md", ".md", True, id="a run may be empty"),
        pytest.param("*.md", "a.mdx", False, id="anchored at the end"),
        pytest.param("a*", "ba", False, id="anchored at the start"),
        pytest.param("a?c", "abc", True, id="a question mark is one character"),
        pytest.param("a?c", "ac", False, id="a question mark is not none"),
        pytest.param("*.MD", "a.md", False, id="case counts"),
        pytest.param("[ab].md", "a.md", False, id="brackets are literal"),
        pytest.param("a+(b)|^$.md", "a+(b)|^$.md", True, id="so is all else"),
        pytest.param("a*c", "a\n/c", True, id="a star crosses newlines and slashes"),
        pytest.param("?", "日", True, id="one character of any script"),
    ],
)
def test_a_glob_matches(pattern, value, expected):
    assert build_matcher(pattern)(value) is expected


@given(st.text("ab*?", max_size=8), st.text("ab", max_size=10))
def test_it_means_what_the_standard_library_means(pattern, value):
    expected = not pattern or re.match(fnmatch.translate(pattern), value) is not None
    assert build_matcher(pattern)(value) is expected


def test_no_pattern_is_slow():
    assert not build_matcher("*a?" * 500 + "b")("a" * 20_000)

"""JSON that is too deep or holds too much is known before it is parsed."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smart_context.base.json_limits import holds_more, is_nested_deeper

VALUES = st.recursive(
    st.text() | st.integers() | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=20,
)


def depth_of(value):
    parts = value.values() if isinstance(value, dict) else value
    return 1 + max(map(depth_of, parts), default=0) if isinstance(value, list | dict) else 0


@given(VALUES, st.integers(0, 6))
def test_the_nesting_of_a_text_is_that_of_its_value(value, most):
    assert is_nested_deeper(json.dumps(value), most) is (depth_of(value) > most)


def test_brackets_that_nothing_closes_are_no_nesting():
    with pytest.raises(ValueError, match="the brackets don't match"):
        is_nested_deeper("[" * 50, 10)


@given(VALUES)
def test_the_entries_of_all_lists_and_objects_are_counted(value):
    def entries(part):
        inner = part.values() if isinstance(part, dict) else part
        return len(part) + sum(map(entries, inner)) if isinstance(part, list | dict) else 0

    count = entries(value)
    assert not holds_more(value, count)
    assert holds_more([value], count)

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smart_context.chat.documents.document import read_version, settle
from smart_context.chat.documents.parts import (
    followed_by,
    part_since,
    since_message,
    since_unfinished,
)
from smart_context.chat.messages import messages_of
from tests.chat.made_documents import version

ENTRIES = st.lists(
    st.one_of(
        st.fixed_dictionaries(
            {"id": st.text("abc", min_size=1, max_size=2), "role": st.just("user")},
            optional={"content": st.text(max_size=3), "generating": st.booleans()},
        ),
        st.fixed_dictionaries({"content": st.text(max_size=2)}),
        st.integers(),
    ),
    max_size=6,
)


def version_of(*entries):
    return version({"messages": list(entries)})


@given(ENTRIES, ENTRIES, st.integers(0, 6))
def test_a_document_with_another_end_is_the_one_that_is_read_back(before, end, first):
    stored = version_of(*before)
    first = min(first, len(before))
    rest = settle({"title": "t", "messages": end}, part_since(stored, first))
    joined = followed_by(stored, first, rest)
    read = read_version(joined.encode())
    assert read.says_the_same(joined)
    assert joined.copy() == {"title": "t", "messages": [*before[:first], *end]}
    assert joined.messages == read.messages == messages_of(joined.copy())


@pytest.mark.parametrize(
    ("entries", "place"),
    [
        ([], 0),
        ([{"id": "a"}, {"id": "b"}], 2),
        ([{"id": "a"}, {"id": "b", "generating": True}, {"id": "c"}], 1),
        ([{"id": "a"}, "odd", {"id": "b", "generating": True}], 1),
    ],
)
def test_an_unfinished_answer_is_in_the_part(entries, place):
    assert since_unfinished(version_of(*entries)) == place


@pytest.mark.parametrize(
    ("wanted", "place"), [("c", 2), ("b", 1), ("a", 0), ("x", 0)], ids=["last", "before", "0", "no"]
)
def test_a_message_is_looked_for_from_the_end(wanted, place):
    stored = version_of({"id": "a"}, {"id": "b"}, {"id": "c"})
    assert since_message(wanted)(stored) == place
    assert since_message(wanted, and_before=1)(stored) == max(place - 1, 0)

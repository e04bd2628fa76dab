import pytest
from hypothesis import given
from hypothesis import strategies as st

from smart_context.chat.documents.document import MessageEntry
from smart_context.storage.postgres.rows import GAP, changed_rows

ENTRIES = st.lists(st.integers(0, 6), max_size=8).map(
    lambda numbers: tuple(MessageEntry({"n": number}) for number in numbers)
)


def applied(before, positions, rows):
    """What the rows hold after the changes, in the order of their positions."""
    held = dict(zip(positions, before, strict=True))
    for position in rows.removed:
        del held[position]
    held.update(dict(rows.written))
    return [held[position] for position in sorted(held)], sorted(held)


@given(before=ENTRIES, afters=st.lists(ENTRIES, max_size=4), gap=st.sampled_from([1, 2, GAP]))
def test_rows_follow_any_changes_of_a_chat(before, afters, gap):
    positions = tuple(gap * (number + 1) for number in range(len(before)))
    for after in afters:
        rows = changed_rows(before, positions, after)
        held, places = applied(before, positions, rows)
        assert held == list(after)
        assert places == list(rows.positions)
        before, positions = after, rows.positions


@pytest.mark.parametrize(
    ("after", "written"),
    [
        (["a", "b", "c", "new"], 1),
        (["a", "x", "c"], 1),
        (["a", "new", "b", "c"], 1),
        (["a", "c"], 0),
        (["a", "b", "c"], 0),
    ],
)
def test_only_what_changed_is_written(after, written):
    before = tuple(MessageEntry({"id": name}) for name in "abc")
    rows = changed_rows(before, (10, 20, 30), tuple(MessageEntry({"id": n}) for n in after))
    assert len(rows.written) == written
    assert rows.moves == (after == ["a", "c"])

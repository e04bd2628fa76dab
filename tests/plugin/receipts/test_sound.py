"""Stored receipts of which something is missing or damaged."""

import json

import pytest

from smart_context.plugin.receipts.documents import difference_document, receipt_document
from smart_context.plugin.receipts.receipt import (
    Receipt,
    ReceiptRow,
    ReceiptSection,
    client_fields,
)
from smart_context.plugin.receipts.spent import last_request_of
from smart_context.relevance.reasons import ReasonKind
from tests.plugin.receipts.test_spent import PRICES


def full_receipt():
    """A receipt that has everything that a receipt can have."""
    section = ReceiptSection(name="Role x", is_in=True, why="chosen", tokens=3, sent=("a.md",))
    return Receipt(
        **dict.fromkeys(("turn", "question", "answer"), "t1"),
        at="2026-11-25T08:00:00Z",
        outcome="finished",
        settings={
            "threshold": 0.4,
            "recent_messages": 2,
            "topics": ["Bread"],
            "pinned": ["m1"],
            "relevance": "enriched",
            "contexts": [],
            "role": "x",
            "keep_pairs": True,
        },
        models={"chat": "gpt-4o"},
        usage={"prompt": 70, "completion": 3},
        parts={"history": 60, "message": 5},
        rows=(
            ReceiptRow("m1", "user", ReasonKind.TOPIC, 0.5, 3, "Bread"),
            ReceiptRow("m2", "user", ReasonKind.BELOW, 0.1, 9),
        ),
        sections=(section,),
        cut=0.3,
        system="Be kind.",
        sent={"digest": "x", "messages": 2, "characters": 90},
        prompt=({"role": "user", "content": "And now?"},),
        parameters={"model": "gpt-4o"},
        rounds=({"same": 1, "messages": [{"role": "user", "content": "?"}], "parameters": {}},),
        hidden_places=({"where": "a.md", "what": "1 HTML comment"},),
        repeated_tokens=12,
        seconds=1.5,
        cost={"sent": 65, "unchanged": 12, "reread": 0, "saved": 9, "unchanged_of_all": 0},
        spent={"sent": 70, "unchanged": 12, "answered": 3, "requests": 1, "counted": 1},
        for_next={"asked": 1.0, "head": [["x", 3]], "question": 5},
    )


def places_in(value, path=()):
    """The paths to all values of a document."""
    if isinstance(value, list):
        value = dict(enumerate(value))
    for name, entry in value.items() if isinstance(value, dict) else ():
        yield (*path, name)
        yield from places_in(entry, (*path, name))


WHOLE = json.loads(full_receipt().to_line())
WRONG = [None, 7, -1.5, 1e300, 10**400, float("nan"), True, "x", [], ["x"], [[]], {}, {"x": [{}]}]


RENAMED = {"unseen": ("hidden_places",), "unchanged": ("repeated_tokens",)}


@pytest.mark.parametrize("place", list(places_in(WHOLE)), ids=str)
def test_a_value_that_is_missing_or_damaged_takes_nothing_else_of_its_receipt_with_it(place):
    for wrong in [..., *WRONG]:
        document = json.loads(json.dumps(WHOLE))
        holder = document
        for step in place[:-1]:
            holder = holder[step]
        if wrong is ...:
            del holder[place[-1]]
        else:
            holder[place[-1]] = wrong
        if (place == ("version",) and wrong is not True) or (
            place[0] in {"turn", "question", "answer"} and wrong != "x"
        ):
            with pytest.raises(ValueError, match="expected a receipt"):
                Receipt.from_line(json.dumps(document))
            continue
        read = Receipt.from_line(json.dumps(document))
        shown = receipt_document(read, {}, PRICES)
        json.dumps([shown, difference_document(read, full_receipt(), {})], allow_nan=False)
        last_request_of(read)
        client_fields(read)
        assert (shown["turn"], bool(shown["sections"])) == (read.turn, bool(read.sections))
        untouched = Receipt.__dataclass_fields__.keys() - {place[0], *RENAMED.get(place[0], ())}
        for name in untouched:
            assert getattr(read, name) == getattr(full_receipt(), name)

"""What the results of an agent's tools cost, in all and by topic."""

from smart_context.plugin.receipts.documents import tool_results
from smart_context.plugin.receipts.receipt import ReceiptRow
from smart_context.relevance.reasons import ReasonKind


def result(number, tokens, topic="", kind=ReasonKind.CURRENT):
    return ReceiptRow(f"m{number}", "tool", kind, None, tokens, topic)


def test_results_are_summed_up_by_topic_and_the_dearest_comes_first():
    rows = [
        ReceiptRow("q", "user", ReasonKind.TOPIC, None, 1000, "Bees"),
        result(1, 10, "Lamps"),
        result(2, 300, "Bees", ReasonKind.TOPIC),
        result(3, 20, "Lamps"),
        result(4, 5),
        result(5, 7000, "Lamps", ReasonKind.BELOW),
    ]
    assert tool_results(rows) == {
        "messages": 4,
        "tokens": 335,
        "by_topic": [
            {"topic": "Bees", "messages": 1, "tokens": 300},
            {"topic": "Lamps", "messages": 2, "tokens": 30},
            {"topic": "", "messages": 1, "tokens": 5},
        ],
    }


def test_a_request_without_tools_has_no_sum():
    assert tool_results([ReceiptRow("q", "user", ReasonKind.NO_FILTER, None, 3)]) is None

"""What a turn took and cost, from its receipt."""

import pytest

from smart_context.base.config.endpoints import NO_PRICES, Price, Prices
from smart_context.plugin.receipts.receipt import Receipt, ReceiptRow
from smart_context.plugin.receipts.spent import CostSum, TurnCost, last_request_of
from smart_context.relevance.reasons import ReasonKind

PRICES = Prices(by_pattern=(("gpt-5*", Price(input=2, cached=0.5, output=10)),))


def receipt(**changed):
    out = ReceiptRow("m1", "user", ReasonKind.BELOW, None, 300)
    values = {
        "turn": "t",
        "question": "q",
        "answer": "a",
        "at": "2026-11-25T08:00:00Z",
        "outcome": "finished",
        "settings": {},
        "models": {"chat": "gpt-5"},
        "usage": {"prompt": 1_000, "completion": 100},
        "parts": {"history": 900},
        "rows": (out,),
        "sent": {"digest": "x"},
        "repeated_tokens": 400,
    }
    return Receipt(**values | changed)


def test_what_the_endpoint_counted_is_paid_and_its_unchanged_beginning_costs_less():
    spent = TurnCost.of(receipt())
    assert (spent.sent, spent.unchanged, spent.answered, spent.saved) == (1_000, 400, 100, 300)
    assert spent.day == "2026-11-25"
    assert spent.price(PRICES) == pytest.approx((600 * 2 + 400 * 0.5 + 100 * 10) / 1e6)
    assert spent.price(NO_PRICES) is None


def test_no_more_is_cached_than_was_sent():
    assert TurnCost.of(receipt(repeated_tokens=5_000)).unchanged == 1_000
    assert TurnCost.of(receipt(repeated_tokens=None)).unchanged == 0


def test_what_no_endpoint_counted_is_estimated_unless_nothing_was_read():
    spent = TurnCost.of(receipt(usage={}))
    assert (spent.sent, spent.answered, spent.is_counted) == (900, 0, False)
    assert TurnCost.of(receipt(usage={}, outcome="failed")) is None
    assert TurnCost.of(receipt(usage={}, sent={})) is None


def test_without_a_model_nothing_is_sent_so_nothing_counts():
    offline = receipt(usage={}, models={"chat": "embedded/passages"}, for_next={"asked": 0})
    assert TurnCost.of(offline) is None
    assert last_request_of(offline) is None


@pytest.mark.parametrize("damaged", [{"usage": []}, {"usage": {"prompt": "x"}}, {"models": 3}])
def test_a_receipt_that_another_program_damaged_counts_for_nothing(damaged):
    assert TurnCost.of(receipt(**damaged)) is None


def test_a_sum_says_how_many_turns_have_no_price():
    total = CostSum()
    for model in ("gpt-5", "unknown"):
        total.add(TurnCost.of(receipt(models={"chat": model})), PRICES)
    shown = total.to_dict()
    assert (shown["turns"], shown["unpriced"], shown["price"]) == (2, 1, 0.0024)

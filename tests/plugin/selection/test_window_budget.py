"""What is too much for the model's window stays out, with the reason."""

import numpy as np
import pytest

from smart_context.chat.messages import Message, MessageId
from smart_context.host.request.window import Window
from smart_context.plugin.choices.state import FilterState
from smart_context.plugin.selection.window_budget import WindowBudget
from smart_context.relevance.reasons import ReasonKind
from smart_context.relevance.select import select_messages


def window(tokens, count=len):
    return None if tokens is None else Window(tokens=tokens, model="local", count=count)


def said(count, size=92):
    return [Message(id=MessageId(f"m{n}"), role="user", content="x" * size) for n in range(count)]


def applied(budget, messages, *, keep=(), scores=None, **beside):
    selection = select_messages(messages, scores=scores, threshold=0.5)
    return budget.applied(selection, messages, keep=set(keep), state=FilterState(**beside))


@pytest.mark.parametrize(
    ("tokens", "contexts", "has_contexts", "count"),
    [
        pytest.param(None, 0, False, 10, id="an unknown window leaves nothing out"),
        pytest.param(10_000, 0, False, 10, id="all fit"),
        pytest.param(1_000, 0, False, 8, id="four fifths of the window"),
        pytest.param(1_000, 300, False, 8, id="no contexts go with it"),
        pytest.param(1_000, 300, True, 5, id="contexts go with it"),
        pytest.param(1_000, 5_000, True, 4, id="contexts fill two fifths at most"),
        pytest.param(1_000, 0, True, 4, id="so they do without a limit of their own"),
    ],
)
def test_the_newest_messages_that_fit_stay(tokens, contexts, has_contexts, count):
    messages = said(10)
    budget = WindowBudget(window=lambda: window(tokens), contexts=contexts)
    selection = applied(budget, messages, contexts=("Notes",) if has_contexts else ())
    assert selection.kept == tuple(message.id for message in messages[-count:])
    reasons = selection.reasons
    kinds = [reasons.at(at).kind for at in range(10)]
    assert kinds == [ReasonKind.OVER_BUDGET] * (10 - count) + [ReasonKind.NO_FILTER] * count
    assert str(reasons.at(0)).startswith("in" if count == 10 else "out: over budget")


@pytest.mark.parametrize(
    ("tokens", "size", "has_role", "count"),
    [
        pytest.param(1_000, 95, False, 8, id="to the last token"),
        pytest.param(1_000, 95, True, 5, id="a role takes three tenths of the window"),
        pytest.param(25, 0, False, 4, id="empty messages cost what is around them"),
    ],
)
def test_the_history_takes_what_the_window_leaves(tokens, size, has_role, count):
    budget = WindowBudget(window=lambda: window(tokens))
    assert len(applied(budget, said(10, size), role="editor" if has_role else "").kept) == count


@pytest.mark.parametrize(("tokens", "left"), [(None, 8_000), (100_000, 8_000), (1_000, 300)])
def test_a_role_never_fills_the_window(tokens, left):
    assert WindowBudget(window=lambda: window(tokens)).for_role(8_000) == left


def test_what_is_pinned_stays_and_another_goes():
    selection = applied(WindowBudget(window=lambda: window(1_000)), said(10), keep=["m0"])
    assert selection.kept == ("m0", *(f"m{n}" for n in range(3, 10)))
    assert selection.reasons.at(0).kind is ReasonKind.NO_FILTER


def test_only_what_the_filter_keeps_takes_room():
    scores = np.array([1, 1, *([0] * 8)], dtype=np.float32)
    selection = applied(WindowBudget(window=lambda: window(1_000)), said(10), scores=scores)
    assert selection.kept == ("m0", "m1")
    assert selection.reasons.at(2).kind is ReasonKind.BELOW


def test_a_selection_that_fits_is_the_same_and_nothing_is_counted():
    def count(_text):
        raise AssertionError("a short chat needs no counting")

    messages = said(3)
    selection = select_messages(messages, scores=None)
    budget = WindowBudget(window=lambda: window(100_000, count))
    assert budget.applied(selection, messages, keep=(), state=FilterState()) is selection


@pytest.mark.parametrize(
    ("tokens", "budget", "left"),
    [
        pytest.param(None, 8_000, 8_000, id="an unknown window leaves a budget as it is"),
        pytest.param(None, 0, 0, id="or none"),
        pytest.param(1_000, 100, 100, id="a small one"),
        pytest.param(1_000, 8_000, 400, id="one that is larger than the window"),
        pytest.param(1_000, 0, 400, id="no budget, but a window"),
    ],
)
def test_contexts_never_fill_the_window(tokens, budget, left):
    assert WindowBudget(window=lambda: window(tokens)).for_contexts(budget) == left

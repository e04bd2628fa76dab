"""How a model's window is shared out."""

import pytest

from smart_context.base.config import EndpointSettings
from smart_context.host.request.window import (
    ATTACHED_SHARE,
    COMPACTION_SHARE,
    DIGEST_PART_SHARE,
    KEPT_SHARE,
    NEWEST_RESULTS_SHARE,
    RESULTS_SHARE,
    SUMMARY_SHARE,
    Window,
    window_of,
)
from smart_context.llm.tokens import count_tokens

WINDOW = Window(tokens=1_001, model="local", count=len)


def test_shares_are_whole_tokens_of_the_window_or_of_the_request():
    assert WINDOW.room == 900
    assert WINDOW.share(0.5) == 500
    assert WINDOW.share_of_room(0.25) == 225
    assert Window(tokens=1_009, model="", count=len).share_of_room(0.5) == 454


@pytest.mark.parametrize(
    ("budget", "contexts", "role"), [(0, 400, 0), (100, 100, 100), (350, 350, 300), (500, 400, 300)]
)
def test_a_budget_holds_within_the_window(budget, contexts, role):
    assert (WINDOW.for_contexts(budget), WINDOW.for_role(budget)) == (contexts, role)


@pytest.mark.parametrize(
    ("next_to", "tokens"),
    [
        ({}, 800),
        ({"contexts": 300}, 500),
        ({"has_role": True}, 500),
        ({"contexts": 300, "has_role": True}, 200),
        ({"contexts": 400, "has_role": True}, 200),
    ],
)
def test_the_history_has_what_contexts_and_role_leave_and_a_fifth_at_least(next_to, tokens):
    assert WINDOW.for_history(**next_to) == tokens


def test_what_is_kept_and_the_summary_fit_beside_each_other_after_a_compaction():
    assert KEPT_SHARE + SUMMARY_SHARE < COMPACTION_SHARE
    assert RESULTS_SHARE + NEWEST_RESULTS_SHARE < 1
    assert DIGEST_PART_SHARE + SUMMARY_SHARE < 1
    assert ATTACHED_SHARE < 1


def endpoint(model="local", **also):
    return EndpointSettings(base_url="http://127.0.0.1:1/v1", model=model, **also)


@pytest.mark.parametrize(
    ("model", "tokens"),
    [
        pytest.param(None, None, id="no model"),
        pytest.param(endpoint(), None, id="an unknown model"),
        pytest.param(endpoint("gpt-4"), 8_192, id="a model of the table"),
        pytest.param(endpoint("gpt-4", context_window=2_000), 2_000, id="the settings first"),
    ],
)
def test_a_window_is_that_of_the_settings_or_of_the_table(model, tokens):
    window = window_of(model)
    assert (window is None) is (tokens is None)
    assert window is None or (window.tokens, window.model) == (tokens, model.model)


def test_tokens_are_counted_as_the_model_does_unless_a_counter_is_given():
    text = "Überraschungsgäste, unbelievably"
    window = window_of(endpoint("gpt-4"))
    assert window.count(text) == count_tokens(text, "gpt-4")
    assert window_of(endpoint("gpt-4"), len).count(text) == len(text)

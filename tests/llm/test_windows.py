"""How much a model takes at once."""

import pytest

from smart_context.llm.windows import context_window


@pytest.mark.parametrize(
    ("model", "window"),
    [
        ("gpt-4o-mini", 128_000),
        ("gpt-4.1-nano", 1_047_576),
        ("openai/gpt-4", 8_192),
        ("gpt-4-turbo-2024-04-09", 128_000),
        ("GPT-3.5-turbo", 16_385),
        ("o1-mini", 128_000),
        ("llama3.1", None),
        ("embedded/passages", None),
        ("", None),
        (None, None),
    ],
)
def test_the_window_of_a_model_is_that_of_its_nearest_family(model, window):
    assert context_window(model) == window

"""How much a model takes at once."""

import pytest

from smart_context.llm.providers import context_window


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


STATED = {
    "gpt-3.5-turbo": 16_385,
    "gpt-3.5-turbo-instruct": 4_096,
    "gpt-4": 8_192,
    "gpt-4-0613": 8_192,
    "gpt-4-1106-preview": 128_000,
    "gpt-4-0125-preview": 128_000,
    "gpt-4-vision-preview": 128_000,
    "gpt-4-turbo-preview": 128_000,
    "gpt-4.1-mini": 1_047_576,
    "gpt-4o-2024-08-06": 128_000,
    "gpt-5-mini": 400_000,
    "gpt-5-chat": 128_000,
    "gpt-5-chat-latest": 128_000,
    "gpt-5.1": 400_000,
    "gpt-5.1-chat-latest": 128_000,
    "gpt-5.2-chat-latest": 128_000,
    "o1": 200_000,
    "o1-preview": 128_000,
    "o1-preview-2024-09-12": 128_000,
    "o1-pro": 200_000,
    "o3-mini": 200_000,
    "o4-mini": 200_000,
    "claude-opus-4-1": 200_000,
    "claude-haiku-4-5": 200_000,
    "gemini-2.5-pro": 1_048_576,
    "gemini-2.5-flash-image": 32_768,
}
"""As models.dev 1.0.398 and genai-prices 0.2.3 (PyPI, read on 2026-11-22) list them. Of
gpt-5-chat-latest both say 400,000 for OpenAI itself; models.dev says 128,000 for gpt-5-chat and for
the later chat models, which is the smaller figure."""


@pytest.mark.parametrize(("model", "window"), STATED.items())
def test_windows_are_those_that_were_stated(model, window):
    assert context_window(model) == window

"""The context windows of vendors' models, in tokens.

Self-hosted models are not listed: their window is set on the server, and a wrong figure is worse
than none.
"""

from collections.abc import Mapping

_WINDOWS: Mapping[str, int] = {
    "gpt-3.5-turbo": 16_385,
    "gpt-3.5-turbo-instruct": 4_096,
    "gpt-4": 8_192,
    "gpt-4-0125": 128_000,
    "gpt-4-1106": 128_000,
    "gpt-4-32k": 32_768,
    "gpt-4-turbo": 128_000,
    "gpt-4-vision": 128_000,
    "gpt-4.1": 1_047_576,
    "gpt-4.5": 128_000,
    "gpt-4o": 128_000,
    "gpt-5": 400_000,
    "gpt-5-chat": 128_000,
    "gpt-5.1-chat": 128_000,
    "gpt-5.2-chat": 128_000,
    "chatgpt-4o": 128_000,
    "o1": 200_000,
    "o1-mini": 128_000,
    "o1-preview": 128_000,
    "o3": 200_000,
    "o4-mini": 200_000,
    "claude-": 200_000,
    "gemini-1.0": 32_768,
    "gemini-1.5-pro": 2_097_152,
    "gemini-2.5-flash-image": 32_768,
    "gemini-": 1_048_576,
    "deepseek-chat": 128_000,
    "deepseek-reasoner": 128_000,
}
"""By prefix of the model's id; the longest match wins. Where sources differ, the smaller one."""


def context_window(model: str | None) -> int | None:
    """The tokens of a request and its answer together; `None` if unknown.

    Args:
        model: The model's id, with or without a vendor prefix (`openai/gpt-4o`).
    """
    bare = (model or "").lower().rpartition("/")[2]
    matches = [family for family in _WINDOWS if bare.startswith(family)]
    return _WINDOWS[max(matches, key=len)] if matches else None

"""How many tokens a model takes at once, where its maker says so.

Models of one's own server are not listed: what they take is set there, and a wrong figure is
worse than none.
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
"""By how the model's id begins; the longest beginning counts. Where sources differ, the smaller."""


def context_window(model: str | None) -> int | None:
    """The tokens that fit into one request and its answer; `None` when that is not known.

    Args:
        model: The model's id, with or without a maker in front (`openai/gpt-4o`).
    """
    bare = (model or "").lower().rpartition("/")[2]
    fitting = [family for family in _WINDOWS if bare.startswith(family)]
    return _WINDOWS[max(fitting, key=len)] if fitting else None

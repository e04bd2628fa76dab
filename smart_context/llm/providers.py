"""Providers of models that speak the OpenAI API, servers for one's own machine, and windows."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """A provider."""

    name: str  # its name for people
    base_url: str  # the address of its OpenAI-compatible API
    # the environment variable that usually holds its key; empty if it takes none
    api_key_env: str = ""
    keys_url: str = ""  # the page where a user makes a key; empty if it takes none


PROVIDERS = (
    Provider(
        name="OpenAI",
        base_url="https://api.openai.com/v1",
        api_key_env="OPENAI_API_KEY",
        keys_url="https://platform.openai.com/api-keys",
    ),
    Provider(
        name="OpenRouter",
        base_url="https://openrouter.ai/api/v1",
        api_key_env="OPENROUTER_API_KEY",
        keys_url="https://openrouter.ai/settings/keys",
    ),
    Provider(
        name="Anthropic",
        base_url="https://api.anthropic.com/v1",
        api_key_env="ANTHROPIC_API_KEY",
        keys_url="https://console.anthropic.com/settings/keys",
    ),
    Provider(
        name="Google",
        base_url="https://generativelanguage.googleapis.com/v1beta/openai",
        api_key_env="GEMINI_API_KEY",
        keys_url="https://aistudio.google.com/apikey",
    ),
    Provider(
        name="Mistral",
        base_url="https://api.mistral.ai/v1",
        api_key_env="MISTRAL_API_KEY",
        keys_url="https://console.mistral.ai/api-keys",
    ),
    Provider(
        name="Groq",
        base_url="https://api.groq.com/openai/v1",
        api_key_env="GROQ_API_KEY",
        keys_url="https://console.groq.com/keys",
    ),
    Provider(
        name="DeepSeek",
        base_url="https://api.deepseek.com/v1",
        api_key_env="DEEPSEEK_API_KEY",
        keys_url="https://platform.deepseek.com/api_keys",
    ),
)
"""Providers on the internet. Nothing is sent to one before the user chooses it."""

LOCAL_SERVERS = (
    Provider(name="Ollama", base_url="http://127.0.0.1:11434/v1"),
    Provider(name="LM Studio", base_url="http://127.0.0.1:1234/v1"),
    Provider(name="llama.cpp", base_url="http://127.0.0.1:8080/v1"),
    Provider(name="vLLM", base_url="http://127.0.0.1:8000/v1"),
)
"""Servers at their usual ports on this machine; looked for only after a click."""


# Not of self-hosted models: the server sets their window, and a wrong one is worse than none.
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

"""Providers of models that speak the OpenAI API, and servers that run on one's own machine."""

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

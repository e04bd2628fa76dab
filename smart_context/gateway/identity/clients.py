"""Names the program that sends a request, as far as its headers tell."""

import re
from collections.abc import Mapping

from smart_context.base.values import OWN_KEY

_BY_HEADER = (("x-openwebui-", "open-webui"), ("x-opencode-", "opencode"))
_BY_AGENT = (
    ("opencode", "opencode"),
    ("codex", "codex"),
    ("aider", "aider"),
    ("continue", "continue"),
    ("sillytavern", "sillytavern"),
    ("open webui", "open-webui"),
    ("open-webui", "open-webui"),
    ("openwebui", "open-webui"),
    ("obsidian", "obsidian"),
    ("langchain", "langchain"),
    ("ai-sdk", "ai-sdk"),
    ("litellm", "litellm"),
    ("openai/python", "openai-python"),
    ("asyncopenai/python", "openai-python"),
    ("openai/js", "openai-node"),
)
_TITLES = ("x-title", "x-openrouter-title", "http-referer", "originator")
_LIBRARIES = frozenset(
    (
        *("node", "node-fetch", "undici", "axios", "mozilla", "go-http-client", "okhttp", "java"),
        *("python", "python-requests", "python-httpx", "python-urllib"),
    )
)
"""Libraries that many programs use; they don't tell which program it is."""

_PRODUCT = re.compile(r"[A-Za-z][A-Za-z0-9._-]{0,39}")
UNKNOWN = "unknown"


def client_of(headers: Mapping[str, str], key: str = OWN_KEY) -> str:
    """A short name of the program that sends the request.

    Args:
        headers: By names in lower case.
        key: The name of its key, which says more than a library's name.
    """
    for beginning, client in _BY_HEADER:
        if any(name.startswith(beginning) for name in headers):
            return client
    said = " ".join(headers.get(name, "") for name in (*_TITLES, "user-agent")).lower()
    for words, client in _BY_AGENT:
        if words in said:
            return client
    product = _PRODUCT.match(headers.get("user-agent", ""))
    name = product.group().lower() if product else UNKNOWN
    return key if key != OWN_KEY and name in {UNKNOWN, *_LIBRARIES} else name

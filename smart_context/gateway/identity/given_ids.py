"""The client's own name for a chat, and the program that sends it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b

from smart_context.base.values import OWN_KEY, id_in
from smart_context.gateway.requests.body import Body

CHAT_HEADER = "x-smart-context-chat"
RETRY_HEADER = "x-stainless-retry-count"

_CODEX = ("session-id", "thread-id")
_HEADERS = ("x-openwebui-chat-id", "x-session-id", *_CODEX, "x-litellm-session-id")
_OTHER_HEADER = re.compile(r"x-(?:.+-)?(?:session|conversation)-id")
_LEAST_CHARACTERS = 8
_MOST_CHARACTERS = 1000
_METADATA = ("chat_id", "session_id", "conversation_id", "thread_id")

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
"""Libraries that many programs use, so they do not identify a program."""

_PRODUCT = re.compile(r"[A-Za-z][A-Za-z0-9._-]{0,39}")
UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenId:
    """A client's own name for a chat."""

    place: str  # where it was found, such as `x-session-id`
    value: str  # the client's name for the chat

    def chat_id(self, key: str) -> str:
        """The id of the chat for that name and key; always the same."""
        said = f"{key}\0{self.value}".encode("utf-8", "surrogatepass")
        return f"client-{blake2b(said, digest_size=10).hexdigest()}"


def given_id(headers: Mapping[str, str], body: Body) -> GivenId | None:
    """The client's own name for the chat; `None` if the request has none.

    Args:
        headers: By names in lower case.
    """
    return _in_headers(headers) or _in_body(body)


def _in_headers(headers: Mapping[str, str]) -> GivenId | None:
    for name in _HEADERS:
        if value := headers.get(name, "").strip():
            if name in _CODEX:
                value = "/".join(filter(None, (headers.get(part, "").strip() for part in _CODEX)))
            return _given(name, value)
    for name, value in headers.items():
        if _OTHER_HEADER.fullmatch(name) and len(value.strip()) >= _LEAST_CHARACTERS:
            return _given(name, value.strip())
    return None


def _in_body(body: Body) -> GivenId | None:
    for name in ("prompt_cache_key", "conversation"):
        if value := id_in(body.get(name)):
            return _given(name, value)
    metadata = body.get("metadata")
    if isinstance(metadata, Mapping):
        for name in _METADATA:
            if value := id_in(metadata.get(name)):
                return _given(f"metadata.{name}", value)
    return None


def _given(place: str, value: str) -> GivenId:
    return GivenId(place=place, value=value[:_MOST_CHARACTERS])


def client_of(headers: Mapping[str, str], key: str = OWN_KEY) -> str:
    """A short name of the program that sends the request.

    Args:
        headers: The headers by lower-case name.
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

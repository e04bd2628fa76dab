"""Reads a client's own ids of its chats from headers and bodies."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from smart_context.gateway.requests.body import Body
from smart_context.gateway.requests.units import Unit

CHAT_HEADER = "x-smart-context-chat"
RETRY_HEADER = "x-stainless-retry-count"

_CODEX = ("session-id", "thread-id")
_HEADERS = ("x-openwebui-chat-id", "x-session-id", *_CODEX, "x-litellm-session-id")
_OTHER_HEADER = re.compile(r"x-(?:.+-)?(?:session|conversation)-id")
_LEAST_CHARACTERS = 8
_MOST_CHARACTERS = 1000
_METADATA = ("chat_id", "session_id", "conversation_id", "thread_id")
_TASK = "### Task:"
_READ_CHARACTERS = 400
"""How much of a system prompt tells what it is for."""

_SENTENCE_END = re.compile(r"[.!?;:\n]+")
_TITLE_GENERATOR = re.compile(r"\btitle generator\b", re.IGNORECASE)
_OTHER_THING = (
    r"(?!(?:an?|the|this|its|their|your|each|every|of|for|with|without|by|to|in|on|from|about)\b)"
)
_ASKS_FOR_TITLE = re.compile(
    r"\b(?:generate|create|write|output|make|suggest|produce|provide)s?"
    r"(?:\s+(?:only|just|exactly|me))*"
    rf"(?:\s+(?:an?|one)(?:\s+{_OTHER_THING}[\w'-]+,?){{0,6}}|(?:\s+{_OTHER_THING}[\w-]+){{0,2}})"
    r"\s+titles?\b",
    re.IGNORECASE,
)
"""A verb and its object: `create a short, clear title`; not `write an essay with a title`."""

_REFUSAL = re.compile(r"\b(?:not|never|no|avoid)\b|n['\u2019]t\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenId:
    """A client's own name for a chat.

    Attributes:
        place: Where it was found, such as `x-session-id`.
        value: The name.
    """

    place: str
    value: str

    def chat_id(self, key: str) -> str:
        """The id of the chat for that name and key; always the same."""
        said = f"{key}\0{self.value}".encode("utf-8", "surrogatepass")
        return f"client-{blake2b(said, digest_size=10).hexdigest()}"


def given_id(headers: Mapping[str, str], body: Body) -> GivenId | None:
    """The client's own name for the chat; `None` if the request has none.

    Args:
        headers: By names in lower case.
        body: The request's body.
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
        if value := _id_in(body.get(name)):
            return _given(name, value)
    metadata = body.get("metadata")
    if isinstance(metadata, Mapping):
        for name in _METADATA:
            if value := _id_in(metadata.get(name)):
                return _given(f"metadata.{name}", value)
    return None


def _id_in(value: Any) -> str:
    if isinstance(value, Mapping):
        value = value.get("id")
    return value.strip() if isinstance(value, str) else ""


def _given(place: str, value: str) -> GivenId:
    return GivenId(place=place, value=value[:_MOST_CHARACTERS])


def is_aside(units: Sequence[Unit], body: Body, given: GivenId | None) -> bool:
    """Whether a request serves the client itself: a title, tags, follow-up questions.

    Open WebUI sends these as one user message; opencode requests a title under the chat's id,
    without tools, with a system prompt.
    """
    spoken = [unit for unit in units if unit.role != "system"]
    if len(spoken) == 1 and spoken[0].role == "user" and spoken[0].text.startswith(_TASK):
        return True
    if given is None or body.get("tools") or any(unit.role == "assistant" for unit in spoken):
        return False
    instructions = body.get("instructions")
    systems = [_written(unit) for unit in units if unit.role == "system"]
    systems += [instructions] if isinstance(instructions, str) else []
    return any(_asks_for_title(text) for text in systems)


def _written(unit: Unit) -> str:
    """The text of a message, with its lines where they are known."""
    return unit.content if isinstance(unit.content, str) else unit.text


def _asks_for_title(text: str) -> bool:
    beginning = text[:_READ_CHARACTERS]
    if _TITLE_GENERATOR.search(beginning):
        return True
    for sentence in _SENTENCE_END.split(beginning):
        asked = _ASKS_FOR_TITLE.search(sentence)
        if asked and not _REFUSAL.search(sentence[: asked.start()]):
            return True
    return False

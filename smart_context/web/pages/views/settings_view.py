"""The settings as the page words them: a title for each, and plain words for its choices."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_OURS = "plugins.smart_context."
_TITLES = {
    "llm.base_url": "Server",
    "llm.api_key_env": "Variable that holds the key",
    "llm.timeout_s": "Longest wait, in seconds",
    "llm.max_retries": "Further attempts",
    "llm.context_window": "Window, in tokens",
    "llm.cache_ttl_s": "Cache, in seconds",
    "llm.images": "Show images to the model",
    "llm.categories.chat": "Chat model",
    "llm.categories.fast": "Fast model",
    "llm.categories.embedding": "Embedding model",
    "mcp.write": "Agents may change filters",
    "vault.name": "Name",
    f"{_OURS}enabled": "Topics and filter",
    f"{_OURS}similarity_threshold": "Match strictness",
    f"{_OURS}embedding_search": "Filter new chats",
    f"{_OURS}relevance": "Compare by",
    f"{_OURS}keep_pairs": "Keep question and answer together",
    f"{_OURS}context_budget_tokens": "Tokens for named contexts",
    f"{_OURS}ask_above_tokens": "Ask above, in tokens",
    f"{_OURS}atlas_extraction": "Topics of unopened chats",
    f"{_OURS}apply": "Apply picked topics",
    f"{_OURS}file_tools": "Notes for the model",
}
# In place of descriptions that say what to write into a file.
_HINTS = {
    "llm.api_key_env": "Only for a key that your system keeps in a variable.",
    f"{_OURS}enabled": "Bubbles of each chat, and what is sent by them.",
    f"{_OURS}similarity_threshold": "Higher sends fewer messages. 0.4: probably about the topic.",
    f"{_OURS}embedding_search": "New chats begin with the filter on.",
    f"{_OURS}relevance": "What tells whether a message is about a topic.",
    f"{_OURS}recent_messages": "The newest messages that are always sent, whatever you pick.",
    f"{_OURS}keep_pairs": "An answer that is sent brings its question.",
    f"{_OURS}context_budget_tokens": "At most, in one message. 0: no limit.",
    f"{_OURS}ask_above_tokens": "You are asked before more than this is sent or copied. 0: never.",
    f"{_OURS}atlas_extraction": "What finds them, for example after an import.",
    f"{_OURS}apply": "“When it pays” waits while sending a whole chat again is cheaper.",
    f"{_OURS}file_tools": "How the model may ask for your notes while it answers.",
}
_CHOICES = {
    "enriched": "meaning and words",
    "plain": "meaning only",
    "embedded": "this computer",
    "fast": "the fast model",
    "now": "at once",
    "auto": "by tool calls",
    "fenced": "in its answer",
    "off": "not at all",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """A setting in the form."""

    row: Mapping[str, Any]  # its line of the schema: `name`, `type`, limits
    title: str  # what the page calls it
    hint: str  # what it does
    choices: tuple[tuple[str, str], ...]  # each value and its words
    value: Any  # the value now; `None` if none is set
    source: str  # where it comes from: `default`, `user` or `vault`


def fields_by_section(view: Mapping[str, Any]) -> Mapping[str, Sequence[Field]]:
    """The answer of `system.settings` as fields, by the page's sections.

    The sections are `models`, `context`, `clients` and `vault`; each keeps the schema's order.
    """
    found: dict[str, list[Field]] = {name: [] for name in ("models", "context", "clients", "vault")}
    for row in view["schema"]:
        name = row["name"]
        found[_section(name, row["group"])].append(
            Field(
                row=row,
                title=_title(name),
                hint=_HINTS.get(name, row["description"]),
                choices=tuple((choice, _CHOICES.get(choice, choice)) for choice in row["choices"]),
                value=view["values"][name],
                source=view["sources"][name],
            )
        )
    return found


def _section(name: str, group: str) -> str:
    if name == "mcp.write":
        return "clients"
    if name.endswith(".enabled") or group not in {"models", "context"}:
        return "vault"
    return group


def _title(name: str) -> str:
    known = _TITLES.get(name)
    if known:
        return known
    if name.endswith(".enabled"):
        return f"Plugin {name.split('.')[1]}"
    return name.rsplit(".", 1)[-1].replace("_", " ").capitalize()

"""The settings under `[plugins.smart_context]`; see docs/configuration.md."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterSettings:
    """The plugin's settings; `plugin.toml` declares and checks them."""

    similarity_threshold: float = 0.4  # a score equal to it is kept; on the calibrated scale
    embedding_search: bool = True  # new chats begin with the similarity switch on
    # `plain` compares bare label and message; `enriched` also keywords and neighbours
    relevance: Literal["plain", "enriched"] = "enriched"
    recent_messages: int = 2  # the number of newest messages that are always kept
    keep_pairs: bool = True  # a kept answer brings its question
    context_budget_tokens: int = 8000  # the maximum tokens of a chat's contexts; 0 is no limit
    ask_above_tokens: int = 32000  # the page asks before it sends or copies more; 0 is never
    # what finds the topics of chats that nobody has opened: the `embedded` extractor, or the `fast`
    # model
    atlas_extraction: Literal["embedded", "fast"] = "embedded"
    # `when it pays` lets a changed selection wait while sending all is cheaper
    apply: Literal["now", "when it pays"] = "now"
    # how the model asks for files: `auto` by tool calls where it takes them
    file_tools: Literal["auto", "fenced", "off"] = "auto"

    @classmethod
    def from_mapping(cls, settings: Mapping[str, Any]) -> "FilterSettings":
        """The settings from values that the manifest has checked; other keys are ignored."""
        known = {name: settings[name] for name in cls.__dataclass_fields__ if name in settings}
        return cls(**known)

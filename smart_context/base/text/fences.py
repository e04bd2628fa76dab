"""Fences around text in Markdown that the text itself can't close."""

import re

_BACKTICKS = re.compile("`{3,}")


def fence_for(text: str) -> str:
    """A run of backticks longer than any in the text, of at least three."""
    if "```" not in text:
        return "```"
    return "`" * (max(len(run) for run in _BACKTICKS.findall(text)) + 1)

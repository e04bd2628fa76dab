"""The title of a chat that a client began: its first question."""

from collections.abc import Sequence

from smart_context.gateway.requests.outgoing import last_question
from smart_context.gateway.requests.units import Unit

TITLE_LENGTH = 60

_PREPARED = (
    "I have *added these files to the chat*",
    "I am not sharing any files",
    "I am not sharing the full contents of any files",
    "I am working with code in a git repository",
    "I am working with you on code in a git repository",
    "Don't try and edit any existing code without asking me",
    "I switched to a new code base",
    "Here are summaries of some files",
    "Here are some READ ONLY files",
)
"""How messages begin that aider writes in the user's name. Its examples come before them."""


def title_of(units: Sequence[Unit]) -> str:
    """The beginning of the first question; empty if there is none.

    Args:
        units: The client's list when the chat is first seen, perhaps with a history.
    """
    if not units:
        return ""
    title = units[_first_question(units)].text
    return title if len(title) <= TITLE_LENGTH else f"{title[: TITLE_LENGTH - 1].rstrip()}…"


def _first_question(units: Sequence[Unit]) -> int:
    """The place of the last user message before the first answer to one.

    Codex puts messages of its own before the question. In a list with aider's, the examples look
    like questions, and the last question counts.
    """
    if any(unit.role == "user" and unit.text.startswith(_PREPARED) for unit in units):
        return last_question(units)
    asked: int | None = None
    for index, unit in enumerate(units):
        if unit.role == "user":
            asked = index
        elif unit.role == "assistant" and asked is not None:
            break
    return last_question(units) if asked is None else asked

"""Finds the text that a person typed in a message to which a program added more. Pure."""

import re
from collections.abc import Iterable

_TAG = re.compile(r"\s*<([A-Za-z][\w-]{0,60})(?:\s[^<>]{0,1000})?>")
_CLOSING = re.compile(r"</([A-Za-z][\w-]{0,60})>\s*")
_NAMES = frozenset(("context", "instructions", "reminder", "skill"))
"""Blocks of programs that are not recognised by an underscore or a hyphen in their names."""
_ASKED = frozenset(("task", "user_query", "userrequest", "user_request", "user_message"))
"""Blocks that programs put around a question."""
_HEADED = "# "
_REQUEST = "## My request for Codex:"
"""Codex's extension for editors puts the editor's context before it, the question after it."""
_RULES = "# AGENTS.md instructions"


def question_in(text: str) -> str:
    """The question in a message, without the blocks that programs put before and after it.

    Empty if it has only such blocks.
    """
    text = request_in(text)
    if text.lstrip().startswith(_RULES):
        text = text[text.find("<") :] if "<" in text else ""
    at = 0
    while (opening := _TAG.match(text, at)) and (name := opening[1].lower()):
        closing = f"</{opening[1]}>"
        if name in _ASKED:
            return text[opening.end() :].partition(closing)[0].strip()
        if not _is_of_program(name):
            break
        end = text.find(closing, opening.end())
        if end < 0:
            return ""
        at = end + len(closing)
    return text[at : _end_of_question(text, at)].strip()


def _end_of_question(text: str, at: int) -> int:
    """The position of the first block after a question."""
    end = len(text)
    while closing := _CLOSING.fullmatch(text, max(text.rfind("</", at, end), at), end):
        opening = text.rfind(f"<{closing[1]}", at, closing.start())
        if opening < 0 or not _is_of_program(closing[1].lower()):
            break
        end = opening
    return end


def _is_of_program(name: str) -> bool:
    """True for the name of a block that programs write."""
    return name in _NAMES or "_" in name or "-" in name


def request_in(text: str) -> str:
    """The request after an editor's context, as Codex's extension sends both; else the text."""
    if not text.lstrip().startswith(_HEADED):
        return text
    _, heading, request = text.partition(_REQUEST)
    return request.strip() if heading else text


def without_blocks(text: str, names: Iterable[str]) -> str:
    """The text without blocks of these names that are on lines of their own."""
    for name in names:
        text = _without(text, f"<{name}>", f"</{name}>")
    return text


def _without(text: str, opening: str, closing: str) -> str:
    pieces: list[str] = []
    done = at = 0
    while (start := text.find(opening, at)) >= 0:
        end = text.find(closing, start)
        if end < 0:
            break
        at = end + len(closing)
        if _begins_line(text, start) and _ends_line(text, at):
            pieces.append(text[done:start].rstrip())
            done = at
    return "".join((*pieces, text[done:])).strip() if pieces else text


def _begins_line(text: str, at: int) -> bool:
    return at == 0 or text[at - 1] == "\n"


def _ends_line(text: str, at: int) -> bool:
    return text[at : at + 1] in {"", "\n", "\r"}

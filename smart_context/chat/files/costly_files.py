"""Reads attached files of slow kinds in a process that can be killed."""

from collections.abc import Callable
from functools import partial

from smart_context.base.errors import CommandFailed
from smart_context.base.processes.child import Child, ChildFailed
from smart_context.chat.files.file_text import (
    PLAIN_TEXT_INSTEAD,
    is_costly,
    text_of,
    work_for,
)

READING_DEADLINE_S = 8.0
"""The time limit for a file whose reader does not stop by itself."""

ReadText = Callable[[str, bytes], str]
"""Gives the text of a file by its name and content; raises CommandFailed if it can't be read."""


def reading_in(child: Child, *, deadline_s: float = READING_DEADLINE_S) -> ReadText:
    """A reader like `text_of` that reads slow kinds of files in `child`."""
    return partial(_text_of, child, deadline_s)


def _text_of(child: Child, deadline_s: float, name: str, content: bytes) -> str:
    if not is_costly(name, content):
        return text_of(name, content)
    try:
        text = child.run(work_for(name, content), name, content, deadline_s=deadline_s)
    except ChildFailed as failure:
        raise CommandFailed(f"{name!r} can't be read: {failure}. {PLAIN_TEXT_INSTEAD}") from failure
    return str(text)

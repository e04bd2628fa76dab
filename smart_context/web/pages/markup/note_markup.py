"""Rules for the Markdown parser: links to other notes, tasks, and tables of bounded cost.

A row that is shorter than its table's head is filled up with empty cells, so a wide head and many
short rows make millions of them out of a few thousand characters.
"""

import re

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock, table
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

TAGS = {"input"}
ATTRIBUTES = {"a": {"data-note"}, "input": {"type", "disabled", "checked", "aria-label"}}
"""What a sanitiser has to let through for them."""

_LINK = re.compile(r"\[\[([^\[\]|\n]{1,300})(?:\|([^\[\]\n]{1,300}))?\]\]")
_TASK = re.compile(r"\[([ xX])\] ")


def enable_note_markup(parser: MarkdownIt) -> None:
    """Let a parser understand `[[Note]]`, `[[Note#Heading|words]]` and `- [ ] task`."""
    parser.inline.ruler.before("link", "note_link", _note_link)
    parser.core.ruler.push("tasks", _tasks)


def _note_link(state: StateInline, silent: bool) -> bool:
    found = _LINK.match(state.src, state.pos, state.posMax)
    if found is None:
        return False
    if not silent:
        opening = state.push("note_link_open", "a", 1)
        opening.attrs = {"class": "note-link", "data-note": found[1].strip()}
        state.push("text", "", 0).content = (found[2] or found[1]).strip()
        state.push("note_link_close", "a", -1)
    state.pos = found.end()
    return True


def _tasks(state: StateCore) -> None:
    for at in range(2, len(state.tokens)):
        item, inline = state.tokens[at - 2], state.tokens[at]
        if item.type != "list_item_open" or inline.type != "inline" or not inline.children:
            continue
        first = inline.children[0]
        found = _TASK.match(first.content) if first.type == "text" else None
        if found is None:
            continue
        item.attrJoin("class", "task")
        first.content = first.content[found.end() :]
        inline.children.insert(0, _box(is_done=found[1] != " "))


def _box(*, is_done: bool) -> Token:
    checked: dict[str, str | int | float] = {"checked": ""} if is_done else {}
    words = "Done" if is_done else "Not done"
    attributes = {"type": "checkbox", "disabled": "", "aria-label": words, **checked}
    return Token("task", "input", 0, attrs=attributes)


_MOST_FILLED = 5_000


class TooManyCells(Exception):
    """The tables of a text have too many cells to be shown as tables."""


def enable_bounded_tables(parser: MarkdownIt) -> None:
    """Let a parser make tables, as many cells as are written and 5,000 that are not.

    Rendering raises `TooManyCells` where there are more.
    """
    parser.enable("table")
    parser.block.ruler.at("table", _bounded, {"alt": ["paragraph", "reference"]})


def _bounded(state: StateBlock, first: int, last: int, silent: bool) -> bool:
    if silent or first + 2 > last:
        return table(state, first, last, silent)
    line = state.src[state.bMarks[first + 1] : state.eMarks[first + 1]]
    columns = line.strip(" \t|").count("|") + 1
    most_cells = len(state.src) // 2 + _MOST_FILLED  # what is written has a mark and a character
    used = state.env.get("cells", 0)
    end = min(last, first + 2 + max(0, most_cells - used) // columns)
    if not table(state, first, end, False):
        return False
    if state.line == end < last:
        raise TooManyCells
    state.env["cells"] = used + (state.line - first) * columns
    return True

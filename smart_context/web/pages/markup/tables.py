"""Keeps the tables of a message from costing far more than their characters.

A row that is shorter than its table's head is filled up with empty cells, so a wide head and many
short rows make millions of them out of a few thousand characters.
"""

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock, table

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

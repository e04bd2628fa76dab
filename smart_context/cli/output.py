"""Results for people and for programs: nothing but the result goes to stdout."""

import sys
import unicodedata
from collections.abc import Callable, Sequence
from typing import Any

import click

json_format = click.option(
    "--format",
    "output",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="text for people, json for programs.",
)


def show(result: Any, output: str, as_text: Callable[[], str]) -> None:
    """Print a result in the chosen format."""
    if output == "json":
        import json  # noqa: PLC0415  3 ms that text need not pay

        click.echo(json.dumps(result, ensure_ascii=False, indent=2))
    else:
        click.echo(as_text())


def table(headings: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Columns of equal width; the last one takes the room that is left and is cut to it.

    Wide characters (Chinese, emoji) count as two columns.
    """
    cells = [[_one_line(str(cell)) for cell in row] for row in rows]
    widths = [
        max(width_of(heading), *(width_of(row[i]) for row in cells), 0)
        for i, heading in enumerate(headings)
    ]
    last = _room_for_last(widths) if sys.stdout.isatty() else max(widths[-1], 1)
    lines = [list(headings), *cells]
    return "\n".join(
        "  ".join(
            [
                *(_padded(cell, w) for cell, w in zip(line[:-1], widths[:-1], strict=True)),
                cut(line[-1], last),
            ]
        ).rstrip()
        for line in lines
    )


def width_of(text: str) -> int:
    """How many columns a terminal gives a text."""
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in text
    )


def cut(text: str, columns: int) -> str:
    """A text that fits, with an ellipsis where something was cut off."""
    if width_of(text) <= columns:
        return text
    kept, used = "", 0
    for character in text:
        used += width_of(character)
        if used > columns - 1:
            break
        kept += character
    return kept + "…"


def _room_for_last(widths: Sequence[int]) -> int:
    import shutil  # noqa: PLC0415  6 ms, and only terminals have a width

    columns = shutil.get_terminal_size((100, 24)).columns
    return max(20, columns - sum(widths[:-1]) - 2 * (len(widths) - 1))


def _padded(text: str, columns: int) -> str:
    return text + " " * (columns - width_of(text))


def _one_line(text: str) -> str:
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())

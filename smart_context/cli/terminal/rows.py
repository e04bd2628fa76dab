"""Prints rows of results, for people and for programs."""

from collections.abc import Callable, Sequence

import click

from smart_context.base.text.names import encodable, shown
from smart_context.cli.terminal.output import deliver, say, show_json, table

FORMATS = ("text", "json", "tsv", "csv")

rows_format = click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    default=FORMATS[0],
    show_default=True,
    help="text for people; the others, for programs, name their columns.",
)

Cell = str | int | list[str]
Row = Sequence[Cell]


def print_rows(
    columns: Sequence[str],
    rows: Sequence[Row],
    form: str,
    as_text: Callable[[], str] | None = None,
) -> None:
    """Print rows; as text, nothing if there are none.

    Text has one row per line, with headings if there are several columns. In TSV, tabs, line ends
    and backslashes in cells are escaped; lists are joined by `; `.
    """
    if form == "json":
        show_json([dict(zip(columns, row, strict=True)) for row in rows])
    elif form == "csv":
        deliver(_as_csv(columns, rows))
    elif form == "tsv":
        lines = [columns, *([_escaped(_plain(cell)) for cell in row] for row in rows)]
        deliver("".join("\t".join(line) + "\n" for line in lines))
    elif rows:
        say(as_text() if as_text is not None else _as_text(columns, rows))


def _as_csv(columns: Sequence[str], rows: Sequence[Row]) -> str:
    import csv  # noqa: PLC0415  3 ms, only for CSV
    import io  # noqa: PLC0415  as above

    written = io.StringIO(newline="")
    writer = csv.writer(written, lineterminator="\n")
    writer.writerows([columns, *([encodable(_plain(cell)) for cell in row] for row in rows)])
    return written.getvalue()


def _as_text(columns: Sequence[str], rows: Sequence[Row]) -> str:
    if len(columns) == 1:
        return "\n".join(shown(_plain(row[0]), limit=None) for row in rows)
    cells = [[shown(_plain(cell), limit=None) for cell in row] for row in rows]
    return table([column.upper() for column in columns], cells)


def _plain(cell: Cell) -> str:
    return "; ".join(cell) if isinstance(cell, list) else str(cell)


def _escaped(cell: str) -> str:
    cell = cell.replace("\\", "\\\\").replace("\t", "\\t")
    return encodable(cell.replace("\n", "\\n").replace("\r", "\\r"))

"""Prints texts, rows and progress to stdout and stderr; nothing else does.

Names, titles and texts may contain hostile control characters. So text for people is printed with
escapes for control and invisible characters; JSON has its own escapes. A document that is the
result itself (a prompt, a context, an export) is written unchanged to a file or a pipe.
"""

import sys
import time
import unicodedata
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from smart_context.base.text.names import encodable, json_shown, lines_shown, one_line, shown

json_format = click.option(
    "--format",
    "output",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="text for people, json for programs.",
)


def say(text: str, *, err: bool = False) -> None:
    """Print lines for people."""
    click.echo(lines_shown(text), err=err)


def show(result: Any, output: str, as_text: Callable[[], str]) -> None:
    """Print a result in the chosen format."""
    if output == "json":
        show_json(result)
    else:
        say(as_text())


def show_json(result: Any) -> None:
    """Print a result for programs."""
    import json  # noqa: PLC0415  3 ms, only for JSON

    click.echo(json_shown(json.dumps(result, ensure_ascii=False, indent=2)))


def deliver(document: str) -> None:
    """Print a document that is the result itself: unchanged, except on a terminal."""
    if not sys.stdout.isatty():
        _write(document.encode("utf-8", "replace"))
        return
    visible = lines_shown(document)
    _write((visible if visible.endswith("\n") else f"{visible}\n").encode("utf-8", "replace"))
    if visible != document:
        say(
            "Invisible and control characters are shown as escapes; files get them unchanged.",
            err=True,
        )


def write_to(target: Path, document: str | bytes) -> None:
    """Write a document or a file that is the result itself: all of it, or nothing.

    Raises:
        StoreFailed: If it can't be written; a file that was there is as before.
    """
    if target.exists() and not target.is_file():
        target.write_bytes(_encoded(document))  # a device or a pipe
    else:
        write_under(target.resolve(), document)


def write_under(name: Path, document: str | bytes) -> None:
    """Write a file under a name that was not given by the user, and may be that of another file.

    Raises:
        StoreFailed: If it can't be written, or if a link, a folder or a device has that name; a
            file that was there is as before.
    """
    from smart_context.base.disk.files import atomic_write  # noqa: PLC0415  only for -o

    atomic_write(name, _encoded(document))


def _encoded(document: str | bytes) -> bytes:
    return document if isinstance(document, bytes) else document.encode("utf-8", "replace")


def ask(question: str, *, default: bool = False) -> None:
    """Ask the user to confirm.

    Raises:
        click.Abort: If the answer is no.
    """
    click.confirm(lines_shown(question), default=default, abort=True, err=True)


def answer_to(question: str, *, default: str = "", is_secret: bool = False) -> str:
    """The user's answer in one line; a secret is not shown, and may come through a pipe.

    Raises:
        click.Abort: If the input ends before.
    """
    text = lines_shown(question)
    if is_secret and not sys.stdin.isatty():
        return sys.stdin.readline().strip()
    prompt = click.prompt
    answer: str = prompt(text, default=default or None, hide_input=is_secret, err=True)
    return answer.strip()


def table(headings: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A table; its last column is cut to the width of the terminal.

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
    """The width of a text on a terminal, in columns."""
    if text.isascii():
        return len(text)
    return sum(
        0
        if unicodedata.category(c) in {"Mn", "Me", "Cf"}
        else 2
        if unicodedata.east_asian_width(c) in "WF"
        else 1
        for c in text
    )


def cut(text: str, columns: int) -> str:
    """The text, cut to a number of columns, with an ellipsis if it was cut."""
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
    return max(20, _terminal_columns() - sum(widths[:-1]) - 2 * (len(widths) - 1))


def _terminal_columns() -> int:
    import shutil  # noqa: PLC0415  6 ms, and only terminals have a width

    return shutil.get_terminal_size((100, 24)).columns


def _padded(text: str, columns: int) -> str:
    return text + " " * (columns - width_of(text))


def _one_line(text: str) -> str:
    return one_line(" ".join(text.split()))


def _write(content: bytes) -> None:
    sys.stdout.flush()
    rest = memoryview(content)
    while rest:  # with PYTHONUNBUFFERED, a pipe accepts only parts
        rest = rest[sys.stdout.buffer.write(rest) :]
    sys.stdout.flush()


PATIENCE_S = 1.0
_BETWEEN_S = 0.1
_WIDTH = 24


class ProgressBar:
    """A progress bar, shown after one second and wiped at the end.

    Args:
        what: The work, such as `Reading notes`.
    """

    def __init__(self, what: str) -> None:
        self._what = what
        self._due = time.monotonic() + PATIENCE_S
        self._is_drawn = False

    def __call__(self, done: int, total: int) -> None:
        """Report progress."""
        self.show(done / max(total, 1), f"{done:,} of {total:,}")

    def show(self, share: float, told: str) -> None:
        """Report a share, from 0 to 1, with the work done in words."""
        now = time.monotonic()
        if now < self._due or not sys.stderr.isatty():
            return
        self._due = now + _BETWEEN_S
        self._is_drawn = True
        bar = ("#" * int(share * _WIDTH)).ljust(_WIDTH)
        draw(f"{self._what} [{bar}] {told}")

    def wipe(self) -> None:
        """Remove the line."""
        if self._is_drawn:
            draw("")
            click.echo("\r", nl=False, err=True)


def draw(line: str, *, ends: bool = False) -> None:
    """Draw a line over the previous one; `ends` marks the last one.

    It is padded, not cleared by an escape, which a console of Windows may print instead.
    """
    columns = _terminal_columns() - 1
    click.echo(f"\r{_padded(cut(one_line(line), columns), columns)}", nl=ends, err=True)


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

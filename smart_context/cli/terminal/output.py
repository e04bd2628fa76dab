"""Prints to stdout and stderr; nothing else does.

Names, titles and texts may contain hostile control characters. So text for people is printed with
escapes for control and invisible characters; JSON has its own escapes. A document that is the
result itself (a prompt, a context, an export) is written unchanged to a file or a pipe.
"""

import shutil
import sys
import unicodedata
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from smart_context.base.text.names import json_shown, lines_shown, one_line

json_format = click.option(
    "--format",
    "output",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="text for people, json for programs.",
)


_BAR = 24


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
    from smart_context.base.disk.files import atomic_write  # noqa: PLC0415  only for -o

    content = document if isinstance(document, bytes) else document.encode("utf-8", "replace")
    if target.exists() and not target.is_file():
        target.write_bytes(content)  # a device or a pipe
    else:
        atomic_write(target.resolve(), content)


def ask(question: str, *, default: bool = False) -> None:
    """Ask the user to confirm.

    Raises:
        click.Abort: If the answer is no.
    """
    click.confirm(lines_shown(question), default=default, abort=True, err=True)


def tell_progress(name: str, done: int, share: float) -> None:
    """On a terminal, draw how much of the files was read; nothing is left when all was."""
    if sys.stderr.isatty():
        bar = "█" * round(share * _BAR)
        told = f"{bar:░<{_BAR}} {share:4.0%} · {done:,} chats · {one_line(name)}"
        click.echo(f"\r\x1b[K{told[: shutil.get_terminal_size().columns - 1]}", nl=False, err=True)


def progress_done() -> None:
    """Take the bar of `tell_progress` away."""
    if sys.stderr.isatty():
        click.echo("\r\x1b[K", nl=False, err=True)


def answer_to(question: str, *, default: str = "", is_secret: bool = False) -> str:
    """What the user answers in one line; a secret is not shown, and may come through a pipe.

    Raises:
        click.Abort: If the input ends before.
    """
    shown = lines_shown(question)
    if is_secret and not sys.stdin.isatty():
        return sys.stdin.readline().strip()
    prompt = click.prompt
    answer: str = prompt(shown, default=default or None, hide_input=is_secret, err=True)
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
    import shutil  # noqa: PLC0415  6 ms, and only terminals have a width

    columns = shutil.get_terminal_size((100, 24)).columns
    return max(20, columns - sum(widths[:-1]) - 2 * (len(widths) - 1))


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

"""Starts the command line; `--version` loads nothing else."""

import io
import os
import sys

from smart_context import __version__


def main() -> None:
    """Run `smart-context`; ends with exit code 0, 1 (failed) or 2 (bad usage or config)."""
    _import_nothing_from_here()
    _print_in_utf_8()
    if sys.argv[1:] in (["--version"], ["-V"]):
        sys.stdout.write(f"smart-context {__version__}\n")  # noqa: TID251 - click is not loaded
        return
    from smart_context.cli.root import smart_context  # noqa: PLC0415 - keeps --version fast

    # What is quoted stays as it is, also on Windows, where click would look for files.
    smart_context(prog_name="smart-context", windows_expand_args=False)


def _print_in_utf_8() -> None:
    """Print in UTF-8 wherever it goes but to a terminal, which says what it can show.

    Nothing that can't be shown there ends the program.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            encoding = stream.encoding if stream.isatty() else "utf-8"
            stream.reconfigure(encoding=encoding, errors="backslashreplace")


def _import_nothing_from_here() -> None:
    """Remove the current folder from `sys.path`: it may be a vault with a `click.py` in it.

    `python -m`, `python -c` and an empty entry in PYTHONPATH put it there. The program's own
    folder stays.
    """
    try:
        here = os.getcwd()  # noqa: PTH109  pathlib would be imported from the path as it is
    except OSError:  # it was removed
        return
    own = {os.path.dirname(os.path.dirname(__file__)), os.path.dirname(os.__file__)}  # noqa: PTH120
    if here not in own:
        sys.path[:] = [folder for folder in sys.path if folder not in {"", here}]


if __name__ == "__main__":
    main()

"""Turns what went wrong into words on stderr and an exit code."""

from collections.abc import Iterator
from contextlib import contextmanager

import click

from smart_context.errors import ConfigInvalid, ManifestInvalid, SmartContextError
from smart_context.text.names import lines_shown, shown

FAILED = 1
BAD_USAGE = 2


class Failed(click.ClickException):
    """Words for people on stderr, and exit code 1."""

    exit_code = FAILED


class BadUsage(click.ClickException):
    """Words for people on stderr, and exit code 2."""

    exit_code = BAD_USAGE


@contextmanager
def reported() -> Iterator[None]:
    """Errors of ours end the program with their words, never with a traceback.

    Click prints them itself, so they are given to it as `say` would print them.
    """
    try:
        yield
    except click.UsageError as error:  # a pattern of the shell may have put a stranger's name in it
        raise click.UsageError(lines_shown(error.format_message()), error.ctx) from error
    except (ConfigInvalid, ManifestInvalid) as error:
        raise BadUsage(lines_shown(str(error))) from error
    except SmartContextError as error:
        raise Failed(lines_shown(str(error))) from error
    except (BrokenPipeError, KeyboardInterrupt):
        raise SystemExit(FAILED) from None
    except OSError as error:
        where = f"{shown(str(error.filename))}: " if error.filename else ""
        raise Failed(lines_shown(f"{where}{error.strerror or error}")) from error

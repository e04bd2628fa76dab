"""Turns what went wrong into words on stderr and an exit code."""

from collections.abc import Iterator
from contextlib import contextmanager

import click

from smart_context.errors import ConfigInvalid, ManifestInvalid, SmartContextError

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
    """Errors of ours end the program with their words, never with a traceback."""
    try:
        yield
    except (ConfigInvalid, ManifestInvalid) as error:
        raise BadUsage(str(error)) from error
    except SmartContextError as error:
        raise Failed(str(error)) from error
    except (BrokenPipeError, KeyboardInterrupt):
        raise SystemExit(FAILED) from None
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        raise Failed(f"{where}{error.strerror or error}") from error

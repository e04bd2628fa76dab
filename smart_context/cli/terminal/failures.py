"""Turns errors into messages on stderr and exit codes."""

from collections.abc import Iterator
from contextlib import contextmanager

import click

from smart_context.base.errors import ConfigInvalid, ManifestInvalid, SmartContextError
from smart_context.base.text.names import lines_shown, shown

FAILED = 1
BAD_USAGE = 2


class Failed(click.ClickException):
    """A message on stderr, and exit code 1."""

    exit_code = FAILED


class BadUsage(click.ClickException):
    """A message on stderr, and exit code 2."""

    exit_code = BAD_USAGE


@contextmanager
def reported() -> Iterator[None]:
    """End the program with the message of our errors, never with a traceback.

    Click prints the messages, so they are escaped here as `say` would escape them.
    """
    try:
        yield
    except click.UsageError as error:  # it may quote a hostile file name from a shell pattern
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

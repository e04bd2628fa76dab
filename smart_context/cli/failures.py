"""Turns what went wrong into words on stderr and an exit code."""

from collections.abc import Iterator
from contextlib import contextmanager

import click

from smart_context.errors import ConfigInvalid, ManifestInvalid, SmartContextError

FAILED = 1
BAD_USAGE = 2


class Reported(click.ClickException):
    """Words for people and an exit code; click prints them on stderr."""

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message)
        self.exit_code = exit_code


@contextmanager
def reported() -> Iterator[None]:
    """Errors of ours end the program with their words, never with a traceback."""
    try:
        yield
    except (ConfigInvalid, ManifestInvalid) as error:
        raise Reported(str(error), BAD_USAGE) from error
    except SmartContextError as error:
        raise Reported(str(error), FAILED) from error
    except (BrokenPipeError, KeyboardInterrupt):
        raise SystemExit(FAILED) from None
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        raise Reported(f"{where}{error.strerror or error}", FAILED) from error

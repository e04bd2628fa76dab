"""Turns errors into messages on stderr and exit codes, and writes the log there.

The log has a line for each event; tracebacks only with --verbose, and in JSON.
"""

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from types import TracebackType
from typing import TypeAlias

import click
from typing_extensions import override

from smart_context.base.errors import (
    ChatIdInvalid,
    ConfigInvalid,
    InvalidParams,
    ManifestInvalid,
    SmartContextError,
)
from smart_context.base.text.names import lines_shown, one_line, shown

FAILED = 1
BAD_USAGE = 2


class Failed(click.ClickException):
    """A message on stderr, and exit code 1."""

    exit_code = FAILED


class BadUsage(click.ClickException):
    """A message on stderr, and exit code 2."""

    exit_code = BAD_USAGE


_BAD_VALUES = (ChatIdInvalid, ConfigInvalid, InvalidParams, ManifestInvalid)
"""Errors about values that are invalid in themselves, whatever exists."""


@contextmanager
def reported() -> Iterator[None]:
    """End the program with the message of one of our errors, never with a traceback.

    Click prints the messages, so they are escaped here as `say` would escape them.
    """
    try:
        yield
    except click.UsageError as error:  # it may quote a hostile file name from a shell pattern
        raise click.UsageError(lines_shown(error.format_message()), error.ctx) from error
    except _BAD_VALUES as error:
        raise BadUsage(lines_shown(str(error))) from error
    except SmartContextError as error:
        raise Failed(lines_shown(str(error))) from error
    except (BrokenPipeError, KeyboardInterrupt):
        raise SystemExit(FAILED) from None
    except OSError as error:
        where = f"{shown(str(error.filename))}: " if error.filename else ""
        raise Failed(lines_shown(f"{where}{error.strerror or error}")) from error


TRACEBACK_HINT = " (smart-context --verbose … shows where)"
FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"
LOGGERS = ("smart_context", "asyncio")
"""The loggers that are shown; asyncio reports tasks that nobody awaited."""

_INDENT = "    "

_ExcInfo: TypeAlias = (
    tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]
)


def start_log(*, verbose: bool, as_json: bool = False) -> None:
    """Send warnings to stderr as one line each; with `verbose` also information and tracebacks.

    Args:
        as_json: Warnings and information as one JSON object a line, for programs that collect logs.
    """
    handler = logging.StreamHandler(sys.stderr)
    usual = Escaping(FORMAT) if verbose else OneLine(FORMAT)
    handler.setFormatter(JsonLines() if as_json else usual)
    handler.setLevel(logging.INFO if verbose or as_json else logging.WARNING)
    for name in LOGGERS:
        log = logging.getLogger(name)
        log.addHandler(handler)
        log.setLevel(handler.level)


class Escaping(logging.Formatter):
    """Escapes control characters, so that no request or file can forge a line of the log."""

    @override
    def formatMessage(self, record: logging.LogRecord) -> str:
        return one_line(super().formatMessage(record))

    @override
    def formatException(self, ei: _ExcInfo) -> str:
        return _indented(super().formatException(ei))

    @override
    def formatStack(self, stack_info: str) -> str:
        return _indented(stack_info)


class OneLine(Escaping):
    """Reports the failure and its reason, without the traceback."""

    @override
    def format(self, record: logging.LogRecord) -> str:
        line = f"{self.formatTime(record, '%H:%M:%S')} {record.getMessage()}"
        if record.exc_info and record.exc_info[1] is not None:
            error = record.exc_info[1]
            line += f": {type(error).__name__}: {error}{TRACEBACK_HINT}"
        return one_line(line)


class JsonLines(logging.Formatter):
    """One JSON object for each event: its time in UTC, level, logger, message, and traceback."""

    @override
    def format(self, record: logging.LogRecord) -> str:
        import json  # noqa: PLC0415 - keeps the start of all other commands fast

        told = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            told["traceback"] = self.formatException(record.exc_info)
        return json.dumps(told)


def _indented(text: str) -> str:
    """Indent lines, so that none looks like the beginning of an event."""
    return "\n".join(_INDENT + one_line(line) for line in text.split("\n"))

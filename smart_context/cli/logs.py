"""Where the log goes: one line an event on stderr; tracebacks only when they are asked for."""

import logging
import sys

from typing_extensions import override

TRACEBACK_HINT = " (smart-context --verbose … shows where)"


def start_log(*, verbose: bool) -> None:
    """Send warnings to stderr as one line each; with `verbose` everything, tracebacks too."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter(FORMAT) if verbose else OneLine(FORMAT))
    handler.setLevel(logging.INFO if verbose else logging.WARNING)
    log = logging.getLogger("smart_context")
    log.addHandler(handler)
    log.setLevel(handler.level)


FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"


class OneLine(logging.Formatter):
    """Says what failed and why, without the traceback."""

    @override
    def format(self, record: logging.LogRecord) -> str:
        line = f"{self.formatTime(record, '%H:%M:%S')} {record.getMessage()}"
        if record.exc_info and record.exc_info[1] is not None:
            error = record.exc_info[1]
            line += f": {type(error).__name__}: {error}{TRACEBACK_HINT}"
        return " ".join(line.split())

"""Shows the progress of long work on stderr, if that is a terminal."""

import sys
import time

from smart_context.base.text.names import one_line

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
        now = time.monotonic()
        if now < self._due or not sys.stderr.isatty():
            return
        self._due = now + _BETWEEN_S
        self._is_drawn = True
        bar = ("#" * (done * _WIDTH // max(total, 1))).ljust(_WIDTH)
        draw(f"{self._what} [{bar}] {done:,} of {total:,}")

    def wipe(self) -> None:
        """Remove the line."""
        if self._is_drawn:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def draw(line: str, *, ends: bool = False) -> None:
    """Draw a line over the previous one; `ends` marks the last one."""
    sys.stderr.write("\r" + one_line(line) + ("\n" if ends else ""))
    sys.stderr.flush()

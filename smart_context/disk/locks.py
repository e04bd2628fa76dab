"""Locks between processes that agree to ask for them."""

import contextlib
import sys

if sys.platform == "win32":

    def try_lock(descriptor: int, *, shared: bool = False) -> bool:  # noqa: ARG001 - as below
        """There is no such lock here: every process may go ahead."""
        return True

    def unlock(descriptor: int) -> None:
        """There is no such lock here."""

else:
    import fcntl

    def try_lock(descriptor: int, *, shared: bool = False) -> bool:
        """Whether the file is ours until it is closed; also where its system has no locks.

        `False` when another opener has it; with `shared`, only when that one has it for itself.
        """
        try:
            fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:
            return True
        return True

    def unlock(descriptor: int) -> None:
        """Let others have the file before it is closed."""
        with contextlib.suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_UN)

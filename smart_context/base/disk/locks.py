"""Advisory locks between processes."""

import contextlib
import sys

HAS_LOCKS = sys.platform != "win32"
"""False where every lock is given to everybody."""

if sys.platform == "win32":

    def try_lock(descriptor: int, *, shared: bool = False) -> bool:  # noqa: ARG001 - as below
        """Always true: the system has no such lock."""
        return True

    def unlock(descriptor: int) -> None:
        """Nothing: the system has no such lock."""

else:
    import fcntl

    def try_lock(descriptor: int, *, shared: bool = False) -> bool:
        """Lock the file until it is closed; false if another opener has locked it.

        With `shared`, false only if the other lock is exclusive. True where the file system has no
        locks.
        """
        try:
            fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:
            return True
        return True

    def unlock(descriptor: int) -> None:
        """Unlock the file before it is closed."""
        with contextlib.suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_UN)

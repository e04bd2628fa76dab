"""Locks between processes that agree to ask for them."""

import sys

if sys.platform == "win32":

    def try_lock(descriptor: int, *, shared: bool = False) -> bool:  # noqa: ARG001 - as below
        """There is no such lock here: every process may go ahead."""
        return True

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

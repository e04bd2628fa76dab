"""How long a test waits for what has to come: long, since only a failing test waits that long."""

import os
import select

PATIENCE_S = 60.0


def has_ended(process_id: int) -> bool:
    """Whether a process is gone, or goes while it is waited for."""
    try:
        watched = os.pidfd_open(process_id)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([watched], [], [], PATIENCE_S)[0])
    finally:
        os.close(watched)

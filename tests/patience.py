"""How long a test waits for what has to come: long, since only a failing test waits that long."""

import asyncio
import os
import select

PATIENCE_S = 150.0
ANSWER_S = 4 * PATIENCE_S
"""How long the servers of tests wait for an answer that is held: as long as a test may take."""


async def settled() -> None:
    """Until everything that the event loop could run now has run."""
    ready = asyncio.get_running_loop()._ready
    await asyncio.sleep(0)
    while ready:
        await asyncio.sleep(0)


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

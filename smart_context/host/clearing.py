"""Removes unneeded files once a day."""

import asyncio
import logging
import time
from collections.abc import Callable, Sequence

from smart_context.base.disk.files import sweep
from smart_context.base.environment import user_folder
from smart_context.base.threads import in_daemon_thread

FIRST_AFTER_S = 60.0
EACH_S = 24 * 3600.0

_log = logging.getLogger(__name__)


async def clear_up(storage: Callable[[float], Sequence[str]]) -> None:
    """Remove unfinished files of killed programs, and unused attached files, once a day."""
    await asyncio.sleep(FIRST_AFTER_S)
    while True:
        await in_daemon_thread(lambda: sweep(user_folder()), name="unfinished files")
        removed = await in_daemon_thread(lambda: storage(time.time()), name="unused files")
        if removed:
            _log.info("removed %d attached files that no chat used", len(removed))
        await asyncio.sleep(EACH_S)

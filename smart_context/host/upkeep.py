"""Cleans up the memory folder, and that of the user's settings, while a server runs."""

import asyncio
import logging
import time

from smart_context.base.disk.files import sweep
from smart_context.base.disk.places import Place
from smart_context.base.environment import user_folder
from smart_context.base.threads import in_daemon_thread
from smart_context.chat.files.unused_files import remove_unused

FIRST_AFTER_S = 60.0
EACH_S = 24 * 3600.0

_logger = logging.getLogger(__name__)


async def clear_up(memory: Place) -> None:
    """Remove unfinished files, and attached files that no chat uses, once a day."""
    await asyncio.sleep(FIRST_AFTER_S)
    while True:
        await in_daemon_thread(lambda: _sweep_all(memory), name="unfinished files")
        removed = await in_daemon_thread(
            lambda: remove_unused(memory, now=time.time()), name="unused files"
        )
        if removed:
            _logger.info("removed %d attached files that no chat used", len(removed))
        await asyncio.sleep(EACH_S)


def _sweep_all(memory: Place) -> None:
    """Remove what killed writers left among the chats and among the user's settings."""
    sweep(memory)
    sweep(user_folder())

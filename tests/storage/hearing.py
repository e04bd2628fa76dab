"""Storages that hear each other's events."""

import asyncio
from contextlib import asynccontextmanager

from tests.patience import PATIENCE_S


@asynccontextmanager
async def listening(*all_events):
    """What each hears, and an event that is set with each message; once all of them hear."""
    heard, news = [[] for _ in all_events], asyncio.Event()
    begun = [asyncio.Event() for _ in all_events]

    def hearing(mine):
        def hear(message):
            mine.append(message["n"])
            news.set()

        return hear

    tasks = [
        asyncio.create_task(events.listen(hearing(mine), begins.set))
        for events, mine, begins in zip(all_events, heard, begun, strict=True)
    ]
    try:
        async with asyncio.timeout(PATIENCE_S):
            for begins in begun:
                await begins.wait()
        yield heard, news
    finally:
        for task in tasks:
            task.cancel()
        ended = await asyncio.gather(*tasks, return_exceptions=True)
        assert all(isinstance(end, asyncio.CancelledError) for end in ended), ended


async def until(news, holds):
    async with asyncio.timeout(PATIENCE_S):
        while not holds():
            news.clear()
            if not holds():
                await news.wait()

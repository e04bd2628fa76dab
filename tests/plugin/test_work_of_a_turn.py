"""What a turn asks of the disk and of threads; counted, since times depend on the machine."""

import asyncio
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from smart_context.base import asking
from smart_context.plugin.selection import chat_filter

pytestmark = pytest.mark.anyio

MOST_JOBS = 15
MOST_OPENINGS = 24


class Counts:
    """What happens while it counts, in this process."""

    def __init__(self, monkeypatch):
        self._is_counting = False
        self.jobs = self.openings = 0
        submit = ThreadPoolExecutor.submit

        def counted(executor, *work, **more):
            self.jobs += self._is_counting
            return submit(executor, *work, **more)

        monkeypatch.setattr(ThreadPoolExecutor, "submit", counted)
        sys.addaudithook(self._audit)

    def _audit(self, event, _arguments):
        self.openings += self._is_counting and event == "open"

    def __enter__(self):
        self._is_counting = True
        return self

    def __exit__(self, *_):
        self._is_counting = False


async def test_a_turn_asks_little_of_threads_and_disk(served, monkeypatch):
    monkeypatch.setattr(chat_filter, "ANNOUNCE_AFTER_S", 600.0)  # which nobody waits for
    monkeypatch.setattr(asking, "FOUND_FOR_S", 600.0)  # on a busy machine, too
    seen = []
    async with served() as running:
        for number in range(5):
            with Counts(monkeypatch) as counts:
                await running.call(
                    "chat.send", chat_id="c", message=f"Hello {number}", stream=False
                )
            seen.append(counts)
            await asyncio.sleep(0.3)  # what a turn leaves for the background comes now, or later
    # the first ones read what is remembered then, and work of the background may fall into some
    assert min(counts.jobs for counts in seen) <= MOST_JOBS
    assert min(counts.openings for counts in seen) <= MOST_OPENINGS

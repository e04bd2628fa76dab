"""What a turn asks of the disk and of threads; counted, since times depend on the machine."""

import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from smart_context.base import lookups, waiting

pytestmark = pytest.mark.anyio

MOST_JOBS = 12
MOST_OPENINGS = 22


class Counts:
    """What a client waits for while it counts, in this process."""

    def __init__(self, monkeypatch):
        self._is_counting = False
        self.jobs = self.openings = 0
        submit = ThreadPoolExecutor.submit

        def counted(executor, *work, **more):
            self.jobs += self._counts
            return submit(executor, *work, **more)

        monkeypatch.setattr(ThreadPoolExecutor, "submit", counted)
        sys.addaudithook(self._audit)

    @property
    def _counts(self):
        return self._is_counting and waiting.is_waited_for()

    def _audit(self, event, _arguments):
        self.openings += event == "open" and self._counts

    def __enter__(self):
        self._is_counting = True
        return self

    def __exit__(self, *_):
        self._is_counting = False


async def test_a_turn_asks_little_of_threads_and_disk(served, monkeypatch):
    monkeypatch.setattr(lookups, "KEPT_FOR_S", 600.0)  # on a busy machine, too
    async with served() as running:
        for number in range(3):  # the first ones read what is remembered then
            await running.call("chat.send", chat_id="c", message=f"Hello {number}", stream=False)
        with Counts(monkeypatch) as counts:
            await running.call("chat.send", chat_id="c", message="And now?", stream=False)
        assert 0 < counts.jobs <= MOST_JOBS
        assert 0 < counts.openings <= MOST_OPENINGS

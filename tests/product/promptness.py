"""Whether a server answers others while it does something that costs much."""

import statistics
import threading
import time

from tests.system_processes import worked_ticks

PAUSE_S = 0.02
SMALL = (("GET", "/healthz", None), ("POST", "/api/commands/system.plugins", b"{}"))
PROMPTLY_S = 0.25
"""How long the server works at most before half of the small requests are answered."""
HELD_UP_S = 1.0
"""How long it works at most before any of them is."""
BLOCKED_S = 10.0
"""How long one takes at most, whoever else needs the processor."""


def assert_answers_others(server, is_running, *, most_s=None):
    """Ask for something small, again and again, as long as something else is under way.

    What counts is what the server itself works in the meantime: on a busy machine all takes long.

    Args:
        server: The server.
        is_running: Whether what costs much is still under way.
        most_s: When to stop if it takes longer.
    """
    pause, worked = threading.Event(), []
    end = float("inf") if most_s is None else time.monotonic() + most_s
    while not worked or (is_running() and time.monotonic() < end):
        for method, path, body in SMALL:
            began, ticks = time.monotonic(), worked_ticks(server.process.pid)
            assert server.request(method, path, body)[0] == 200
            assert time.monotonic() - began < BLOCKED_S
            worked.append((worked_ticks(server.process.pid) - ticks) / 100)
        pause.wait(PAUSE_S)  # what asks without a pause is a load of its own
    assert statistics.median(worked) < PROMPTLY_S, worked
    assert max(worked) < HELD_UP_S, worked

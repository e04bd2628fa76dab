"""Whether a server answers others while it does something that costs much."""

import threading
import time

from tests.patience import PATIENCE_S
from tests.system_processes import worked_ticks
from tests.yardstick import yardstick_s

SMALL = (("GET", "/healthz", None), ("POST", "/api/commands/system.plugins", b"{}"))
PAUSE_S = 0.02
WINDOW_S = 0.5
PROMPTLY = 40
"""How many times as long as the yardstick a small request takes at most, in the best window."""
ATTEMPTS = 5
"""How many windows there are at least, until one is prompt."""
HELD_UP = 150
"""How many times as much as the yardstick the server works at most before it answers."""


def assert_answers_others(server, is_running, *, most_s=PATIENCE_S):
    """Ask for something small, again and again, as long as something else is under way.

    Args:
        server: The server.
        is_running: Whether what costs much is still under way.
        most_s: When to stop if it takes longer.
    """
    end = time.monotonic() + most_s
    slowest = [_slowest_in_a_window(server, is_running)]
    while is_running() and time.monotonic() < end:
        slowest.append(_slowest_in_a_window(server, is_running))
    while min(slowest) >= PROMPTLY and len(slowest) < ATTEMPTS:
        slowest.append(_slowest_in_a_window(server, lambda: True))
    assert min(slowest) < PROMPTLY, slowest


def _slowest_in_a_window(server, is_running):
    """How many times as long as the yardstick the slowest of some small requests takes."""
    end = time.monotonic() + WINDOW_S
    slowest, pause = 0.0, threading.Event()
    most_ticks = 100 * HELD_UP * yardstick_s()
    while time.monotonic() < end:
        for method, path, body in SMALL:
            began, ticks = time.monotonic(), worked_ticks(server.process.pid)
            assert server.request(method, path, body)[0] == 200
            slowest = max(slowest, time.monotonic() - began)
            assert worked_ticks(server.process.pid) - ticks < most_ticks
        if not is_running():
            break
        pause.wait(PAUSE_S)  # what asks without a pause is a load of its own
    return slowest / yardstick_s(time.monotonic)

"""Whether a server answers others while it does something that costs much."""

import threading
import time

WINDOW_S = 0.5
PAUSE_S = 0.02
PROMPTLY_S = 0.25
"""What a small request takes at most in the best window: a machine is slow at times."""
SMALL = (("GET", "/healthz", None), ("POST", "/api/commands/system.plugins", b"{}"))
HELD_UP_S = 1.5
"""What it takes at most in any window: what computes for longer on the event loop is found."""


def assert_answers_others(server, is_running, *, most_windows=None):
    """Ask for something small, again and again, as long as something else is under way.

    Args:
        server: The server.
        is_running: Whether what costs much is still under way.
        most_windows: After how many windows to stop, if it takes longer.
    """
    slowest = [_slowest_in_a_window(server, is_running)]
    while is_running() and len(slowest) != most_windows:
        slowest.append(_slowest_in_a_window(server, is_running))
    assert min(slowest) < PROMPTLY_S, slowest
    assert max(slowest) < HELD_UP_S, slowest


def _slowest_in_a_window(server, is_running):
    end = time.monotonic() + WINDOW_S
    slowest, pause = 0.0, threading.Event()
    while time.monotonic() < end:
        for method, path, body in SMALL:
            began = time.monotonic()
            assert server.request(method, path, body)[0] == 200
            slowest = max(slowest, time.monotonic() - began)
        if not is_running():
            break
        pause.wait(PAUSE_S)  # what asks without a pause is a load of its own
    return slowest

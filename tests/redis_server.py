"""A Redis for tests, the system's, on loopback."""

import shutil
import socket
import subprocess
import time
from contextlib import contextmanager

from tests.patience import PATIENCE_S
from tests.postgres_server import HOST, free_port

PROGRAM = shutil.which("redis-server")


@contextmanager
def redis_server():
    """The address of a Redis that keeps nothing, until the block ends."""
    port = free_port()
    options = ["--port", str(port), "--bind", HOST, "--save", "", "--appendonly", "no"]
    process = subprocess.Popen([PROGRAM, *options], stdout=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + PATIENCE_S
        while True:
            with socket.socket() as attempt:
                if not attempt.connect_ex((HOST, port)):
                    break
            assert time.monotonic() < deadline
            time.sleep(0.01)
        yield f"redis://{HOST}:{port}/0"
    finally:
        process.kill()
        process.wait()

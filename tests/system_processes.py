"""What the system tells of processes; on Linux."""

import os
import select
import subprocess
from pathlib import Path

from tests.patience import PATIENCE_S


def children(pid):
    """The processes that a process has started."""
    listed = subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=False
    )
    return [int(line) for line in listed.stdout.split() if Path(f"/proc/{line}/stat").exists()]


def peak_bytes(pid):
    """The most memory that a process has held."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return int(status.split("VmHWM:")[1].split()[0]) << 10


def worked_ticks(pid):
    """How much processor time a process has used, in hundredths of a second."""
    stat = Path(f"/proc/{pid}/stat").read_text(encoding="ascii")
    return sum(map(int, stat.rpartition(")")[2].split()[11:13]))


def has_ended(pid):
    """Waits until a process is gone, or is only in the table until its parent looks."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        return bool(poll.poll(PATIENCE_S * 1000))
    finally:
        os.close(descriptor)

import os
import subprocess
import sys
import threading

import pytest

from smart_context.base.disk.folders import opened
from smart_context.base.disk.locks import locked, try_lock, unlock
from smart_context.base.disk.places import Place


@pytest.fixture
def openers(tmp_path):
    """Two openers of one file."""
    path = tmp_path / "file"
    path.touch()
    with path.open("r+b") as one, path.open("r+b") as other:
        yield one.fileno(), other.fileno()


@pytest.mark.parametrize(
    ("is_first_shared", "is_second_shared"),
    [(False, False), (False, True), (True, False), (True, True)],
)
def test_only_shared_locks_are_held_side_by_side(openers, is_first_shared, is_second_shared):
    one, other = openers
    assert try_lock(one, shared=is_first_shared)
    assert try_lock(other, shared=is_second_shared) is (is_first_shared and is_second_shared)
    unlock(one)
    unlock(other)
    assert try_lock(other)


def test_a_locked_file_can_be_read_and_written_by_who_did_not_lock_it(openers):
    one, other = openers
    assert try_lock(one)
    os.write(other, b"text")
    assert os.read(one, 10) == b"text"


HOLD = """
import sys
from smart_context.base.disk.folders import opened
from smart_context.base.disk.locks import locked
from smart_context.base.disk.places import Place
from pathlib import Path

with opened(Place(Path(sys.argv[1]))) as folder, locked(folder):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_the_lock_of_a_killed_process_is_gone(tmp_path):
    command = [sys.executable, "-c", HOLD, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout.readline().strip() == b"held"
        holder.kill()
    with opened(Place(tmp_path)) as folder, opened(Place(tmp_path)) as other, locked(folder):
        assert not try_lock(other.descriptor)


def test_one_holder_of_the_folder_waits_for_the_other(tmp_path):
    order = []
    entered = threading.Event()

    def other():
        with opened(Place(tmp_path)) as folder, locked(folder):
            order.append("holds")
            entered.set()
            order.append("lets go")

    with opened(Place(tmp_path)) as folder, locked(folder):
        thread = threading.Thread(target=other)
        thread.start()
        assert not entered.wait(0.05)
        order.append("first lets go")
    thread.join(5)
    assert order == ["first lets go", "holds", "lets go"]

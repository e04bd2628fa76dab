import os
import subprocess
import sys

import pytest

from smart_context.base.processes.groups import ProcessGroup
from tests.patience import has_ended

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="starts a shell")


def test_a_program_is_ended_with_all_that_it_started():
    with subprocess.Popen(
        ["sh", "-c", "sleep 60 & echo $!; wait"], stdout=subprocess.PIPE, start_new_session=True
    ) as process:
        inner = int(process.stdout.readline())
        ProcessGroup(process).kill()
    assert has_ended(inner)


def test_one_that_has_ended_is_ended_without_a_word():
    with subprocess.Popen(["true"], start_new_session=True) as process:
        group = ProcessGroup(process)
    group.kill()
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)

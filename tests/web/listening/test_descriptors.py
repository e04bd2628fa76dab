import subprocess
import sys

import pytest

from smart_context.web.limits import WANTED_DESCRIPTORS

pytest.importorskip("resource", reason="this system has no such limit")

PROGRAM = """
import resource, sys
from smart_context.web.listening import raised_limit
resource.setrlimit(resource.RLIMIT_NOFILE, (int(sys.argv[1]), int(sys.argv[2])))
print(raised_limit(), *resource.getrlimit(resource.RLIMIT_NOFILE))
"""


@pytest.mark.parametrize(
    ("limit", "ceiling", "raised"),
    [
        pytest.param(256, 300, 300, id="as far as allowed"),
        pytest.param(256, 256, 256, id="not at all"),
        pytest.param(256, 10_000, WANTED_DESCRIPTORS, id="as far as wanted"),
    ],
)
def test_the_limit_is_raised_where_that_is_allowed(limit, ceiling, raised):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(limit), str(ceiling)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == [str(raised), str(raised), str(ceiling)]

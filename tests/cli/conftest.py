import logging
import os
import shutil

import pytest

from smart_context.cli.server.serve import DEMO_VAULT
from smart_context.cli.terminal.failures import LOGGERS
from tests.preloaded import run_to_end


def demo_vault(parent):
    """A copy of the demonstration's vault, in a folder of that parent."""
    folder = parent / "vault"
    shutil.copytree(DEMO_VAULT, folder)
    (folder / "memory").rename(folder / ".memory")
    return folder


@pytest.fixture
def vault(tmp_path):
    return demo_vault(tmp_path)


@pytest.fixture(autouse=True)
def the_log_as_it_was():
    """A verb that is run within the tests' own process sets up its log; that ends with the test."""
    logs = [logging.getLogger(name) for name in LOGGERS]
    before = [(log.level, [*log.handlers]) for log in logs]
    yield
    for log, (level, handlers) in zip(logs, before, strict=True):
        log.setLevel(level)
        log.handlers[:] = handlers


@pytest.fixture
def smart_context(tmp_path):
    """Runs the program as a user does; gives exit code, stdout and stderr."""

    def run(*arguments, cwd=None, env=None, stdin=""):
        code, out, err = run_to_end(
            arguments,
            cwd=cwd or tmp_path,
            env={**os.environ, "XDG_CONFIG_HOME": str(tmp_path / "config"), **(env or {})},
            stdin=stdin,
        )
        assert "Traceback" not in err
        return code, out, err

    return run

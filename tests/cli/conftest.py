import os
import subprocess
import sys

import pytest


@pytest.fixture
def smart_context(tmp_path):
    """Runs the program as a user does; gives exit code, stdout and stderr."""

    def run(*arguments, cwd=None, env=None, stdin=""):
        done = subprocess.run(
            [sys.executable, "-m", "smart_context", *map(str, arguments)],
            cwd=cwd or tmp_path,
            env={**os.environ, "XDG_CONFIG_HOME": str(tmp_path / "config"), **(env or {})},
            input=stdin,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=60,
            check=False,
        )
        assert "Traceback" not in done.stderr
        return done.returncode, done.stdout, done.stderr

    return run

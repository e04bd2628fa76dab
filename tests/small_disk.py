"""A disk of its own that fills up, as a real one does."""

import subprocess
from contextlib import contextmanager

import pytest


@contextmanager
def small_disk(folder, *, kib=2048):
    """Mount a small disk on an empty folder until the block ends; skips the test where it can't."""
    options = ["mount", "-t", "tmpfs", "-o", f"size={kib}k", "tmpfs", str(folder)]
    try:
        mounted = subprocess.run(options, capture_output=True, text=True, check=False)
    except OSError as error:
        pytest.skip(f"no disk can be mounted: {error}")
    if mounted.returncode:
        pytest.skip(f"no disk can be mounted: {mounted.stderr}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill(folder):
    """Leave no byte free; removing the file that is returned frees them again."""
    filler = folder / "filler"
    with pytest.raises(OSError, match="No space left"):
        _write_without_end(filler)
    return filler


def _write_without_end(path):
    with path.open("wb", buffering=0) as file:
        while True:
            file.write(b"x" * 4096)

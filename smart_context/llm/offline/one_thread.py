"""Keeps the libraries of numpy to one thread."""

import ctypes
from pathlib import Path

import numpy as np

_SETTERS = (
    "scipy_openblas_set_num_threads64_",
    "scipy_openblas_set_num_threads",
    "openblas_set_num_threads64_",
    "openblas_set_num_threads",
)


def use_one_thread() -> bool:
    """Set one thread for the whole process.

    Returns:
        True if a library was found. Builds of numpy on another library (such as Apple's
        Accelerate) are not changed.
    """
    were_set = [_set_one_thread(path) for path in _libraries()]
    return any(were_set)


def _libraries() -> list[Path]:
    package = Path(np.__file__).parent
    folders = (package.parent / "numpy.libs", package / ".dylibs", package / ".libs")
    return [path for folder in folders for path in folder.glob("*openblas*")]


def _set_one_thread(path: Path) -> bool:
    try:
        library = ctypes.CDLL(str(path))
    except OSError:
        return False
    for name in _SETTERS:
        if setter := getattr(library, name, None):
            setter(ctypes.c_int(1))
            return True
    return False

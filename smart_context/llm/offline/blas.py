"""Tells numpy's linear algebra to use one thread.

Small products are slower and erratic when OpenBLAS spreads them over the cores; batches in
parallel, each on one thread, are faster. The environment variable for it only works before numpy
is imported, so this asks the library that numpy's wheels carry.
"""

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
    """Set one thread for the whole process, from now on.

    Returns:
        Whether a library was found that could be told; builds of numpy on another library (such
        as Apple's Accelerate) are left as they are.
    """
    told = [_told(path) for path in _libraries()]
    return any(told)


def _libraries() -> list[Path]:
    package = Path(np.__file__).parent
    folders = (package.parent / "numpy.libs", package / ".dylibs", package / ".libs")
    return [path for folder in folders for path in folder.glob("*openblas*")]


def _told(path: Path) -> bool:
    try:
        library = ctypes.CDLL(str(path))
    except OSError:
        return False
    for name in _SETTERS:
        if setter := getattr(library, name, None):
            setter(ctypes.c_int(1))
            return True
    return False

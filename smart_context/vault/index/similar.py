"""Suggests files whose names resemble a missing one."""

import difflib
from collections.abc import Iterable

MOST = 3


def similar_paths(wanted: str, paths: Iterable[str], most: int = MOST) -> list[str]:
    """The paths with the closest file names, ignoring case, folder and `.md`.

    Args:
        wanted: A path or a name, perhaps with `#heading`.
    """
    by_name: dict[str, str] = {}
    for path in paths:
        by_name.setdefault(_name(path), path)
    near = difflib.get_close_matches(_name(wanted.partition("#")[0]), by_name, most)
    return [by_name[name] for name in near]


def _name(path: str) -> str:
    return path.rpartition("/")[2].removesuffix(".md").casefold()

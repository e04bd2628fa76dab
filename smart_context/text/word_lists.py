"""Lists of words in files of the package: `[name]`, then words; `#` begins a comment line."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType


def word_lists(file: Path) -> Mapping[str, frozenset[str]]:
    """The words below each name. Words are separated by white space.

    Raises:
        OSError: The file can't be read: the installation is damaged.
    """
    lines = file.read_text(encoding="utf-8").splitlines()
    text = "\n".join(line for line in lines if not line.startswith("#"))
    lists = (part.partition("]") for part in text.split("[")[1:])
    return MappingProxyType({name: frozenset(words.split()) for name, _, words in lists})

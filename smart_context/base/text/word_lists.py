"""Lists of words and of lines in files of the package."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType


def word_lists(file: Path) -> Mapping[str, frozenset[str]]:
    """The words below each `[name]`, split at white space; `#` begins a comment line.

    Raises:
        OSError: The file can't be read: the installation is damaged.
    """
    text = "\n".join(line for line in lines_of(file) if not line.startswith("#"))
    lists = (part.partition("]") for part in text.split("[")[1:])
    return MappingProxyType({name: frozenset(words.split()) for name, _, words in lists})


def lines_of(file: Path) -> tuple[str, ...]:
    """The lines of a file.

    Raises:
        OSError: The file can't be read: the installation is damaged.
    """
    return tuple(file.read_text(encoding="utf-8").splitlines())

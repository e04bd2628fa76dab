"""Lists of words in files of the package: stop words of fifteen languages, Chinese, Japanese."""

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


_JOINED_AND = {"ar": "وف", "he": "ו"}  # noqa: RUF001
"""Letters for *and* and *so* that are written together with the next word, by language."""

_SHORTEST_JOINED = 3
"""Shorter ones are also words of their own: `فهم`, *so they* or *understanding*."""


def _with_joined(code: str, words: frozenset[str]) -> frozenset[str]:
    """The words, and those that are written together with *and*: `وكيف`, *and how*."""
    long = [word for word in words if len(word) >= _SHORTEST_JOINED]
    return words.union(joined + word for joined in _JOINED_AND.get(code, "") for word in long)


STOP_WORDS_OF: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        code: _with_joined(code, words)
        for code, words in word_lists(Path(__file__).with_name("stop_words.txt")).items()
    }
)
"""The stop words of each language by its ISO 639-1 code."""

_ENGLISH_TOO = frozenset(["var", "bile", "ten", "pod", "sam", "ale", "hem", "sen", "mam"])
"""Stop words of Polish and Turkish that are content words of English."""

STOP_WORDS: frozenset[str] = frozenset().union(*STOP_WORDS_OF.values()) - _ENGLISH_TOO

PARTICLES: frozenset[str] = frozenset("的了吗嗎呢吧啊呀哦们們这這那哪么麼はがをにへ")
"""Characters that serve grammar only: a pair that holds one of them is no content word."""

FUNCTION_CHARACTERS: frozenset[str] = frozenset(
    "是我你他她它也就还還很与與在有没沒不要会會能可以把被让讓给給从從到对對为為什怎样樣个個些之而但或如"
    "果因所请請谢謝您想说說去来來做好再又太更最都和一下多少几幾点點时時候上里裡"
    "とでのもやかねよなだすまるれたてっいしこそあどうくりけさらんせ"
)
"""Characters that often serve grammar: a pair of two of them is no content word."""

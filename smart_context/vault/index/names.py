"""Finds the files of a vault by name, and those that links lead to."""

from collections.abc import Callable, Iterable
from typing import Protocol, TypeVar

from smart_context.vault.guarded.walk import FileStamp
from smart_context.vault.index.cache import IndexCache
from smart_context.vault.index.store import IndexStore
from smart_context.vault.markdown.links import Resolution

T = TypeVar("T")


class Ask(Protocol):
    """Asks the current store, and replaces it first if it is damaged."""

    def __call__(self, question: Callable[[IndexStore], T]) -> T:
        """The store's answer."""


class VaultNames:
    """The files of a vault by name, as of the last look at the disk.

    Args:
        cache: The index's answers so far.
    """

    def __init__(self, ask: Ask, cache: IndexCache) -> None:
        self._ask = ask
        self._cache = cache

    def all(self) -> list[str]:
        """The paths of all files that may be read, sorted."""
        return self._ask(lambda store: [*self._cache.paths(store)])

    def stamps(self) -> list[FileStamp]:
        """The stamps of all files when they were read, in no order.

        The time in a stamp is 0 where the same stamp need not mean the same text.
        """
        return self._ask(lambda store: store.stamps())

    def resolve(self, target: str, source: str) -> Resolution:
        """The file that a link to `target` in the file `source` leads to."""
        return self.resolve_all([target], source)[0]

    def resolve_all(self, targets: Iterable[str], source: str) -> list[Resolution]:
        """The files that the links in the file `source` lead to, in the same order."""

        def resolved(store: IndexStore) -> list[Resolution]:
            names = self._cache.names(store)
            return [names.resolve(target, source) for target in targets]

        return self._ask(resolved)

"""What the index works out from what is stored: where links lead, and measures of many notes."""

from collections.abc import Callable, Hashable, Sequence

from smart_context.vault.index.cache import IndexCache
from smart_context.vault.index.store import IndexStore
from smart_context.vault.markdown.links import Resolution
from smart_context.vault.markdown.notes import Link, Outline

_MANY = 1_000


class Answers:
    """Answers from the store, kept in the cache until one of their causes changes.

    Args:
        cache: What was worked out so far.
        outline_of: The outline of a file as it is now; `None` when it is no text.
    """

    def __init__(
        self, cache: IndexCache, outline_of: Callable[[IndexStore, str], Outline | None]
    ) -> None:
        self._cache = cache
        self._outline_of = outline_of

    def lengths(
        self, store: IndexStore, paths: Sequence[str], *, is_settled: bool
    ) -> list[int | None]:
        """The lengths of files in characters.

        Asked for thousands at once, so those that are known cost next to nothing.

        Args:
            store: Where it is stored.
            paths: The files.
            is_settled: Somebody has just looked at all files, so what is stored is right.
        """
        known = self._cache.lengths(store) if is_settled else {}
        return self._looked_up(store, paths, known, _length)

    def measured(
        self,
        store: IndexStore,
        paths: Sequence[str],
        measure: tuple[Hashable, Callable[[Outline], int]],
        *,
        is_settled: bool,
    ) -> list[int | None]:
        """What a measure, given with its name, finds in outlines; otherwise as `lengths`."""
        name, of = measure
        known: dict[str, int] = {}
        if is_settled:
            known = self._cache.measures(name)
            missing = {path for path in paths if path not in known}
            if len(missing) > _MANY:
                outlines = store.outlines()
                known.update((path, of(o)) for path, o in outlines if path in missing)
        return self._looked_up(store, paths, known, of)

    def _looked_up(
        self,
        store: IndexStore,
        paths: Sequence[str],
        known: dict[str, int],
        measure: Callable[[Outline], int],
    ) -> list[int | None]:
        """What is known, and the rest measured; it is known from then on."""
        found: list[int | None] = list(map(known.get, paths))
        if None in found:
            for place, path in enumerate(paths):
                if found[place] is None and (outline := self._outline_of(store, path)):
                    found[place] = known[path] = measure(outline)
        return found

    def links(self, store: IndexStore, path: str) -> tuple[tuple[Link, Resolution], ...]:
        """The links of a file, and what they lead to."""
        known = self._cache.links.get(path)
        if known is None:
            outline, names = self._outline_of(store, path), self._cache.names(store)
            links = outline.links if outline is not None else ()
            known = tuple((link, names.resolve(link.target, path)) for link in links)
            self._cache.links[path] = known
        return known

    def outlinks(self, store: IndexStore, path: str) -> tuple[str, ...]:
        """The other files that a file links to."""
        known = self._cache.targets.get(path)
        if known is None:
            targets = (resolved.path for _, resolved in self.links(store, path))
            known = tuple(dict.fromkeys(t for t in targets if t is not None and t != path))
            self._cache.targets[path] = known
        return known

    def backlinks(self, store: IndexStore, path: str) -> tuple[str, ...]:
        """The other files that link to a file, sorted."""
        known = self._cache.backlinks.get(path)
        if known is None:
            sources = self._cache.sources(store, path)
            linking = (source for source in sources if path in self.outlinks(store, source))
            known = self._cache.backlinks[path] = tuple(sorted(linking))
        return known


def _length(outline: Outline) -> int:
    return outline.length

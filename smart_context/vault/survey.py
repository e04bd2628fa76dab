"""Reports on a vault: unresolved links, orphans, dead ends, tags, aliases."""

from collections import Counter
from collections.abc import Iterator

from smart_context.vault.index.vault_index import VaultIndex
from smart_context.vault.markdown.links import fold
from smart_context.vault.markdown.notes import Outline


def unresolved(index: VaultIndex) -> Iterator[tuple[str, str]]:
    """The unresolved links: the note and the link's target, in order."""
    for path, outline in index.outlines():
        targets = [link.target for link in outline.links]
        for target, resolution in zip(targets, index.names.resolve_all(targets, path), strict=True):
            if resolution.path is None:
                yield path, target


def orphans(index: VaultIndex) -> list[str]:
    """The notes that no other file links to, sorted."""
    notes: list[str] = []
    linked: set[str] = set()
    for path, outline in index.outlines():
        notes.append(path)
        linked |= _others(index, path, outline)
    return [path for path in notes if path not in linked]


def dead_ends(index: VaultIndex) -> list[str]:
    """The notes that link to no other file, sorted."""
    return [path for path, outline in index.outlines() if not _others(index, path, outline)]


def tags(index: VaultIndex) -> Counter[str]:
    """The number of notes with each tag; spelled as first written, ignoring case."""
    spelled: dict[str, str] = {}
    counts: Counter[str] = Counter()
    for _, outline in index.outlines():
        counts.update({spelled.setdefault(fold(tag), tag) for tag in outline.tags})
    return counts


def aliases(index: VaultIndex) -> Iterator[tuple[str, str]]:
    """The aliases of notes: the alias and the note, in order of the notes."""
    for path, outline in index.outlines():
        for alias in outline.aliases:
            yield alias, path


def _others(index: VaultIndex, path: str, outline: Outline) -> set[str]:
    """The other files that a note links to."""
    targets = (link.target for link in outline.links)
    found = {resolution.path for resolution in index.names.resolve_all(targets, path)}
    return {other for other in found if other is not None and other != path}

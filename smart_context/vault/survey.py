"""What holds of a vault as a whole: links that lead nowhere, notes apart, tags and other names."""

from collections import Counter
from collections.abc import Iterator

from smart_context.vault.index.vault_index import VaultIndex
from smart_context.vault.markdown.links import fold
from smart_context.vault.markdown.notes import Outline


def unresolved(index: VaultIndex) -> Iterator[tuple[str, str]]:
    """The links that lead nowhere: the note and what it names, in order."""
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
    """Of each tag, as it is first written, how many notes have it; case does not count."""
    spelled: dict[str, str] = {}
    counts: Counter[str] = Counter()
    for _, outline in index.outlines():
        counts.update({spelled.setdefault(fold(tag), tag) for tag in outline.tags})
    return counts


def aliases(index: VaultIndex) -> Iterator[tuple[str, str]]:
    """The other names of notes: the name and the note, in order of the notes."""
    for path, outline in index.outlines():
        for alias in outline.aliases:
            yield alias, path


def _others(index: VaultIndex, path: str, outline: Outline) -> set[str]:
    """The other files that a note links to."""
    targets = (link.target for link in outline.links)
    found = {resolution.path for resolution in index.names.resolve_all(targets, path)}
    return {other for other in found if other is not None and other != path}

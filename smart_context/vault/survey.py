"""What holds of a vault as a whole: links that lead nowhere, notes apart, tags and other names."""

from collections import Counter
from collections.abc import Iterator

from smart_context.vault.index import VaultIndex
from smart_context.vault.links import fold


def unresolved(index: VaultIndex) -> Iterator[tuple[str, str]]:
    """The links that lead nowhere: the note and what it names, in order."""
    for path, outline in index.outlines():
        for link in outline.links:
            if index.resolve(link.target, path).path is None:
                yield path, link.target


def orphans(index: VaultIndex) -> list[str]:
    """The notes that no other file links to, sorted."""
    linked = {target for path, _ in index.outlines() for target in index.outlinks(path)}
    return [path for path, _ in index.outlines() if path not in linked]


def dead_ends(index: VaultIndex) -> list[str]:
    """The notes that link to no other file, sorted."""
    return [path for path, _ in index.outlines() if not index.outlinks(path)]


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

"""Named contexts as clients get them: their content at each depth, and why texts are left out."""

from collections.abc import Callable, Iterable, Mapping
from itertools import islice

from smart_context.base.errors import PathRefused
from smart_context.base.values import CountTokens, JsonObject, PersonId
from smart_context.contexts import SmartContext, SmartContexts, Snapshot, Stats
from smart_context.contexts.render import path_of
from smart_context.host.access import EVERYBODY, Audience, NamesOwned, OwnedName
from smart_context.host.events.events import Emit, Event
from smart_context.llm.estimating import estimate
from smart_context.plugin.notes.context_prompt import (
    MAX_CHARACTERS,
    ContextShare,
    bounded,
    content_of,
    contexts_prompt,
)
from smart_context.vault.guarded.files import Unreadable, read_text
from smart_context.vault.guarded.paths import confine
from smart_context.vault.index.cache import VaultChanges
from smart_context.vault.markdown.links import similar_paths
from smart_context.vault.markdown.notes import Outline

SHOWN_ROWS = 300
"""The maximum rows of a kind; the counts include all."""

DRAWN_NOTES = 60
"""The maximum notes whose links are looked up for the picture of a context."""

SHOWN_CHARACTERS = 60_000
"""The maximum length of the text in a preview; `compile_context` returns all of it."""

_COUNTED_EXACTLY = 400_000
_OWN = "Notes of chat "


def preview_document(
    contexts: SmartContexts, context: SmartContext, count_tokens: CountTokens
) -> JsonObject:
    """The current content of a context, bounded for the wire; its tokens as a chat sends it."""
    options = bounded(context.options())
    snapshot = contexts.snapshot_of(context.context_items, options)
    compiled = context.compile(snapshot, max_len=options.max_len)
    stats = compiled.stats
    content = content_of(context, snapshot, options)
    prompt = contexts_prompt([content], budget=0, count_tokens=_bounded_counter(count_tokens))
    (share,) = prompt.shares
    costs = dict(zip(share.sent, share.costs, strict=True))
    return {
        "depths": [
            _depth_document(depth, texts, snapshot, stats, costs)
            for depth, texts in sorted(snapshot.items.items())
        ],
        "links": _links_among(contexts, snapshot),
        "characters": stats.final_length,
        "tokens": share.tokens,
        "tokens_around": share.tokens - sum(share.costs),
        "skipped": [
            {"key": key, "characters": snapshot.lengths.get(key)}
            for key in stats.skipped_items[:SHOWN_ROWS]
        ],
        "skipped_count": len(stats.skipped_items),
        "truncated": stats.truncated_items[:SHOWN_ROWS],
        "missing": [
            {"name": name, "why": why_missing(contexts, name)}
            for name in islice(snapshot.missing_items, SHOWN_ROWS)
        ],
        "missing_count": len(snapshot.missing_items),
        "ambiguous": [
            {"source": source, "target": target, "candidates": candidates[:SHOWN_ROWS]}
            for source, target, candidates in snapshot.ambiguous_links[:SHOWN_ROWS]
        ],
        "exclusions": dict(snapshot.exclusions),
        "limit": options.max_len,
        "is_bounded": options.max_len == MAX_CHARACTERS,
        "text": compiled.context[:SHOWN_CHARACTERS],
        "text_is_cut": len(compiled.context) > SHOWN_CHARACTERS,
    }


def outline_document(path: str, outline: Outline) -> JsonObject:
    """The headings and blocks of a note, each with its name for contexts."""
    return {
        "path": path,
        "characters": outline.length,
        "headings": [
            {"key": f"{path}#{heading.text}", "text": heading.text, "level": heading.level}
            for heading in islice(outline.headings, SHOWN_ROWS)
        ],
        "blocks": [
            {"key": f"{path}#^{block.name}", "name": block.name}
            for block in islice(outline.blocks, SHOWN_ROWS)
        ],
        "is_cut": max(len(outline.headings), len(outline.blocks)) > SHOWN_ROWS,
    }


def context_document(context: SmartContext) -> JsonObject:
    """A stored context: its items and its own options."""
    return {
        "key": context.key,
        "items": [name for name, flag in context.context_items.items() if flag],
        "options": context.context_opts,
    }


def own_context(chat_id: str) -> str:
    """The name of the context for notes that are added to a chat one by one."""
    return f"{_OWN}{chat_id}"


def chat_of(key: str) -> str:
    """The chat whose own context has this name; empty for other contexts."""
    return key.removeprefix(_OWN) if key.startswith(_OWN) else ""


def owner_of(key: str) -> OwnedName:
    """The owned thing of a context: its chat if it is a chat's own context, else the context."""
    return OwnedName("chat", chat) if (chat := chat_of(key)) else OwnedName("context", key)


def _owners(*keys: str) -> Iterable[OwnedName]:
    """The owned things of contexts, by these names and by the names that they are stored under."""
    return [owner_of(name) for key in keys for name in {key, " ".join(key.split())}]


NamesContext = NamesOwned(_owners)
"""Marks a parameter that is a context's key."""

NamesOwnContext = NamesOwned(lambda key: [o._replace(only_theirs=True) for o in _owners(key)])
"""Marks a context's key for a command that only the context's own person may give."""

NamesContexts = NamesOwned(lambda keys: _owners(*keys))
"""Marks a parameter that is a list of contexts' keys."""


def share_document(share: ContextShare, problem: str = "") -> JsonObject:
    """An attached context: the parts that go with each message, and those left out."""
    return {
        "key": share.key,
        "tokens": share.tokens,
        "notes": len(share.sent),
        "sent": list(share.sent[:SHOWN_ROWS]),
        "cut": list(share.cut[:SHOWN_ROWS]),
        "left_out": list(share.left_out[:SHOWN_ROWS]),
        "left_out_count": len(share.left_out),
        "missing": list(share.missing[:SHOWN_ROWS]),
        "problem": problem,
    }


def why_missing(contexts: SmartContexts, name: str) -> str:
    """The reason why no text was found for a listed name, for people."""
    try:
        for spelled in (name, f"{name}.md"):
            if confine(contexts.root, spelled).is_file() and isinstance(
                found := read_text(contexts.root, spelled), Unreadable
            ):
                return f"Not a text file: {found.reason}."
        file = confine(contexts.root, path_of(name) if ".md#" in name else name.partition("#")[0])
        is_note = "#" in name and (file.is_file() or file.with_name(f"{file.name}.md").is_file())
    except PathRefused as refusal:
        return str(refusal)
    except (OSError, ValueError):
        return "It can't be read."
    if not is_note:
        near = similar_paths(name, contexts.index.names.all())
        similar = f" Similar names: {', '.join(near)}." if near else ""
        return f"No such file or folder.{similar}"
    kind = "block" if "#^" in name else "heading"
    return f"The note has no such {kind}."


def _links_among(contexts: SmartContexts, snapshot: Snapshot) -> list[list[str]]:
    """The links between the notes in a snapshot, each as source and target."""
    keys = (key for texts in snapshot.items.values() for key in texts)
    paths = list(dict.fromkeys(path_of(key) for key in islice(keys, DRAWN_NOTES)))
    known = set(paths)
    found = (
        (path, target.path)
        for path in paths
        for _, target in contexts.index.links(path)
        if target.path in known and target.path != path
    )
    return [list(link) for link in islice(dict.fromkeys(found), SHOWN_ROWS)]


def _depth_document(
    depth: int,
    texts: dict[str, str],
    snapshot: Snapshot,
    stats: Stats,
    costs: Mapping[str, int],
) -> JsonObject:
    cut, gone = set(stats.truncated_items), set(stats.skipped_items)
    kept = {key: text for key, text in texts.items() if key not in gone}
    tokens = [costs.get(key, 0) for key in kept]
    rows = zip(kept.items(), tokens, strict=True)
    return {
        "depth": depth,
        "count": len(kept),
        "characters": sum(map(len, kept.values())),
        "tokens": sum(tokens),
        "items": [
            {"key": key, "characters": len(text), "tokens": count}
            | ({"cut_from": snapshot.lengths.get(key, len(text))} if key in cut else {})
            for (key, text), count in islice(rows, SHOWN_ROWS)
        ],
    }


def _bounded_counter(count_tokens: CountTokens) -> CountTokens:
    """A token counter that is exact up to `_COUNTED_EXACTLY` characters, then estimates."""
    counted = 0

    def count(text: str) -> int:
        nonlocal counted
        counted += len(text)
        return count_tokens(text) if counted <= _COUNTED_EXACTLY else estimate(text)

    return count


CONTEXTS_CHANGED: Event[JsonObject] = Event("smart_context.contexts_changed")
"""Event: a context was saved, deleted, attached or detached, or notes of the vault changed."""


class ContextChanges:
    """Announces changed contexts and notes."""

    def __init__(self, emit: Emit) -> None:
        self._emit = emit
        self._listeners: list[Callable[[], None]] = []

    def listen(self, listener: Callable[[], None]) -> None:
        """Call a function at each change, before clients are told."""
        self._listeners.append(listener)

    def chat_changed(self, chat_id: str) -> None:
        """Announce that a chat uses other contexts, or that its own context has other notes."""
        self._announce({"chat_id": chat_id}, None)

    def context_changed(self, key: str, person: PersonId) -> None:
        """Announce that a person's context was saved or deleted: any chat may be affected."""
        self._announce({"key": key}, owner_of(key)._replace(person=person))

    def notes_changed(self, changes: VaultChanges) -> None:
        """Announce that files of the vault have changed."""
        has_other_files = bool(changes.added or changes.removed)
        self._announce({"notes_changed": True, "has_other_files": has_other_files}, EVERYBODY)

    def _announce(self, payload: JsonObject, audience: Audience | None) -> None:
        for listener in self._listeners:
            listener()
        self._emit(CONTEXTS_CHANGED, payload, audience)

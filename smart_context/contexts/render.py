"""Renders a snapshot with its templates as one text. Pure."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from smart_context.base.text.scores import counted
from smart_context.contexts.options import ContextOptions, Template
from smart_context.contexts.snapshot import Snapshot

WHOLE: Final = -1
"""The depth of the template around everything."""

_VARIABLE = re.compile(r"\{\{(ITEM_PATH|ITEM_NAME|ITEM_EXT|ITEM_DEPTH|ITEM_TIME_AGO)\}\}")
_PART_OF_NOTE = re.compile(r"(.+?\.(?:md|canvas))#", re.IGNORECASE | re.DOTALL)
_FILE_TREE = "{{FILE_TREE}}"
_UNITS: Final = (
    ("year", 31_536_000),
    ("month", 2_592_000),
    ("day", 86_400),
    ("hour", 3_600),
    ("minute", 60),
    ("second", 1),
)


_Tree = dict[str, "_Tree"]
"""Names with the tree below them; a folder's name ends in `/`, and its tree is never empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats:
    """The statistics of a text and its snapshot."""

    final_length: int  # characters of the text
    depth_count: int  # the number of depths in it
    truncated_items: list[str]  # keys of texts that were cut, here or in the snapshot
    skipped_items: list[str]  # keys of texts that did not fit, here or in the snapshot


@dataclass(frozen=True, slots=True)
class Compiled:
    """A context as text, with its statistics."""

    context: str
    stats: Stats


def render(
    snapshot: Snapshot,
    options: ContextOptions,
    *,
    modified: Mapping[str, float] | None = None,
    now: float = 0.0,
) -> Compiled:
    """The text of a snapshot.

    Args:
        snapshot: The content of the text.
        options: The `templates`, and the `max_len`, which the text never exceeds.
        modified: The time each file was changed, by item key; for `ITEM_TIME_AGO`.
        now: The current time, in the same seconds.
    """
    chunks: list[str] = []
    included: list[tuple[int, str]] = []
    truncated, skipped = (
        dict.fromkeys(snapshot.truncated_items),
        dict.fromkeys(snapshot.skipped_items),
    )
    room = options.max_len or None
    for depth, key, text in _in_order(snapshot):
        age = time_ago(now - modified[key]) if modified and key in modified else ""
        wrap = _filled(options.templates.get(depth, Template()), key, depth, age)
        shown = _cut(text, wrap, room)
        if shown is None:
            skipped[key] = None
            continue
        if len(shown) < len(text):
            truncated[key] = None
        chunks.append(f"{wrap.before}{shown}{wrap.after}")
        room = None if room is None else room - len(chunks[-1])
        included.append((depth, key))
    context = _wrapped("".join(chunks), options, [key for _, key in included])
    stats = Stats(
        final_length=len(context),
        depth_count=len({depth for depth, _ in included}),
        truncated_items=[key for key in truncated if key not in skipped],
        skipped_items=list(skipped),
    )
    return Compiled(context, stats)


def time_ago(seconds: float) -> str:
    """A time span in words, such as "3 days ago"; "just now" below a second."""
    for unit, length in _UNITS:
        count = int(seconds // length)
        if count >= 1:
            return f"{counted(count, unit)} ago"
    return "just now"


def file_tree(paths: Iterable[str]) -> str:
    """The paths as a tree: folders first, then files, each by name; folders end in `/`."""
    root: _Tree = {}
    for path in paths:
        folder = root
        *folders, name = path.split("/")
        for part in folders:
            folder = folder.setdefault(f"{part}/", {})
        folder.setdefault(name, {})
    lines: list[str] = []
    pending = [("", _last_first(root))]
    while pending:
        indent, entries = pending[-1]
        if not entries:
            pending.pop()
            continue
        name, below = entries.pop()
        lines.append(f"{indent}{'├── ' if entries else '└── '}{name}")
        if below:
            pending.append((indent + ("│   " if entries else "    "), _last_first(below)))
    return "\n".join(lines)


def path_of(key: str) -> str:
    """The file of an item's key: without `#Heading` or `#^block`."""
    part_of_note = _PART_OF_NOTE.match(key)
    return part_of_note[1] if part_of_note else key


def _in_order(snapshot: Snapshot) -> Iterator[tuple[int, str, str]]:
    """The texts by depth; depths may be strings, as in a snapshot that was stored as JSON."""
    for depth, texts in sorted(snapshot.items.items(), key=lambda entry: int(entry[0])):
        for key, text in texts.items():
            yield int(depth), key, text


def _filled(template: Template, key: str, depth: int, age: str) -> Template:
    path = path_of(key)
    name = path.rpartition("/")[2]
    values = {
        "ITEM_PATH": key,
        "ITEM_NAME": name,
        "ITEM_EXT": name.rpartition(".")[2] if "." in name[1:] else "",
        "ITEM_DEPTH": str(depth),
        "ITEM_TIME_AGO": age,
    }
    before, after = (
        _VARIABLE.sub(lambda found: values[found[1]], text) if "{{" in text else text
        for text in (template.before, template.after)
    )
    return Template(before, after)


def _cut(text: str, wrap: Template, room: int | None) -> str | None:
    """As much of the text as fits together with its template; `None` if nothing does."""
    if room is None:
        return text
    space = room - len(wrap.before) - len(wrap.after)
    if len(text) <= space:
        return text
    return text[:space] if space > 0 else None


def _wrapped(text: str, options: ContextOptions, keys: Iterable[str]) -> str:
    outer = options.templates.get(WHOLE)
    if outer is None:
        return text
    tree = ""
    if _FILE_TREE in outer.before or _FILE_TREE in outer.after:
        tree = file_tree(dict.fromkeys(path_of(key) for key in keys))
    before, after = (part.replace(_FILE_TREE, tree) for part in (outer.before, outer.after))
    if options.max_len and len(before) + len(text) + len(after) > options.max_len:
        return text
    return f"{before}{text}{after}"


def _last_first(folder: _Tree) -> list[tuple[str, _Tree]]:
    return sorted(folder.items(), key=lambda entry: (not entry[1], entry[0]), reverse=True)

"""A chat as rows: read from a database, and the changes from one version to the next.

A message is a row with a position; positions have gaps, so that a message can come between two
others. Rows carry the revision of the chat that wrote them, so that only newer ones are read.
"""

import json
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from smart_context.chat.documents.document import MessageEntry, Version, read_json
from smart_context.chat.listed.rows import ChatRow, row_of
from smart_context.chat.listed.search import fold
from smart_context.chat.messages import ChatId
from smart_context.storage.postgres.schema import Connection

GAP = 1 << 20
"""The usual distance between the positions of neighbouring messages."""

_AT_ONCE = 2_000
"""The most messages that one statement writes, so that none takes long."""

_PER_MESSAGE = 300
"""The least bytes of a message in memory; an estimate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredChat:
    """A version of a chat with the places of its rows."""

    number: int  # the chat's row
    revision: int  # the chat's revision
    version: Version
    positions: tuple[int, ...]  # the positions of the entries, ascending
    names: tuple[str, ...]  # the names of the other values' rows, as JSON, in order

    @property
    def size(self) -> int:
        """The memory that it takes, in bytes."""
        return _PER_MESSAGE * (len(self.positions) + 1)


_READ = """
SELECT c.number, c.revision, c.place, since.revision,
    CASE WHEN since.is_known THEN NULL ELSE ARRAY(
        SELECT position FROM message WHERE chat = c.number AND revision > since.revision
        ORDER BY position) END,
    CASE WHEN since.is_known THEN NULL ELSE ARRAY(
        SELECT line FROM message WHERE chat = c.number AND revision > since.revision
        ORDER BY position) END,
    CASE WHEN since.is_known THEN NULL ELSE ARRAY(
        SELECT name FROM chat_value WHERE chat = c.number ORDER BY ordinal) END,
    CASE WHEN since.is_known THEN NULL ELSE ARRAY(
        SELECT CASE WHEN revision > since.revision THEN value END
        FROM chat_value WHERE chat = c.number ORDER BY ordinal) END
FROM chat AS c, LATERAL (
    SELECT c.number = %(number)s AND c.revision = %(revision)s AS is_known,
        CASE WHEN c.number = %(number)s AND c.reordered <= %(revision)s
            THEN %(revision)s::bigint ELSE 0 END AS revision
) AS since
WHERE c.id = %(id)s AND c.deletion = %(deletion)s AND c.revision IS NOT NULL
"""


def read_chat(
    connection: Connection, chat: ChatId, known: StoredChat | None = None, deletion: str = ""
) -> StoredChat | None:
    """The stored version of a chat; `known` itself if it is unchanged; `None` if there is none."""
    found = connection.execute(
        _READ,
        {
            "id": chat,
            "deletion": deletion,
            "number": known.number if known else 0,
            "revision": known.revision if known else 0,
        },
        binary=True,
    ).fetchone()
    if found is None:
        return None
    number, revision, place, since, positions, lines, names, values = found
    if positions is None:
        return known
    before = known if since else None
    entries, positions = _entries(before, positions, lines)
    other = _values(before, names, values)
    return StoredChat(
        number=number,
        revision=revision,
        version=Version(entries, other, place, before.version.encoded if before else {}),
        positions=positions,
        names=tuple(names),
    )


def _entries(
    before: StoredChat | None, positions: Sequence[int], lines: Sequence[str]
) -> tuple[tuple[MessageEntry, ...], tuple[int, ...]]:
    """All entries with their positions: the earlier ones, with newer ones in place or added."""
    values = read_json(f"[{','.join(lines)}]")
    newer = [MessageEntry(value, line.encode()) for value, line in zip(values, lines, strict=True)]
    if before is None:
        return tuple(newer), tuple(positions)
    entries, places = [*before.version.entries], [*before.positions]
    for position, entry in zip(positions, newer, strict=True):
        index = bisect_left(places, position)
        if index < len(places) and places[index] == position:
            entries[index] = entry
        else:
            places.insert(index, position)
            entries.insert(index, entry)
    return tuple(entries), tuple(places)


def _values(
    before: StoredChat | None, names: Sequence[str], values: Sequence[str | None]
) -> dict[str, Any]:
    other: dict[str, Any] = {}
    for name, value in zip(names, values, strict=True):
        key = json.loads(name)
        if value is None and before is not None:
            other[key] = before.version.other[key]
        else:
            other[key] = read_json(value or "null")
    return other


class Rows(NamedTuple):
    """The changes of the rows of messages."""

    positions: tuple[int, ...]  # the positions of all entries, ascending
    removed: Sequence[int]  # the positions whose rows are deleted
    written: Sequence[tuple[int, MessageEntry]]  # the entries whose rows are new, or replaced
    moves: bool  # true if rows are deleted, or get other positions


def changed_rows(
    before: Sequence[MessageEntry], positions: Sequence[int], after: Sequence[MessageEntry]
) -> Rows:
    """The changes that turn the rows of `before` into those of `after`. Pure."""
    first = _common(before, after)
    last = _common(before[first:][::-1], after[first:][::-1])
    old = positions[first : len(before) - last]
    new = after[first : len(after) - last]
    if len(old) == len(new):
        replaced = [
            (position, entry)
            for position, was, entry in zip(old, before[first:], new, strict=False)
            if was != entry
        ]
        return Rows(tuple(positions), (), replaced, moves=False)
    low = positions[first - 1] if first else 0
    tail = positions[len(positions) - last :]
    high = tail[0] if tail else low + GAP * (len(new) + 1)
    step = (high - low) // (len(new) + 1)
    if not step:  # no room between the two: all that follows gets new positions
        new, tail, old, step = after[first:], (), positions[first:], GAP
    places = [low + step * (number + 1) for number in range(len(new))]
    kept = (*positions[:first], *places, *tail)
    return Rows(kept, old, list(zip(places, new, strict=True)), moves=bool(old))


def _common(one: Sequence[MessageEntry], other: Sequence[MessageEntry]) -> int:
    """The number of equal entries at the beginning of both."""
    count = 0
    for ours, theirs in zip(one, other, strict=False):
        if ours != theirs:
            break
        count += 1
    return count


def write_chat(
    connection: Connection,
    chat: ChatId,
    number: int,
    version: Version,
    read: StoredChat | None,
    written_ns: int | None = None,
) -> StoredChat:
    """Write the changes of a version to the chat's rows, which the caller has locked.

    Args:
        read: The version that the rows hold now; `None` for none.
        written_ns: The time in ns since 1970; by default the database's.
    """
    rows = changed_rows(
        read.version.entries if read else (), read.positions if read else (), version.entries
    )
    found = connection.execute(
        "SELECT nextval('revision'),"
        " (extract(epoch FROM clock_timestamp()) * 1000000)::bigint * 1000"
    ).fetchone()
    assert found is not None  # noqa: S101 - a SELECT without FROM has one row
    revision, now_ns = found
    if rows.removed:
        connection.execute(
            "DELETE FROM message WHERE chat = %s AND position = ANY(%s)",
            (number, list(rows.removed)),
        )
    _write_messages(connection, number, revision, rows)
    names = _write_values(connection, number, revision, version, read)
    row = row_of(chat, version, _At(now_ns if written_ns is None else written_ns))
    _write_row(connection, number, version, row, (revision, rows.moves, written_ns or now_ns))
    return StoredChat(
        number=number, revision=revision, version=version, positions=rows.positions, names=names
    )


class _At(NamedTuple):
    mtime_ns: int


def _write_messages(connection: Connection, number: int, revision: int, rows: Rows) -> None:
    indexes = {position: index for index, position in enumerate(rows.positions)}
    for start in range(0, len(rows.written), _AT_ONCE):
        some = rows.written[start : start + _AT_ONCE]
        connection.execute(
            "INSERT INTO message (chat, position, revision, line, words)"
            " SELECT %s, position, %s, line, words"
            " FROM unnest(%s::bigint[], %s::text[], %s::text[]) AS m (position, line, words)"
            " ON CONFLICT (chat, position) DO UPDATE SET revision = excluded.revision,"
            " line = excluded.line, words = excluded.words",
            (
                number,
                revision,
                [position for position, _ in some],
                [entry.line().decode() for _, entry in some],
                [_words(entry, indexes[position]) for position, entry in some],
            ),
        )


def _words(entry: MessageEntry, index: int) -> str:
    message = entry.message(index)
    return storable(fold(message.text)) if message else ""


def storable(text: str) -> str:
    """A text without characters that PostgreSQL can't store; only for comparing and showing."""
    return text.replace("\0", " ").encode("utf-8", "replace").decode()


def _write_values(
    connection: Connection,
    number: int,
    revision: int,
    version: Version,
    read: StoredChat | None,
) -> tuple[str, ...]:
    other = version.other
    names = {key: json.dumps(key) for key in other}
    ordered = tuple(names.values())
    before = read.version.other if read else {}
    changed = {
        names[key]: version.value_line(key).decode()
        for key, value in other.items()
        if key not in before or (value is not before[key] and value != before[key])
    }
    known = read.names if read else ()
    if gone := [name for name in known if name not in set(ordered)]:
        connection.execute(
            "DELETE FROM chat_value WHERE chat = %s AND name = ANY(%s)", (number, gone)
        )
    if changed:
        connection.execute(
            "INSERT INTO chat_value (chat, name, ordinal, revision, value)"
            " SELECT %s, name, 0, %s, value FROM unnest(%s::text[], %s::text[]) AS v (name, value)"
            " ON CONFLICT (chat, name) DO UPDATE SET revision = excluded.revision,"
            " value = excluded.value",
            (number, revision, list(changed), list(changed.values())),
        )
    if ordered != known:
        connection.execute(
            "UPDATE chat_value AS v SET ordinal = o.ordinal"
            " FROM unnest(%s::text[]) WITH ORDINALITY AS o (name, ordinal)"
            " WHERE v.chat = %s AND v.name = o.name",
            (list(ordered), number),
        )
    return ordered


def _write_row(
    connection: Connection,
    number: int,
    version: Version,
    row: ChatRow,
    written: tuple[int, bool, int],
) -> None:
    revision, moves, written_ns = written
    has_title = "title" in version.other
    connection.execute(
        "UPDATE chat SET revision = %(revision)s, place = %(place)s, written_ns = %(written_ns)s,"
        " reordered = CASE WHEN %(moves)s THEN %(revision)s ELSE reordered END,"
        " title = %(title)s, message_count = %(count)s, updated_at = %(updated_at)s,"
        " preview = %(preview)s, client = %(client)s, topics = %(topics)s,"
        " title_words = %(title_words)s, person = %(person)s, shared = %(shared)s,"
        " folder = %(folder)s, pinned = %(pinned)s, archived = %(archived)s"
        " WHERE number = %(number)s",
        {
            "number": number,
            "revision": revision,
            "moves": moves,
            "place": version.place,
            "written_ns": written_ns,
            "title": storable(row.title),
            "count": row.message_count,
            "updated_at": row.updated_at,
            "preview": storable(row.preview),
            "client": storable(row.client),
            "topics": json.dumps(row.topics),
            "person": storable(row.person),
            "shared": row.shared,
            "folder": storable(row.folder),
            "pinned": row.pinned,
            "archived": row.archived,
            "title_words": storable(fold(row.title)) if has_title else "",
        },
    )

"""The tail of a chat's document, which is all that most changes of a long chat need. Pure."""

from collections.abc import Callable

from smart_context.chat.documents.document import Version

Since = Callable[[Version], int]
"""Gives the position of the first message that a change needs."""


def whole(_version: Version) -> int:
    """All messages."""
    return 0


def no_messages(version: Version) -> int:
    """None: only other values of the document change."""
    return len(version.entries)


def since_message(message_id: str, *, and_before: int = 0) -> Since:
    """The messages from this one on, and the `and_before` ones before it; all if it is missing."""

    def first(version: Version) -> int:
        for position in range(len(version.entries) - 1, -1, -1):
            value = version.entries[position].value
            if type(value) is not dict:
                return 0
            if value.get("id") == message_id:
                return max(position - and_before, 0)
        return 0

    return first


def since_unfinished(version: Version) -> int:
    """The messages from the first unfinished answer on; none if all are finished."""
    values = (entry.value for entry in version.entries)
    unfinished = (n for n, v in enumerate(values) if type(v) is not dict or "generating" in v)
    return next(unfinished, len(version.entries))


def part_since(version: Version, first: int) -> Version:
    """The document without the messages before position `first`."""
    return Version(version.entries[first:], version.other, version.place, version.encoded)


def followed_by(version: Version, first: int, rest: Version) -> Version:
    """The messages before `first`, then those of `rest`, with the other keys of `rest`."""
    entries = (*version.entries[:first], *rest.entries)
    joined = Version(entries, rest.other, rest.place, rest.encoded)
    if first and len(version.messages) == len(version.entries):
        added = [entry.message(position) for position, entry in enumerate(rest.entries, first)]
        if None not in added:  # the messages before are not parsed again
            joined.__dict__["messages"] = (*version.messages[:first], *added)
    return joined

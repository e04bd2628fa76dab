"""The end of a chat's document: what a change of a long chat needs of it. Pure."""

from collections.abc import Callable

from smart_context.chat.documents.document import Version

Since = Callable[[Version], int]
"""Gives the first message that a change needs, by its place."""


def whole(_version: Version) -> int:
    """All messages."""
    return 0


def since_message(message_id: str, *, and_before: int = 0) -> Since:
    """The messages from one on, and some before it; all if it is not there."""

    def place(version: Version) -> int:
        for at in range(len(version.entries) - 1, -1, -1):
            value = version.entries[at].value
            if type(value) is not dict:
                return 0
            if value.get("id") == message_id:
                return max(at - and_before, 0)
        return 0

    return place


def since_unfinished(version: Version) -> int:
    """The messages from the first answer on that is not finished; none if all are."""
    values = (entry.value for entry in version.entries)
    places = (at for at, v in enumerate(values) if type(v) is not dict or "generating" in v)
    return next(places, len(version.entries))


def part_since(version: Version, first: int) -> Version:
    """The document with its messages from the `first` on."""
    return Version(version.entries[first:], version.other, version.place)


def followed_by(version: Version, first: int, rest: Version) -> Version:
    """The document with another end: all messages from the `first` on, and the other keys."""
    joined = Version((*version.entries[:first], *rest.entries), rest.other, rest.place)
    if first and len(version.messages) == len(version.entries):
        added = [entry.message(at) for at, entry in enumerate(rest.entries, first)]
        if None not in added:  # the messages before are not looked at again
            joined.__dict__["messages"] = (*version.messages[:first], *added)
    return joined

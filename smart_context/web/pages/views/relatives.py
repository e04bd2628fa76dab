"""The chats that a chat comes from, and those that left it, as its page names them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from smart_context.chat.copies import CONTINUED_FROM, FORKED_FROM, SPLIT_FROM, SPLITS


@dataclass(frozen=True, slots=True, kw_only=True)
class Relative:
    """Another chat with messages of this one."""

    chat_id: str  # its id
    title: str  # its title; empty if it is gone, or another's
    words: str  # what it has to do with this chat
    topics: str = ""  # the topics that were split off, in words; may be empty
    at: str = ""  # the place in it, as the end of its address; may be empty

    @property
    def is_there(self) -> bool:
        """True if the reader may open it."""
        return bool(self.title)


def relatives_of(document: Mapping[str, Any], titles: Mapping[str, str]) -> list[Relative]:
    """The relatives of a chat: where it comes from first, then what left it, newest first.

    Args:
        titles: The titles of the chats that the reader may open.
    """
    return list(_found(document, titles))


def _found(document: Mapping[str, Any], titles: Mapping[str, str]) -> Iterator[Relative]:
    copied_from = {"chat_id": document.get(CONTINUED_FROM)}
    origins = ("Split from", document.get(SPLIT_FROM)), ("Goes on from", document.get(FORKED_FROM))
    splits = document.get(SPLITS)
    left = reversed(splits) if isinstance(splits, list) else ()
    named = (*origins, ("Copied from", copied_from), *(("Split off:", split) for split in left))
    for words, link in named:
        if not isinstance(link, Mapping) or not isinstance(chat_id := link.get("chat_id"), str):
            continue
        topics, message = link.get("topics"), link.get("message_id")
        place = quote(message, safe="") if isinstance(message, str) else ""
        yield Relative(
            chat_id=chat_id,
            title=(titles[chat_id] or "Untitled chat") if chat_id in titles else "",
            words=words,
            topics=", ".join(map(str, topics)) if isinstance(topics, list) else "",
            at=f"?at={place}#m-{place}" if place else "",
        )

"""Finds words in messages, ignoring case, width and composition. Pure."""

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from smart_context.base.text.unicode_tables import normal_pieces
from smart_context.chat.documents.document import Version
from smart_context.chat.listed.rows import title_of, unmarked
from smart_context.chat.messages import ChatId, MessageId

MOST_HITS = 50
"""The limit of a search."""

HITS_PER_CHAT = 20
"""The limit per chat, so that one long chat does not hide the others."""

_AROUND = 60
_ESCAPED_IN_JSON = frozenset('"\\/')


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatHit:
    """A message or title that contains all words of a query."""

    chat_id: ChatId
    title: str
    message_id: MessageId  # the message; empty for a hit in the title
    snippet: str  # the text around the first of the words, on one line


def query_words(query: str) -> tuple[str, ...]:
    """The words of a query, folded, without duplicates."""
    return tuple(dict.fromkeys(fold(query).split()))


def fold(text: str) -> str:
    """The text in the form for comparisons: case-folded and in NFKC."""
    if text.isascii():
        return text.lower()
    folded = (piece.casefold() for piece in normal_pieces("NFKC", text))
    return "".join(unicodedata.normalize("NFKC", piece) for piece in folded)


def may_contain(content: bytes, words: Sequence[str]) -> bool:
    """False if a word is certainly not in a chat's file, so it need not be parsed."""
    if b"\\u" in content or any(_ESCAPED_IN_JSON & set(word) for word in words):
        return True
    folded = fold(content.decode("utf-8", "replace"))
    return all(word in folded for word in words)


def hits_in(chat_id: ChatId, version: Version, words: Sequence[str]) -> Iterator[ChatHit]:
    """The hits in a chat: its given title, then its messages, newest first."""
    title = title_of(version)
    if "title" in version.other and _has_all(title, words):
        yield ChatHit(
            chat_id=chat_id, title=title, message_id=MessageId(""), snippet=snippet(title, words)
        )
    for position in range(len(version.entries) - 1, -1, -1):
        message = version.entries[position].message(position)
        if message is not None and _has_all(message.text, words):
            yield ChatHit(
                chat_id=chat_id,
                title=title,
                message_id=message.id,
                snippet=snippet(message.text, words),
            )


def snippet(text: str, words: Sequence[str]) -> str:
    """About 120 characters of text around the first occurrence of a word."""
    start = _first_place(text, words)
    begin, end = max(0, start - _AROUND), min(len(text), start + 2 * _AROUND)
    begin = text.rfind(" ", begin, start) + 1 or begin if begin else 0
    shown = " ".join(unmarked(text[begin:end]).split())
    return f"{'…' if begin else ''}{shown}{'…' if end < len(text) else ''}"


def marked(text: str, words: Sequence[str]) -> list[tuple[str, bool]]:
    """The text in pieces, each with True if it is one of the folded words."""
    pieces: list[tuple[str, bool]] = []
    begin = end = 0
    for place, _ in _clusters(text):
        if place < end:
            continue
        length = max((_length_of(word, text, place) for word in words), default=0)
        if length:
            pieces += [(text[begin:place], False), (text[place : place + length], True)]
            begin = end = place + length
    pieces.append((text[begin:], False))
    return [piece for piece in pieces if piece[0]]


def _length_of(word: str, text: str, place: int) -> int:
    """The length of a folded word in the text at a place; 0 if the word is not there."""
    if text.isascii():
        return len(word) if text[place : place + len(word)].lower() == word else 0
    near = text[place : place + 2 * len(word) + 2]
    if not fold(near).startswith(word):
        return 0
    ends = (start + len(cluster) for start, cluster in _clusters(near))
    return next((end for end in ends if len(fold(near[:end])) >= len(word)), len(near))


def _has_all(text: str, words: Sequence[str]) -> bool:
    folded = fold(text)
    return all(word in folded for word in words)


def _first_place(text: str, words: Sequence[str]) -> int:
    folded = fold(text)
    found = min((place for word in words if (place := folded.find(word)) >= 0), default=0)
    if text.isascii():
        return found
    # Folding changes lengths ("ß", ligatures, composed accents), so the position in the folded
    # text is mapped back through the characters that it came from.
    length = 0
    for place, cluster in _clusters(text):
        length += len(fold(cluster))
        if length > found:
            return place
    return 0


def _clusters(text: str) -> Iterator[tuple[int, str]]:
    start = 0
    for place in range(1, len(text) + 1):
        if place == len(text) or not _joins_previous(text[place]):
            yield start, text[start:place]
            start = place


def _joins_previous(character: str) -> bool:
    """True for a character that composes with the previous one: an accent, a Hangul letter."""
    return bool(unicodedata.combining(character)) or "\u1160" <= character <= "\u11ff"

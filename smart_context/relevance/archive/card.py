"""One chat in the form that is searched: small enough for thousands of chats in memory.

Vectors are kept as bytes, words as numbers. Both are made once for each state of a chat, and can be
kept on disk.
"""

import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from smart_context.base.text.words import content_words
from smart_context.chat.messages import Message, MessageId
from smart_context.llm.models import Matrix
from smart_context.relevance.evidence.background import author_of
from smart_context.relevance.evidence.dates import days_of
from smart_context.relevance.vectors.warm import key_of

VERSION = 1
_LONGEST_TEXT = 20_000
"""The characters of a message whose words are read."""

_MOST = 127
_TYPES: Mapping[str, str] = {
    "vectors": "i1",
    "scales": "<f4",
    "words": "<u4",
    "places": "<u4",
    "lengths": "<f4",
    "days": "<f4",
}

Bytes = NDArray[np.int8]
Floats = NDArray[np.float32]
Numbers = NDArray[np.uint32]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ChatCard:
    """The n messages of a chat that can be found."""

    # the keys of the messages' vectors, oldest first: ids, each with a hash of the text
    keys: tuple[str, ...]
    authors: tuple[str, ...]  # their named authors, case-folded; empty where there is none
    vectors: Bytes  # shape (n, d), from -127 to 127; d is 0 if no message has a vector
    scales: Floats  # shape (n,), the factor of each row; 0 for a message without a vector
    words: Numbers  # shape (p,), the distinct words of the messages, as numbers
    places: Numbers  # shape (p,), the message that each is in
    lengths: Floats  # shape (n,), in characters
    days: Floats  # shape (n,), the days on which they were written; NaN if unknown
    is_private: bool  # True if no other chat may recall them

    @property
    def lacking(self) -> int:
        """The number of messages without a vector."""
        return int((self.scales == 0).sum())

    def message_id(self, row: int) -> MessageId:
        """The id of a message."""
        return MessageId(self.keys[row].rpartition(":")[0])

    def words_by_key(self) -> dict[str, Numbers]:
        """The words of each message, by its key."""
        ends = np.searchsorted(self.places, np.arange(1, len(self.keys)))
        return dict(zip(self.keys, np.split(self.words, ends), strict=False))

    def with_vectors(self, keys: Sequence[str], vectors: Matrix) -> "ChatCard":
        """The same messages with other vectors.

        Args:
            vectors: Shape (len(keys), d).
        """
        small, scales = _small(_rows(self.keys, keys, vectors))
        return replace(self, vectors=small, scales=scales)

    def packed(self) -> bytes:
        """The card as bytes: a line of JSON, then the arrays."""
        arrays = [np.ascontiguousarray(getattr(self, name), kind) for name, kind in _TYPES.items()]
        head = {
            "version": VERSION,
            "keys": self.keys,
            "authors": self.authors,
            "private": self.is_private,
            "shapes": [array.shape for array in arrays],
        }
        line = json.dumps(head, separators=(",", ":")).encode()
        return b"".join((line, b"\n", *(array.tobytes() for array in arrays)))

    @classmethod
    def unpacked(cls, content: bytes) -> "ChatCard":
        """The card from its bytes.

        Raises:
            ValueError: If they are damaged, or of another version.
        """
        line, _, rest = content.partition(b"\n")
        try:
            head = json.loads(line)
            if head["version"] != VERSION:
                raise ValueError("another version")
            arrays: dict[str, NDArray[np.generic]] = {}
            begin = 0
            for (name, kind), shape in zip(_TYPES.items(), head["shapes"], strict=True):
                count = int(np.prod(shape))
                arrays[name] = np.frombuffer(rest, kind, count, begin).reshape(shape)
                begin += arrays[name].nbytes
            return cls(
                keys=tuple(head["keys"]),
                authors=tuple(head["authors"]),
                is_private=head["private"] is True,
                **arrays,  # type: ignore[arg-type] # each has the type of its field
            )
        except (KeyError, TypeError) as error:
            raise ValueError(f"damaged: {error!r}") from error


def card_of(
    messages: Sequence[Message], *, is_private: bool, before: ChatCard | None = None
) -> ChatCard:
    """The card of a chat, without vectors.

    Args:
        messages: All its messages, oldest first.
        is_private: No other chat may recall them.
        before: An earlier card of the chat; the words of messages that it has are not read again.
    """
    said = [message for message in messages if _can_be_found(message)]
    texts = [message.text for message in said]
    keys = [key_of(message.id, text) for message, text in zip(said, texts, strict=True)]
    known = before.words_by_key() if before else {}
    pairs = zip(keys, texts, strict=True)
    found = [known[key] if key in known else _numbers(text) for key, text in pairs]
    places = np.repeat(np.arange(len(said), dtype=np.uint32), [len(each) for each in found])
    return ChatCard(
        keys=tuple(keys),
        authors=tuple(map(author_of, said)),
        vectors=np.zeros((len(said), 0), dtype=np.int8),
        scales=np.zeros(len(said), dtype=np.float32),
        words=np.concatenate(found) if found else np.zeros(0, dtype=np.uint32),
        places=places,
        lengths=np.array(list(map(len, texts)), dtype=np.float32),
        days=days_of([message.created_at for message in said]),
        is_private=is_private,
    )


def word_number(word: str) -> int:
    """The number for a word; two words have the same one in one of billions of cases."""
    return zlib.crc32(word.encode("utf-8", "surrogatepass"))


def _can_be_found(message: Message) -> bool:
    is_said = message.is_complete and message.role in {"user", "assistant"}
    is_own = not (message.is_summary or message.is_extracted)
    return is_said and is_own and bool(message.text.strip())


def _numbers(text: str) -> Numbers:
    words = dict.fromkeys(content_words(text[:_LONGEST_TEXT]))
    return np.fromiter(map(word_number, words), np.uint32, len(words))


def _rows(wanted: Sequence[str], keys: Sequence[str], vectors: Matrix) -> Matrix:
    known = {key: row for row, key in enumerate(keys)}
    places = np.array([known.get(key, -1) for key in wanted], dtype=np.intp)
    rows = np.zeros((len(wanted), vectors.shape[1]), dtype=np.float32)
    rows[places >= 0] = vectors[places[places >= 0]]
    return rows


def _small(rows: Matrix) -> tuple[Bytes, Floats]:
    """Unit rows in 8 bits, and the factor of each; cosines change by less than .01."""
    if not rows.size:
        return np.zeros(rows.shape, dtype=np.int8), np.zeros(len(rows), dtype=np.float32)
    lengths = np.linalg.norm(rows, axis=1)
    largest = np.abs(rows).max(axis=1)
    factors = np.divide(_MOST, largest, out=np.zeros_like(largest), where=largest > 0)
    small = np.rint(rows * factors[:, None]).astype(np.int8)
    scales = np.divide(1, factors * lengths, out=np.zeros_like(largest), where=largest > 0)
    return small, scales.astype(np.float32)

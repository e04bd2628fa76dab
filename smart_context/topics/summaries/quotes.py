"""Summarises a chat with its own sentences, without a language model."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import islice

from smart_context.base.text.words import UNSPACED_RUN, content_words
from smart_context.chat.messages import Message
from smart_context.topics.standing.standing import is_standing
from smart_context.topics.values import MOST_READ

MOST_SENTENCES = 14
_LOOKED_AT = 4_000
_SHORTEST, _LONGEST = 12, 320
_SHORTEST_UNSPACED = 5
_MOST_EACH = 12
_LATEST = 4
_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])(?![。！？])|\n+")  # noqa: RUF001 - East Asian marks
"""Between sentences; the point in `3.11` or `asyncio.timeout` does not end one."""
_QUOTED = re.compile(r"^ {0,3}>.*$", re.MULTILINE)
_SPEAKERS = {"user": "You", "assistant": "Assistant"}


def quoted(messages: Sequence[Message]) -> str:
    """Standing instructions, open questions and the most telling sentences, as Markdown.

    Args:
        messages: The messages to summarise, oldest first.
    """
    standing = [m.text[:MOST_READ] for m in messages if m.role == "user" and is_standing(m.text)]
    asked = [s for m in messages[-_LATEST:] for s in _sentences(m.text) if s.endswith(("?", "？"))]  # noqa: RUF001 - East Asian mark
    blocks: list[str] = []
    for title, lines in (
        ("Standing instructions", standing),
        ("Open questions", asked),
        ("What was said", _telling(messages)),
    ):
        if lines:
            listed = [f"- {_short(line)}" for line in dict.fromkeys(lines)][:MOST_SENTENCES]
            blocks.append("\n".join([f"### {title}", "", *listed]))
    return "\n\n".join(blocks)


def _telling(messages: Sequence[Message]) -> list[str]:
    """The sentences that share many words with the chat and few with each other."""
    said = [(m, s) for m in messages for s in islice(_sentences(m.text), _MOST_EACH)]
    step = max(1, math.ceil(len(said) / _LOOKED_AT))
    said = said[::step]
    words = [frozenset(content_words(sentence)) for _, sentence in said]
    counts = Counter(word for found in words for word in found)
    chosen: list[int] = []
    covered: set[str] = set()
    left = set(range(len(said)))
    while left and len(chosen) < MOST_SENTENCES:
        best = max(left, key=lambda n: (_weight(words[n] - covered, words[n], counts), -n))
        left.discard(best)
        chosen.append(best)
        covered |= words[best]
    return [
        f"{_SPEAKERS.get(message.role, message.role)}: {sentence}"
        for message, sentence in (said[n] for n in sorted(chosen))
    ]


def _weight(fresh: Iterable[str], words: frozenset[str], counts: Counter[str]) -> float:
    return sum(math.log1p(counts[word]) for word in fresh) / math.sqrt(len(words) + 4)


def _sentences(text: str) -> Iterable[str]:
    """The sentences of medium length, without those that the message quotes."""
    read = _QUOTED.sub("", text[:MOST_READ])
    found = (" ".join(piece.split()) for piece in _END.split(read))
    return (sentence for sentence in found if _shortest(sentence) <= len(sentence) <= _LONGEST)


def _shortest(sentence: str) -> int:
    return _SHORTEST_UNSPACED if UNSPACED_RUN.search(sentence) else _SHORTEST


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"

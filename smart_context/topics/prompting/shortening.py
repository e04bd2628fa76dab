"""Shortens a long chat for a model without leaving out a stretch of it."""

from collections.abc import Callable, Sequence

import numpy as np

from smart_context.chat.messages import Message

LINE_TOKENS = 14
"""The tokens of a message's line without its text and its id."""

_CHARACTERS_PER_TOKEN = 3
_SHORTEST, _SAMPLED = 40, 120
_LOOKED_AT = 500
"""The approximate number of messages that the average length is taken from."""

_FEWEST = 2
"""Fewer messages can't be spread evenly."""

_ELLIPSIS = " … "


def sampled(messages: Sequence[Message], text_of: Callable[[Message], str], room: int) -> list[int]:
    """Positions of the messages to show: all if they fit when shortened, else evenly spread."""
    everything = range(len(messages))
    if len(messages) < _FEWEST:
        return list(everything)
    if overhead(messages, everything) <= room and (
        _total(messages, text_of, everything, _SHORTEST) <= room
    ):
        return list(everything)
    looked_at = everything[:: max(1, len(messages) // _LOOKED_AT)]
    per_message = _total(messages, text_of, looked_at, _SAMPLED) / len(looked_at)
    count = min(len(messages), max(_FEWEST, int(room / per_message)))
    step = (len(messages) - 1) / (count - 1)
    return [round(place * step) for place in range(count)]


def _total(
    messages: Sequence[Message],
    text_of: Callable[[Message], str],
    shown: Sequence[int],
    limit: int,
) -> int:
    texts = _Texts([text_of(messages[place]) for place in shown])
    return overhead(messages, shown) + texts.tokens(limit)


def overhead(messages: Sequence[Message], shown: Sequence[int]) -> int:
    """The tokens around the texts of the messages at these positions, one on each line."""
    return sum(LINE_TOKENS + len(messages[place].id) // 2 for place in shown)


def most_characters(texts: Sequence[str], room: int) -> int:
    """The maximum length of a text so that all texts fit into `room` tokens."""
    longest = max(map(len, texts), default=_SHORTEST)
    low, high = _SHORTEST, min(longest, _CHARACTERS_PER_TOKEN * room)  # more than that never fits
    every = _Texts(texts)
    while low < high:
        middle = (low + high + 1) // 2
        if every.tokens(middle) <= room:
            low = middle
        else:
            high = middle - 1
    return max(low, _SHORTEST)


class _Texts:
    """Texts to be cut; only the lengths matter of those in ASCII, which most are."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._lengths = np.array([len(text) for text in texts if text.isascii()], dtype=np.int64)
        self._others = [text for text in texts if not text.isascii()]

    def tokens(self, limit: int) -> int:
        """Their tokens when they are cut to a limit."""
        is_cut = self._lengths > limit
        kept = int((self._lengths[~is_cut] // _CHARACTERS_PER_TOKEN + 1).sum())
        shortened = int(is_cut.sum()) * tokens(cut("x" * (limit + 1), limit))
        return kept + shortened + sum(tokens(cut(text, limit)) for text in self._others)


def cut(text: str, limit: int) -> str:
    """The text, or its beginning and end if it has more characters."""
    if len(text) <= limit:
        return text
    tail = limit // 3
    return text[: limit - tail - len(_ELLIPSIS)] + _ELLIPSIS + text[len(text) - tail :]


def tokens(text: str) -> int:
    """A cautious estimate: English has 4 characters per token, Chinese 1 or 2."""
    others = 0 if text.isascii() else sum(character > "\x7f" for character in text)
    return (len(text) - others) // _CHARACTERS_PER_TOKEN + others + 1

"""Makes a long chat short enough to be shown to a model, without leaving a stretch of it out."""

from collections.abc import Sequence

from smart_context.chat.messages import Message

LINE_TOKENS = 14
"""Tokens around the text of a message, on a line of its own."""

_SHORTEST, _SAMPLED = 40, 120
_ELLIPSIS = " … "


def sampled(messages: Sequence[Message], texts: Sequence[str], room: int) -> list[int]:
    """Positions of the messages to show: all if they fit when shortened, else evenly spread."""
    everything = list(range(len(messages)))
    if _total(messages, texts, everything, _SHORTEST) <= room:
        return everything
    per_message = _total(messages, texts, everything, _SAMPLED) / len(messages)
    count = min(len(messages), max(2, int(room / per_message)))
    step = (len(messages) - 1) / (count - 1)
    return [round(place * step) for place in range(count)]


def _total(
    messages: Sequence[Message], texts: Sequence[str], shown: Sequence[int], limit: int
) -> int:
    return overhead(messages, shown) + sum(tokens(cut(texts[place], limit)) for place in shown)


def overhead(messages: Sequence[Message], shown: Sequence[int]) -> int:
    """The tokens around the texts of the messages at these positions, one on each line."""
    return sum(LINE_TOKENS + len(messages[place].id) // 2 for place in shown)


def most_characters(texts: Sequence[str], room: int) -> int:
    """The most characters that each text may have so that all fit into `room` tokens."""
    low, high = _SHORTEST, max(map(len, texts), default=_SHORTEST)
    while low < high:
        middle = (low + high + 1) // 2
        if sum(tokens(cut(text, middle)) for text in texts) <= room:
            low = middle
        else:
            high = middle - 1
    return max(low, _SHORTEST)


def cut(text: str, limit: int) -> str:
    """The text, or its beginning and end when it has more characters."""
    if len(text) <= limit:
        return text
    tail = limit // 3
    return text[: limit - tail - len(_ELLIPSIS)] + _ELLIPSIS + text[len(text) - tail :]


def tokens(text: str) -> int:
    """An estimate on the safe side: English has 4 characters a token, Chinese 1 or 2."""
    others = 0 if text.isascii() else sum(character > "\x7f" for character in text)
    return (len(text) - others) // 3 + others + 1

"""The common estimate of a request's tokens: its texts, and a few around them."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from smart_context.base.values import CountTokens
from smart_context.chat.compaction import sent_text
from smart_context.chat.messages import Message
from smart_context.llm.models import PromptMessage

PER_MESSAGE = 5
"""Tokens around each message: 4 in the format of OpenAI's models, 5 in most others."""

PER_CALL = 24
"""Tokens around a tool call and its result, rounded up."""

PER_IMAGE = 1_500
"""Tokens of an image, a flat rate: the real number depends on its size and the model."""


_IMAGES = ("image_url", "input_image")
"""The types of images in chat completions and in responses."""

_PLAIN = {"role", "content"}
"""The keys of most messages, which have one text at most."""

_SHOWN_CHARACTERS = 200_000
"""The characters of a request that a page shows; its script has the same number."""

_PARAGRAPH_END = re.compile(r"(?<!\n)\n\n++(?=\S)")


def system_tokens(text: str, count: CountTokens) -> int:
    """The tokens of a system prompt or a part of it, so that those of its parts sum up to all.

    It is counted by paragraphs, each with the blank line after it, since tokenizers begin a token
    after a blank line. Counts of other pieces of a text don't sum up to that of the whole.
    """
    whole = f"{text.rstrip()}\n\n"
    if whole.isspace():
        return 0
    ends = [0, *(match.end() for match in _PARAGRAPH_END.finditer(whole)), len(whole)]
    return sum(count(whole[a:b]) for a, b in pairwise(ends))


def prompt_tokens(prompt: Sequence[PromptMessage], count: CountTokens) -> int:
    """The tokens of a request's messages."""
    return sum([_tokens_of(message, count) for message in prompt])


def _tokens_of(message: PromptMessage, count: CountTokens) -> int:
    content: Any = message.get("content")
    if type(content) is str and message.keys() == _PLAIN:
        return PER_MESSAGE + count(content)
    parts = content if isinstance(content, list) else ()
    images: int = PER_IMAGE * sum(_is_image(part) for part in parts)
    calls: int = PER_CALL * len(message.get("tool_calls") or ())
    return PER_MESSAGE + calls + images + sum(map(count, texts_of(message)))


def _is_image(part: object) -> bool:
    return isinstance(part, Mapping) and part.get("type") in _IMAGES


def message_tokens(message: Message, count: CountTokens) -> int:
    """The tokens of a stored message, never fewer than the model receives."""
    return count(sent_text(message)) + tokens_around(message)


def tokens_around(message: Message) -> int:
    """The tokens around a stored message and its tool calls, never fewer than will be sent."""
    parts = 0 if isinstance(message.content, str) else len(message.content)
    return PER_MESSAGE + parts * (PER_CALL + PER_MESSAGE)


def tokens_by_message(messages: Sequence[PromptMessage], count_tokens: CountTokens) -> list[int]:
    """The tokens of each of the first messages of a request, as many as a page shows.

    People read them next to the texts, so the tokens of the request's form are not included.
    """
    found: list[int] = []
    room = _SHOWN_CHARACTERS
    for message in messages:
        if room <= 0:
            break
        found.append(tokens_of_texts(message, count_tokens))
        room -= sum(map(len, texts_of(message)))
    return found


def tokens_of_texts(message: PromptMessage, count_tokens: CountTokens) -> int:
    """The tokens of the texts of one message of a request."""
    return texts_tokens(str(message.get("role")), texts_of(message), count_tokens)


def texts_tokens(role: str, texts: Iterable[str], count: CountTokens) -> int:
    """The tokens of the texts of a message with this role."""
    if role == "system":
        return sum(system_tokens(text, count) for text in texts)
    return sum(count(text) for text in texts if text)


def texts_of(message: PromptMessage) -> Iterator[str]:
    """The texts of one message of a request."""
    content: Any = message.get("content")
    if isinstance(content, str):
        yield content
    elif isinstance(content, list):
        yield from _strings(content, "text")
    calls: Any = message.get("tool_calls")
    for call in calls if isinstance(calls, list) else ():
        made = call.get("function") if isinstance(call, Mapping) else None
        yield from _strings([made], "name", "arguments")
    yield from _strings([message], "arguments", "output")  # items of the Responses API


def _strings(holders: Iterable[Any], *names: str) -> Iterator[str]:
    """The values of these keys that are texts, since other programs may send any value."""
    for holder in holders:
        if isinstance(holder, Mapping):
            yield from (holder[name] for name in names if isinstance(holder.get(name), str))

"""Lets a server read a request bit by bit, so that it can be stopped in between.

llama.cpp looks whether its client has left after each 2,048 tokens, which a slow machine reads in a
minute. A person's question would wait for so long though the background's request was closed. It
keeps what it has read, so each part costs little more than its own tokens.
"""

from collections.abc import Awaitable, Callable, Sequence

from smart_context.llm.models import PromptMessage, Usage, text_of

PART_S = 1.0
"""A part is as long as the server reads in so many seconds."""

_FIRST_PART, _LEAST_PART = 200, 100  # characters
_LEAST_READ = 16
"""Fewer tokens do not tell how fast a server reads."""

_MOST_GROWTH = 4.0
_KEPT = 0.5


async def read_in_parts(
    messages: Sequence[PromptMessage],
    read: Callable[[Sequence[PromptMessage]], Awaitable[Usage | None]],
    clock: Callable[[], float],
) -> None:
    """Have all but the end of a request read.

    Ends early at a server that does not keep what it has read.

    Args:
        read: Lets the server read the beginning of the request, and gives the tokens it counted.
        clock: The time in seconds.
    """
    whole = sum(len(text_of(message)) for message in messages)
    length, part, before = _FIRST_PART, float(_FIRST_PART), 0
    while length < whole:
        begun = clock()
        used = await read(beginning_of(messages, length))
        seconds = clock() - begun
        if used is None or used.cached_tokens is None or used.cached_tokens < _KEPT * before:
            return
        if used.prompt_tokens - used.cached_tokens >= _LEAST_READ:
            part *= min(PART_S / max(seconds, PART_S / _MOST_GROWTH), _MOST_GROWTH)
        before = used.prompt_tokens
        length += max(round(part), _LEAST_PART)


def beginning_of(messages: Sequence[PromptMessage], characters: int) -> list[PromptMessage]:
    """The messages up to so many characters, the last of the user's: some templates demand one."""
    begun: list[PromptMessage] = []
    for message in messages:
        text = text_of(message)
        begun.append({**message, "content": text[:characters]})
        characters -= len(text)
        if characters <= 0:
            break
    is_users = begun[-1].get("role") == "user"
    return begun if is_users else [*begun, {"role": "user", "content": "-"}]

"""Lets a server read a request in parts, so that it can be stopped in between.

llama.cpp checks after every 2,048 tokens if its client has left; a slow machine takes a minute for
these. A person's question would wait for that long, although the background's request was closed.
The server keeps what it has read, so each part costs little more than its own tokens.
"""

from collections.abc import Awaitable, Callable, Sequence

from smart_context.llm.models import PromptMessage, Usage, text_of

PART_S = 1.0
"""The length of a part: the time that the server takes to read it."""

_FIRST_PART, _LEAST_PART = 200, 100  # characters
_LEAST_READ = 16
"""The fewest tokens that show the speed of a server."""

_MOST_GROWTH = 4.0
_KEPT = 0.5


async def read_in_parts(
    messages: Sequence[PromptMessage],
    read: Callable[[Sequence[PromptMessage]], Awaitable[Usage | None]],
    clock: Callable[[], float],
) -> None:
    """Let the server read all of a request except its end.

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
    """The messages up to this many characters; the last is the user's, as some templates demand."""
    begun: list[PromptMessage] = []
    for message in messages:
        text = text_of(message)
        begun.append({**message, "content": text[:characters]})
        characters -= len(text)
        if characters <= 0:
            break
    is_users = begun[-1].get("role") == "user"
    return begun if is_users else [*begun, {"role": "user", "content": "-"}]

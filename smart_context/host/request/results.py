"""Results of tools, as much of them as there is room for; the model reads that more was there."""

import json
from collections.abc import Sequence

from smart_context.chat.messages import Message, Part
from smart_context.host.request.window import Window
from smart_context.llm.tally import weight
from smart_context.values import CountTokens

RESULTS_SHARE = 0.25
"""How much of a request results of earlier turns fill at most; the newest come first."""

RESULT_LEFT_OUT = (
    "[Left out: this result no longer fits into the model's window. "
    "Ask again for the part that you need.]"
)


def with_results_within(history: Sequence[Message], window: Window) -> list[Message]:
    """A history whose results of tools keep within their share of the window."""
    room = int(window.room * RESULTS_SHARE)
    kept: list[Message] = []
    for message in reversed(history):
        if isinstance(message.content, str) and message.role != "tool":
            kept.append(message)
            continue
        parts = list(message.parts)
        is_cut = False
        for at in range(len(parts) - 1, -1, -1):
            former = parts[at]
            parts[at], tokens = _within(former, message.role, room, window.count)
            is_cut = is_cut or parts[at] is not former
            room -= tokens
        kept.append(message.with_content(parts) if is_cut else message)
    kept.reverse()
    return kept


def _within(part: Part, role: str, room: int, count: CountTokens) -> tuple[Part, int]:
    """A part whose result is at most so many tokens, and how many it is."""
    name = "result" if part.get("type") == "tool_call" else "text" if role == "tool" else ""
    result = part.get(name)
    if result is None:
        return part, 0
    text = (
        result if isinstance(result, str) else json.dumps(result, ensure_ascii=False, default=str)
    )
    if weight(text) <= max(room, len(RESULT_LEFT_OUT)):
        return part, min(weight(text), room)
    if (tokens := count(text)) <= room:
        return part, tokens
    less = shortened(text, room, count)
    return {**part, name: less}, min(count(less), room)


def shortened(text: str, most_tokens: int, count: CountTokens) -> str:
    """A result of a tool within so many tokens: its beginning, and that it was cut."""
    tokens = count(text)
    if tokens <= most_tokens:
        return text
    length = len(text)
    while tokens > most_tokens and length:
        length = length * most_tokens * 9 // (tokens * 10)
        notice = f"[Cut: {length:,} of {len(text):,} characters; ask for a smaller part.]"
        cut = f"{text[:length]}\n{notice}"
        tokens = count(cut)
        if tokens <= most_tokens:
            return cut
    return RESULT_LEFT_OUT

"""Results of tools, cut to what the window has room for; a notice tells the model."""

import json
from collections.abc import Sequence

from smart_context.base.values import CountTokens
from smart_context.chat.messages import Message, Part
from smart_context.host.request.window import RESULTS_SHARE, Window
from smart_context.llm.tally import utf8_bytes

RESULT_LEFT_OUT = (
    "[Left out: this result no longer fits into the model's window. "
    "Ask again for the part that you need.]"
)


def with_results_within(history: Sequence[Message], window: Window) -> list[Message]:
    """Cut the results of tools in a history to their share of the window."""
    room = window.share_of_room(RESULTS_SHARE)
    kept: list[Message] = []
    for message in reversed(history):
        if isinstance(message.content, str) and message.role != "tool":
            kept.append(message)
            continue
        parts = list(message.parts)
        is_cut = False
        for index in range(len(parts) - 1, -1, -1):
            whole = parts[index]
            parts[index], tokens = _within(whole, message.role, room, window.count)
            is_cut = is_cut or parts[index] is not whole
            room -= tokens
        kept.append(message.with_content(parts) if is_cut else message)
    kept.reverse()
    return kept


def _within(part: Part, role: str, room: int, count: CountTokens) -> tuple[Part, int]:
    """The part with its result cut to `room` tokens, and the tokens that it takes."""
    name = "result" if part.get("type") == "tool_call" else "text" if role == "tool" else ""
    result = part.get(name)
    if result is None:
        return part, 0
    text = (
        result if isinstance(result, str) else json.dumps(result, ensure_ascii=False, default=str)
    )
    if utf8_bytes(text) <= max(room, len(RESULT_LEFT_OUT)):
        return part, min(utf8_bytes(text), room)
    if (tokens := count(text)) <= room:
        return part, tokens
    less = cut_result(text, room, count)
    return {**part, name: less}, min(count(less), room)


def cut_result(text: str, most_tokens: int, count: CountTokens) -> str:
    """The beginning of a tool's result with a notice, in at most `most_tokens`."""
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

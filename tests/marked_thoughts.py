"""An answer with a thought, as models mark it that do not send the two apart."""

THOUGHT, SAID = "She wants a number.", "Four."

_FINAL = "<|start|>assistant<|channel|>final<|message|>"
_ANALYSIS = "<|channel|>analysis<|message|>"

MARKED_THOUGHTS = {
    "tags": f"<think>\n{THOUGHT}\n</think>\n\n{SAID}",
    "only the end": f"{THOUGHT}\n</think>\n\n{SAID}",
    "other tags": f"<thinking>{THOUGHT}</thinking>\n{SAID}",
    "thought": f"<thought>{THOUGHT}</thought>\n{SAID}",
    "reasoning": f"<reasoning>\n{THOUGHT}\n</reasoning>\n\n{SAID}",
    "seed": f"<seed:think>{THOUGHT}</seed:think>{SAID}",
    "brackets": f"[THINK]{THOUGHT}[/THINK]{SAID}",
    "triangles": f"◁think▷{THOUGHT}◁/think▷{SAID}",
    "tokens": f"<|START_THINKING|>{THOUGHT}<|END_THINKING|>{SAID}",
    "channels": f"{_ANALYSIS}{THOUGHT}<|end|>{_FINAL}{SAID}<|return|>",
    "channels by name": f"<|start|>assistant{_ANALYSIS}{THOUGHT}<|end|>{_FINAL}{SAID}<|end|>",
    "only the end of a channel": f"{THOUGHT}<|end|>{_FINAL}{SAID}<|return|>",
}
"""By what is special about it, the text of an answer that says `SAID`."""


def in_pieces(text: str) -> tuple[str, ...]:
    """The text in pieces of three letters, which cut each mark."""
    return tuple(text[n : n + 3] for n in range(0, len(text), 3))

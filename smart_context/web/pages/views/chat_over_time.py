"""A picture of a chat over time: what each turn sent, and what it left out."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from smart_context.base.values import JsonObject

LEAST_COLUMN, MOST_COLUMN = 26.0, 56.0
"""The room of a turn in pixels; a finger can hit it."""
WIDTH = 760.0
"""Columns are widest while all of them fit into this."""
GAP = 4.0
HEIGHT = 72.0
LEAST = 2.0
"""A turn that sent anything can be seen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One turn."""

    receipt: JsonObject  # its line in the list of receipts
    x: float  # where the column begins
    sent: float  # the height of what was sent
    left_out: float  # the height of what was left out, above it


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatOverTime:
    """The turns of a chat, oldest first."""

    columns: tuple[Column, ...]  # a column per turn
    tokens: int  # what all turns sent
    whole: int  # what they would have sent without a filter
    gap: ClassVar[float] = GAP
    height: ClassVar[float] = HEIGHT

    @property
    def width(self) -> float:
        """The width of the picture."""
        return self.column * len(self.columns)

    @property
    def column(self) -> float:
        """The width of a column."""
        return column_width(len(self.columns))

    @property
    def less(self) -> int:
        """The share that was left out, in percent."""
        return round(100 * (1 - self.tokens / self.whole)) if self.whole else 0


def column_width(turns: int) -> float:
    """The width of each column."""
    return max(LEAST_COLUMN, min(MOST_COLUMN, WIDTH // max(turns, 1)))


def chat_over_time(receipts: Sequence[JsonObject]) -> ChatOverTime:
    """The picture from the result of `receipts`, which begins with the newest."""
    turns = list(reversed(receipts))
    wholes = [turn["tokens"] + turn["left_out_tokens"] for turn in turns]
    scale = HEIGHT / max([1, *wholes])
    return ChatOverTime(
        columns=tuple(
            Column(
                receipt=turn,
                x=column_width(len(turns)) * place,
                sent=max(turn["tokens"] * scale, LEAST),
                left_out=turn["left_out_tokens"] * scale,
            )
            for place, turn in enumerate(turns)
        ),
        tokens=sum(turn["tokens"] for turn in turns),
        whole=sum(wholes),
    )

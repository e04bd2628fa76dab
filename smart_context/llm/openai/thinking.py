"""Separates a model's reasoning from its answer.

Most endpoints send the two in separate fields. Some pass on the model's own tags at the beginning
of the answer: `<think>`, the reasoning, `</think>`.
"""

from dataclasses import dataclass, field
from typing import Literal

_OPENS = "<think>"
_CLOSES = "</think>"
_MOST_HELD = 1_000


@dataclass(slots=True)
class Thinking:
    """Splits an answer that arrives in pieces, wherever they are cut.

    Tags anywhere else are ordinary text: somebody may write about them.
    """

    _held: str = field(default="", init=False)
    _state: Literal["begins", "thinks", "ends", "answers"] = field(default="begins", init=False)

    def split(self, text: str) -> tuple[str, str]:
        """Reasoning and text of the next piece; what may begin a tag is held back."""
        match self._state:
            case "begins":
                return self._begin(text)
            case "thinks":
                return self._think(text)
            case "ends":
                return "", self._answer(text)
            case "answers":
                return "", text

    def rest(self) -> tuple[str, str]:
        """Reasoning and text still held back at the end."""
        held, self._held = self._held, ""
        return (held, "") if self._state == "thinks" else ("", held)

    def _begin(self, text: str) -> tuple[str, str]:
        self._held += text
        begun = self._held.lstrip()
        if begun != _OPENS and _OPENS.startswith(begun) and len(self._held) <= _MOST_HELD:
            return "", ""
        held, self._held = self._held, ""
        if begun.startswith(_OPENS):
            self._state = "thinks"
            return self._think(begun.removeprefix(_OPENS))
        self._state = "answers"
        return "", held

    def _think(self, text: str) -> tuple[str, str]:
        thoughts, is_closed, said = (self._held + text).partition(_CLOSES)
        if is_closed:
            self._held, self._state = "", "ends"
            return thoughts, self._answer(said)
        whole = len(thoughts) - _length_of_beginning(_CLOSES, thoughts)
        self._held = thoughts[whole:]
        return thoughts[:whole], ""

    def _answer(self, text: str) -> str:
        """The text without the blank lines between reasoning and answer."""
        text = text.lstrip()
        if text:
            self._state = "answers"
        return text


def split_thoughts(text: str) -> tuple[str, str]:
    """Reasoning and text of a whole answer."""
    thinking = Thinking()
    thoughts, said = thinking.split(text)
    more_thoughts, more = thinking.rest()
    return thoughts + more_thoughts, said + more


def _length_of_beginning(mark: str, text: str) -> int:
    """The length of the longest suffix of the text that begins the tag."""
    return next((n for n in range(len(mark) - 1, 0, -1) if text.endswith(mark[:n])), 0)

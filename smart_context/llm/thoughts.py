"""The thoughts that a model writes into its answer, told from the rest. Pure."""

from dataclasses import dataclass, field
from typing import Literal

MARKS = (
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("[THINK]", "[/THINK]"),  # Magistral
    (":::thinking\n", "\n:::"),  # LibreChat, as it stored answers
)
"""How models and programs begin and end thoughts; none begins with another."""

_MOST_HELD = 1_000
_FENCE = "```"


@dataclass(slots=True)
class Thinking:
    """Splits an answer that arrives in pieces, wherever they are cut, into thoughts and the rest.

    Most endpoints send the two in separate fields. Some pass on the model's own marks at the
    beginning of the answer. Marks anywhere else are ordinary text: somebody may write about them.
    """

    _held: str = field(default="", init=False)
    _state: Literal["begins", "thinks", "ends", "answers"] = field(default="begins", init=False)
    _closes: str = field(default="", init=False)

    def split(self, text: str) -> tuple[str, str]:
        """Reasoning and text of the next piece; what may begin a mark is held back."""
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
        if len(self._held) <= _MOST_HELD and any(
            len(begun) < len(opens) and opens.startswith(begun) for opens, _ in MARKS
        ):
            return "", ""
        held, self._held = self._held, ""
        for opens, closes in MARKS:
            if begun.startswith(opens):
                self._state, self._closes = "thinks", closes
                return self._think(begun.removeprefix(opens))
        self._state = "answers"
        return "", held

    def _think(self, text: str) -> tuple[str, str]:
        thoughts, is_closed, said = (self._held + text).partition(self._closes)
        if is_closed:
            self._held, self._state = "", "ends"
            return thoughts, self._answer(said)
        whole = len(thoughts) - _length_of_beginning(self._closes, thoughts)
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


def stored_thoughts(text: str) -> tuple[str, str]:
    """Reasoning and text of an answer as a program stored it.

    The mark that opens the thoughts may be missing: where a template opens them in the prompt, an
    answer has only the one that closes them, on a line of its own.
    """
    thoughts, said = split_thoughts(text)
    if said != text:
        return thoughts.strip(), said
    for opens, closes in MARKS:
        before, closing, after = text.partition(closes)
        is_line = not before.strip() or before.endswith("\n")
        is_quoted = opens in before or before.count(_FENCE) % 2
        if closing and closes.startswith(("<", "[")) and is_line and not is_quoted:
            return before.strip(), after.lstrip()
    return "", text


def _length_of_beginning(mark: str, text: str) -> int:
    """The length of the longest suffix of the text that begins the mark."""
    return next((n for n in range(len(mark) - 1, 0, -1) if text.endswith(mark[:n])), 0)

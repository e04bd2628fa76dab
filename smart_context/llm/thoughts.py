"""Separates the thoughts that a model writes into its answer from the rest. Pure."""

import re
from dataclasses import dataclass, field
from functools import reduce
from typing import Literal, NamedTuple


@dataclass(frozen=True, slots=True)
class Marks:
    """The marks with which models of a kind begin and end their thoughts."""

    opens: tuple[str, ...]
    closes: tuple[str, ...]  # of those that share an end, the longest first
    # True for marks that prose does not have: they end thoughts within a line, too
    are_tokens: bool = False
    # True if they end thoughts without a beginning, which a template may put into the prompt
    close_alone: bool = True
    noise: tuple[str, ...] = ()  # other marks among the thoughts
    ends: tuple[str, ...] = ()  # marks behind the answer


def _tag(name: str) -> Marks:
    return Marks((f"<{name}>",), (f"</{name}>",))


_FINAL = "<|channel|>final<|message|>"
_CHANNELS = ("<|channel|>analysis", "<|channel|>commentary")
_OPENED = tuple(f"{channel}<|message|>" for channel in _CHANNELS)
_SPEAKER = "<|start|>assistant"
_ENDS = ("<|return|>", "<|end|>", "<|call|>")

MARKS = (
    _tag("think"),  # DeepSeek, Qwen, GLM, Nemotron
    _tag("thinking"),
    _tag("thought"),
    _tag("reasoning"),
    _tag("seed:think"),  # Seed-OSS
    Marks(("[THINK]",), ("[/THINK]",), are_tokens=True),  # Magistral
    Marks(("◁think▷",), ("◁/think▷",), are_tokens=True),  # Kimi-VL
    Marks(("<|START_THINKING|>",), ("<|END_THINKING|>",), are_tokens=True),  # Command A
    Marks(  # gpt-oss
        tuple(f"{speaker}{m}" for m in (*_OPENED, *_CHANNELS) for speaker in ("", _SPEAKER)),
        (f"<|end|>{_SPEAKER}{_FINAL}", f"{_SPEAKER}{_FINAL}", _FINAL),
        are_tokens=True,
        noise=(*_OPENED, _SPEAKER, *_ENDS),
        ends=_ENDS,
    ),
    Marks((":::thinking\n",), ("\n:::",), close_alone=False),  # LibreChat, as it stored answers
)
"""The marks of models and programs; a mark comes before shorter ones that it begins with."""

_NONE = Marks((), ())
_FENCE = "`{3,}|~{3,}"
_LONGEST_FENCE = 40
_MOST_HELD = 1_000
_OPENS = {opens: marks for marks in MARKS for opens in marks.opens}
_CLOSES = {closes: marks for marks in MARKS if marks.close_alone for closes in marks.closes}
_NOTABLE = (*_OPENS, *_CLOSES)
_ANY_NOTABLE = re.compile("|".join([_FENCE, *map(re.escape, _NOTABLE)]))
_ENDS_SENTENCE = frozenset(".!?…。！？")  # noqa: RUF001 - these end sentences in Chinese
_QUOTES = frozenset("`'\"“‘«„([{")  # noqa: RUF001 - people quote with these


class SplitPiece(NamedTuple):
    """The next piece of an answer, separated into thoughts and the rest."""

    thoughts: str = ""
    said: str = ""
    takes_back: bool = False  # all text said before this piece was thought

    def then(self, later: "SplitPiece") -> "SplitPiece":
        """This piece and the one after it as one."""
        if later.takes_back:
            return SplitPiece(
                self.thoughts + self.said + later.thoughts, later.said, takes_back=True
            )
        thoughts, said = self.thoughts + later.thoughts, self.said + later.said
        return SplitPiece(thoughts, said, self.takes_back)


def joined(pieces: list[SplitPiece]) -> SplitPiece:
    """Pieces that follow each other as one."""
    return reduce(SplitPiece.then, pieces, SplitPiece())


@dataclass(slots=True)
class ThoughtSplitter:
    """Splits an answer that arrives in pieces, wherever they are cut, into thoughts and the rest.

    Most endpoints send the two in separate fields. Some pass on the model's own marks: at the
    beginning of the answer, or only at the end of the thoughts. Marks in code are ordinary text,
    as are all marks after one that begins thoughts in mid-answer: the answer is about them.
    """

    _held: str = field(default="", init=False)
    _state: Literal["begins", "thinks", "ends", "may have thought", "answers"] = field(
        default="begins", init=False
    )
    _marks: Marks = field(default=_NONE, init=False)
    # of an answer that may later prove to be thoughts: its last character, True if it is blank so
    # far, and the fence of the block of code that it is in
    _last: str = field(default="", init=False)
    _is_blank: bool = field(default=True, init=False)
    _fence: str = field(default="", init=False)

    def split(self, text: str) -> SplitPiece:
        """The next piece, separated; a possible beginning of a mark is held back."""
        match self._state:
            case "begins":
                return self._begin(text)
            case "thinks":
                return self._think(text)
            case "ends":
                return SplitPiece(said=self._answer(text))
            case "may have thought":
                return self._look_back(text)
            case "answers":
                return SplitPiece(said=self._without_end(text))

    def rest(self) -> SplitPiece:
        """The text still held back at the end."""
        held, self._held = self._held, ""
        if self._state == "thinks":
            return SplitPiece(thoughts=held)
        return SplitPiece(said="" if held.strip() in self._marks.ends else held)

    def _begin(self, text: str) -> SplitPiece:
        self._held += text
        begun = self._held.lstrip()
        if len(self._held) <= _MOST_HELD and any(
            len(begun) < len(opens) and opens.startswith(begun) for opens in _OPENS
        ):
            return SplitPiece()
        held, self._held = self._held, ""
        for opens, marks in _OPENS.items():
            if begun.startswith(opens):
                self._state, self._marks = "thinks", marks
                return self._think(begun.removeprefix(opens))
        self._state = "may have thought"
        return self._look_back(held)

    def _think(self, text: str) -> SplitPiece:
        text, closes, noise = self._held + text, self._marks.closes, self._marks.noise
        thoughts: list[str] = []
        while found := [(n, m) for m in (*closes, *noise) if (n := text.find(m)) >= 0]:
            place, mark = min(found, key=lambda each: each[0])
            thoughts.append(text[:place])
            text = text[place + len(mark) :]
            if mark in closes:
                self._held, self._state = "", "ends"
                return SplitPiece("".join(thoughts), self._answer(text))
        whole = len(text) - _length_of_beginning((*closes, *noise), text)
        self._held = text[whole:]
        return SplitPiece(thoughts="".join([*thoughts, text[:whole]]))

    def _look_back(self, text: str) -> SplitPiece:
        """The text of the answer, up to a mark that makes all text before it thoughts."""
        text, self._held = self._held + text, ""
        seen, blank = 0, len(text) - len(text.lstrip())
        for found in _ANY_NOTABLE.finditer(text):
            mark, place, seen = found.group(), found.start(), found.end()
            if mark[0] in "`~":
                if seen == len(text) and len(mark) < _LONGEST_FENCE:
                    return SplitPiece(said=self._passed_on(text, place))  # it may go on
                self._note_fence(mark, text[max(place - 1, 0) : place] or self._last)
            elif mark in _OPENS:
                self._state = "answers"
                return SplitPiece(said=text)
            elif not self._fence:
                last, after = text[max(place - 1, 0) : place], text[seen : seen + 1]
                closes = self._ends_thoughts(_CLOSES[mark], last, after, is_blank=place <= blank)
                if closes is None:
                    return SplitPiece(said=self._passed_on(text, place))
                if closes:
                    self._state, self._marks = "ends", _CLOSES[mark]
                    return SplitPiece(text[:place], self._answer(text[seen:]), takes_back=True)
        end = text[-_LONGEST_FENCE:]
        fence = max(len(end) - len(end.rstrip(mark)) for mark in "`~")
        begun = max(_length_of_beginning(_NOTABLE, text), fence)
        hold = min(begun, len(text) - seen)
        return SplitPiece(said=self._passed_on(text, len(text) - hold))

    def _note_fence(self, mark: str, before: str) -> None:
        """Begin or end a block of code; a fence at least as long as the first one ends it."""
        if not self._fence:
            is_first = before in ("", "\n")
            self._fence = mark if mark[0] == "`" or is_first else ""
        elif mark.startswith(self._fence):
            self._fence = ""

    def _passed_on(self, text: str, end: int) -> str:
        """The text up to `end`; the rest is held back."""
        self._held, text = text[end:], text[:end]
        self._last = text[-1:] or self._last
        self._is_blank = self._is_blank and not text.strip()
        return text

    def _ends_thoughts(
        self, marks: Marks, before: str, after: str, *, is_blank: bool
    ) -> bool | None:
        """True if a mark ends thoughts without a beginning; `None` if the next text decides.

        Args:
            before: The character before the mark; empty at the beginning of a piece.
            after: The character after it; empty if that has not come yet.
            is_blank: Only white space is before it in its piece.
        """
        last = before or self._last
        if last in _QUOTES:
            return False
        is_first = is_blank and self._is_blank
        if marks.are_tokens or is_first or last == "\n" or last in _ENDS_SENTENCE:
            return True
        return None if not after else after == "\n" and not last.isspace()

    def _answer(self, text: str) -> str:
        """The text without the blank lines between reasoning and answer."""
        text = text.lstrip()
        if text:
            self._state = "answers"
        return self._without_end(text)

    def _without_end(self, text: str) -> str:
        """The text without a mark at its end, which is held back since more text may follow."""
        ends = self._marks.ends
        if not ends:
            return text
        text, self._held = self._held + text, ""
        last = text.rstrip()
        end = max((len(mark) for mark in ends if last.endswith(mark)), default=0)
        whole = len(last) - end if end else len(text) - _length_of_beginning(ends, text)
        self._held = text[whole:]
        return text[:whole]


def split_thoughts(text: str) -> tuple[str, str]:
    """Reasoning and text of a whole answer, also as another program stored it."""
    thinking = ThoughtSplitter()
    whole = thinking.split(text).then(thinking.rest())
    return whole.thoughts.strip(), whole.said


def _length_of_beginning(marks: tuple[str, ...], text: str) -> int:
    """The length of the longest suffix of the text that begins one of the marks."""
    end = text[-max(map(len, marks)) :]
    return max(
        (n for mark in marks for n in range(1, len(mark)) if end.endswith(mark[:n])), default=0
    )

"""Answers without a chat model: quotes the closest passages with their sources.

Each answer says so; it never pretends to be a language model.
"""

import asyncio
import re
from collections.abc import AsyncGenerator, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from smart_context.base.errors import ModelFailed
from smart_context.base.text.bm25 import Bm25
from smart_context.base.text.words import content_words
from smart_context.llm.models import (
    AnswerPiece,
    Completion,
    Embedder,
    JsonReply,
    Matrix,
    PromptMessage,
    text_of,
)

MOST_COMPARED = 48
"""The most passages embedded for one question: about half a second on one core."""

CLOSE_ENOUGH = 0.35
"""The least closeness of a quoted passage; unrelated ones stay below 0.2."""

_BLANK_LINES = re.compile(r"\n\s*\n")
_WORDS_WEIGHT = 0.5


def paragraphs(text: str, most_characters: int) -> Iterator[str]:
    """Cut a text into pieces of at most `most_characters`, if possible at blank lines."""
    piece = ""
    for paragraph in _BLANK_LINES.split(text.strip()):
        if piece and len(piece) + 2 + len(paragraph) > most_characters:
            yield from split_at_spaces(piece, most_characters)
            piece = ""
        piece = f"{piece}\n\n{paragraph}" if piece else paragraph
    yield from split_at_spaces(piece, most_characters)


def split_at_spaces(text: str, most_characters: int) -> Iterator[str]:
    """Cut a text into pieces of at most `most_characters`, if possible at white space."""
    while len(text) > most_characters:
        head = text[:most_characters]
        end = max(head.rfind(" "), head.rfind("\n")) + 1 or most_characters
        if piece := text[:end].strip():
            yield piece
        text = text[end:]
    if piece := text.strip():
        yield piece


def prefiltered(question: str, texts: Sequence[str]) -> list[int]:
    """The indexes of at most 48 texts, by the rare words shared with the question.

    Blank texts and repetitions are skipped.
    """
    first = {text: place for place, text in reversed(list(enumerate(texts))) if text.strip()}
    places = sorted(first.values())
    if len(places) <= MOST_COMPARED:
        return places
    scores = Bm25(content_words(texts[place]) for place in places).scores(content_words(question))
    return [places[int(rank)] for rank in np.argsort(-scores, kind="stable")[:MOST_COMPARED]]


def closeness(
    question: str, texts: Sequence[str], cosines: NDArray[np.float32] | None
) -> NDArray[np.float32]:
    """Shape (n,): the closeness of each text to the question, from about 0 to 1.5.

    Args:
        cosines: Shape (n,), of embeddings; `None` if there are none. They count less, the more
            of the question is in scripts that the built-in model hardly knows.
    """
    asked = set(content_words(question))
    shares = np.array([_coverage(asked, text) for text in texts], np.float32)
    if cosines is None:
        return shares
    return blended(shares, cosines, share_of_ascii(question))


def blended(
    shares: NDArray[np.float32], cosines: NDArray[np.float32], trust: float
) -> NDArray[np.float32]:
    """Shape (n,): the closeness of n texts, about 0 to 1.5, by words and meaning.

    Args:
        shares: Shape (n,): the share of the question's words in each text, from 0 to 1.
        cosines: Shape (n,): of embeddings; 0 where there is none.
        trust: How well the embedding model knows the question's language, from 0 to 1.
    """
    by_words: NDArray[np.float32] = shares * np.float32(1 - trust * (1 - _WORDS_WEIGHT))
    return by_words + cosines * np.float32(trust)


def cosines_to_first(rows: Matrix) -> NDArray[np.float32]:
    """Shape (n - 1,): the cosine of the first unit row with each other one."""
    cosines: NDArray[np.float32] = rows[1:] @ rows[0]
    return cosines


def _coverage(asked: set[str], text: str) -> float:
    return len(asked & set(content_words(text))) / len(asked) if asked else 0.0


def share_of_ascii(text: str) -> float:
    """The share of ASCII among a text's letters, which the built-in model knows well."""
    letters = [character for character in text if character.isalpha()]
    return sum(letter.isascii() for letter in letters) / len(letters) if letters else 0.0


NAME = "embedded/passages"

_UNCONFIGURED = "No chat model is configured"
_UNTRUSTED = "This vault names an endpoint that you have not trusted"
_OPENINGS = (_UNCONFIGURED, _UNTRUSTED)
_INTRODUCTION = f"{_UNCONFIGURED} in the `[llm]` table of `.vault.toml`."
_RESTRICTED_INTRODUCTION = (
    f"{_UNTRUSTED} for answers, so it was not asked for one. To use it, choose “Review and trust…”"
    " at the top of the page, or run `smart-context trust`."
)
_FOUND_IN_NOTES = "Closest passages from your notes:"
_FOUND = "Closest passages from your notes and this chat:"
_NOTHING = "Nothing in your notes or in this chat comes close to your message."
_WORDS_ONLY = "(The embedding model did not answer, so these were found by shared words alone.)"

_MOST_QUOTED = 5
_MOST_FROM_NOTES = 40
_MOST_FROM_CHAT = 1_000
_MESSAGE_CHARACTERS = 8_000
_QUOTE_CHARACTERS = 500
_COMPARED_CHARACTERS = 1_200
_LEADING_HEADING = re.compile(r"\A#{1,6}[ \t]++([^\n]*+)")
_BACKTICKS = re.compile("`+")
_FEW_WORDS = re.compile(r"(?<!\s)\s*+\S{1,200}+(?: \S{1,200}+){0,3}")
_SPEAKERS = {
    "user": "earlier in this chat: your message",
    "assistant": "earlier in this chat: an answer",
}


class SourcedText(Protocol):
    """A text and its source."""

    @property
    def source(self) -> str:
        """A relative path, with the heading if there is one."""

    @property
    def text(self) -> str:
        """The text itself."""


@dataclass(frozen=True, slots=True)
class ChatPassage:
    """A text and its source; satisfies `SourcedText`."""

    source: str
    text: str


class PassageSource(Protocol):
    """Finds passages in the vault's notes."""

    async def find(self, query: str, limit: int) -> Sequence[SourcedText]:
        """At most `limit` passages that may be about `query`, in any order."""


class OfflineModel:
    """The common part of models without an endpoint; with a `stream`, it satisfies `ChatModel`."""

    @property
    def name(self) -> str:
        """`embedded/passages`."""
        return NAME

    def parameters(self, tools: Sequence[dict[str, Any]] = (), *, streamed: bool) -> dict[str, Any]:
        """Nothing: no endpoint is asked, so there is no model to name."""
        del tools, streamed
        return {}

    def stream(
        self, messages: Sequence[PromptMessage], *, tools: Sequence[dict[str, Any]] = ()
    ) -> AsyncGenerator[AnswerPiece]:
        """The answer in pieces; tools are not used."""
        raise NotImplementedError

    async def complete(
        self,
        messages: Sequence[PromptMessage],
        *,
        tools: Sequence[dict[str, Any]] = (),
        json_reply: JsonReply = False,
        most_characters: int | None = None,
    ) -> Completion:
        """The answer at once; it is Markdown even when JSON is asked for."""
        del json_reply, most_characters
        pieces = [piece.text async for piece in self.stream(messages, tools=tools)]
        return Completion(text="".join(pieces))


class PassageResponder(OfflineModel):
    """Quotes the passages closest to the last message; satisfies `ChatModel`.

    Args:
        embedder: Ranks the passages. If it fails, they are ranked by shared words alone, and the
            answer says so.
        passages: The vault's notes.
        is_restricted: True if a chat model is configured, but its endpoint is not trusted.
    """

    def __init__(
        self, embedder: Embedder, passages: PassageSource, *, is_restricted: bool = False
    ) -> None:
        self._embedder = embedder
        self._passages = passages
        self._introduction = _RESTRICTED_INTRODUCTION if is_restricted else _INTRODUCTION

    @override
    async def stream(
        self, messages: Sequence[PromptMessage], *, tools: Sequence[dict[str, Any]] = ()
    ) -> AsyncGenerator[AnswerPiece]:
        """The answer in pieces of a few words; tools are not used."""
        del tools
        for text in _pieces(self._introduction):
            yield AnswerPiece(text=text)
        for text in _pieces(await self._found(messages)):
            yield AnswerPiece(text=text)

    async def _found(self, messages: Sequence[PromptMessage]) -> str:
        question = question_of(messages)
        notes = await self._passages.find(question, _MOST_FROM_NOTES)
        said = said_before(messages)
        # A note's path and heading count as its text: `Bread.md` need not repeat the word.
        texts = [f"{note.source}\n{note.text}"[:_COMPARED_CHARACTERS] for note in notes]
        texts += [passage.text for passage in said]
        places = await asyncio.to_thread(prefiltered, question, texts)
        scores, remarks = await self._scores(question, [texts[place] for place in places])
        ranked = sorted(zip(scores, places, strict=True), key=lambda pair: -pair[0])
        best = [place for score, place in ranked if score >= CLOSE_ENOUGH][:_MOST_QUOTED]
        passages = [*notes, *said]
        quoted = _quoted([passages[place] for place in best])
        return " " + "\n\n".join([quoted[0], *remarks, *quoted[1:]])

    async def _scores(
        self, question: str, texts: Sequence[str]
    ) -> tuple[Sequence[float], tuple[str, ...]]:
        if not texts:
            return (), ()
        try:
            cosines = cosines_to_first(await self._embedder.embed([question, *texts]))
        except ModelFailed:
            return closeness(question, texts, None).tolist(), (_WORDS_ONLY,)
        return closeness(question, texts, cosines).tolist(), ()


def question_of(messages: Sequence[PromptMessage]) -> str:
    """The user's last message; with the one before if it names nothing (`And then?`).

    A very long message, with an attached file or a pasted text, is cut to both ends, since the
    question is at one of them.
    """
    asked = (_ends(text_of(m)) for m in reversed(messages) if m.get("role") == "user")
    last = next(asked, "")
    before = "" if content_words(last) else next(asked, "")
    return f"{before}\n{last}" if before else last


def _ends(text: str) -> str:
    if len(text) <= 2 * _MESSAGE_CHARACTERS:
        return text
    return f"{text[:_MESSAGE_CHARACTERS]}\n{text[-_MESSAGE_CHARACTERS:]}"


def said_before(messages: Sequence[PromptMessage]) -> list[ChatPassage]:
    """The paragraphs of the chat before the last message, newest messages first.

    Skips this model's own answers, which only quote, the oldest messages of a very long chat, and
    the ends of very long messages.
    """
    said = [message for message in messages if message.get("role") in _SPEAKERS][:-1]
    passages = (
        ChatPassage(_SPEAKERS[message["role"]], paragraph)
        for message in reversed(said)
        if not (text := text_of(message)).startswith(_OPENINGS)
        for paragraph in paragraphs(text[:_MESSAGE_CHARACTERS], _QUOTE_CHARACTERS)
    )
    return list(islice(passages, _MOST_FROM_CHAT))


def _quoted(passages: Sequence[SourcedText]) -> list[str]:
    if not passages:
        return [_NOTHING]
    is_said = any(passage.source in _SPEAKERS.values() for passage in passages)
    blocks = [_FOUND if is_said else _FOUND_IN_NOTES]
    for number, passage in enumerate(passages, 1):
        blocks += [f"**{number}.** {_as_code(passage.source)}", _as_quote(passage.text)]
    return blocks


def _as_code(source: str) -> str:
    line = " ".join(source.split())
    longest = max((len(run) for run in _BACKTICKS.findall(line)), default=0)
    fence = "`" * (longest + 1)
    return f"{fence} {line} {fence}" if longest else f"`{line}`"


def _as_quote(text: str) -> str:
    text = text.strip()
    if len(text) > _QUOTE_CHARACTERS:
        text = next(split_at_spaces(text, _QUOTE_CHARACTERS)) + " …"
    text = _LEADING_HEADING.sub(_in_bold, text)
    return "\n".join(f"> {line}".rstrip() for line in text.splitlines())


def _in_bold(heading: re.Match[str]) -> str:
    title = heading[1].rstrip(" \t#")
    return f"**{title}**"


def _pieces(text: str) -> Iterator[str]:
    return (found[0] for found in _FEW_WORDS.finditer(text))

"""Asks a model until it has answered: request, tool calls, results, request again.

A model may call tools `MAX_ROUNDS` times; then it is asked once more, without tools.
"""

import logging
import secrets
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from smart_context.base.errors import ModelFailed
from smart_context.base.threads import MANY_MESSAGES, beside
from smart_context.chat.messages import Part
from smart_context.host.request.completion import RequestCompletion, within
from smart_context.host.request.fenced_tools import requests_in
from smart_context.host.request.request import Request, added_texts, request_body
from smart_context.host.request.tokens import prompt_tokens
from smart_context.host.request.tools import Tool, ToolSupport, answered, part_of
from smart_context.host.request.window import Window
from smart_context.host.turn import Turn
from smart_context.host.turns.reading import SlowReading
from smart_context.host.turns.refusals import Refusals
from smart_context.llm.models import (
    NOTHING_USED,
    AnswerPiece,
    ChatModel,
    Completion,
    ReadingProgress,
    ToolCall,
    Usage,
)

MAX_ROUNDS = 5
MAX_CALLS = 16
"""The maximum calls answered in one round; the others get an error as their result."""

_logger = logging.getLogger(__name__)


def _ignored(_arrived: Any) -> None:
    """Ignore a piece of the answer."""


def _ignore_reading(_reading: ReadingProgress, _seconds: float) -> None:
    """Ignore the reading progress of a model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerListeners:
    """The functions that are called with each piece of an answer as it arrives."""

    # gets it piece by piece, or in one piece if the turn is not streaming
    text: Callable[[str], None]
    # gets all steps of the turn when there are more of them; they include the text so far
    steps: Callable[[Sequence[Part]], None] = _ignored
    thought: Callable[[str], None] = _ignored  # gets the model's thoughts, if the turn is streaming
    # gets the model's reading progress and the seconds since it began, if it takes long
    reading: Callable[[ReadingProgress, float], None] = _ignore_reading
    # gets all text of this request's answer so far, if it turns out to be a thought
    was_thought: Callable[[str], None] = _ignored


@dataclass(frozen=True, slots=True)
class Rounds:
    """The rounds of one turn, whose `sent`, `usage` and steps of its request are filled in."""

    model: ChatModel
    turn: Turn
    support: ToolSupport
    heard: AnswerListeners
    completion: RequestCompletion  # knows the windows and orders of models

    async def answer(self) -> str:
        """The text of the answer.

        Raises:
            ModelFailed: If the model did not answer, or gave an empty answer; the steps of the
                request have its work so far.
        """
        tools = self.turn.request.tools
        for _ in range(MAX_ROUNDS if tools else 0):
            said = await self._ask(tools)
            if not said.tool_calls:
                return self._checked(said.text)
            await self._run_tools(said, tools)
        return self._checked((await self._ask(())).text)

    def _checked(self, text: str) -> str:
        if text.strip():
            return text
        if self.turn.is_filtered:
            raise ModelFailed(
                f"A content filter of the provider withheld the answer of {self.model.name}. "
                "Rephrase your question."
            )
        steps = self.turn.request.steps
        if steps and steps[-1]["type"] == "reasoning":
            raise ModelFailed(
                f"{self.model.name} thought, and gave no answer after it. Try again or rephrase."
            )
        raise ModelFailed(f"{self.model.name} gave an empty answer. Try again or rephrase.")

    async def _ask(self, tools: Sequence[Tool]) -> Completion:
        refusals = Refusals(self.turn, self.completion.endpoint(), self.completion, self)
        return await refusals.asked(partial(self._with_tools, tools))

    async def tokens(self) -> int:
        """The tokens of the last request, as counted here."""
        return self._prompt_tokens() + self._count(self.turn.added.tools)

    async def learn_counts(self, counted: int) -> None:
        """Learn from the tokens that the endpoint counted in the last request."""
        self.completion.learn_counts(self.turn.request, self.turn.sent, counted)

    async def is_changed_by(self, window: Window) -> bool:
        """True if the last request is too long for this window."""
        return await self.tokens() > window.room

    def _prompt_tokens(self) -> int:
        return prompt_tokens(self.turn.sent, self._count)

    def _count(self, text: str) -> int:
        return self.completion.counter(self.model.name)(text)

    async def _with_tools(self, tools: Sequence[Tool]) -> Completion:
        """Ask once; if the model refuses tools, again with tools in plain text."""
        as_text = self.turn.request.as_text or self.support.is_refused_by(self.model)
        try:
            return await self._request(tools, as_text=as_text)
        except ModelFailed as failure:
            if as_text or not tools or not self.support.note(self.model, failure):
                raise
        return await self._request(tools, as_text=True)

    async def _request(self, tools: Sequence[Tool], *, as_text: bool) -> Completion:
        turn = self.turn
        turn.usage, turn.is_cut_off, turn.is_filtered = None, False, False
        whole = replace(turn.request, tools=tuple(tools), as_text=as_text)
        request = await within(turn.window, whole)
        if request is not whole:
            self._take_over(request)
        is_long = len(request.history) > MANY_MESSAGES
        turn.sent, offered = await beside(request.messages, is_long=is_long), request.offered()
        turn.added = added_texts(request)
        used: Usage | None = None
        try:
            said = await (self._streamed(offered) if turn.streaming else self._whole(offered))
        except ModelFailed:
            used = NOTHING_USED
            raise
        finally:  # the parameters that the endpoint refuses are known only now
            parameters = self.model.parameters(offered, streamed=turn.streaming)
            turn.bodies = (*turn.bodies, request_body(parameters, turn.sent))
            turn.usages = (*turn.usages, self.turn.usage or used)
        if as_text and tools:
            text, requests = requests_in(said.text, tools)
            calls = [ToolCall(id="", name=name, arguments=given) for name, given in requests]
            return replace(said, text=text, tool_calls=tuple(calls)) if calls else said
        return said

    def _take_over(self, less: Request) -> None:
        """Note in the turn the parts that were left out, for later rounds and the receipt."""
        turn, chosen = self.turn, self.turn.request
        if gone := len(chosen.history) - len(less.history):
            _logger.warning("chat %s: %d messages don't fit the window", turn.chat_id, gone)
        turn.shorten_to(
            replace(
                less,
                # The answer is saved with whole results; a later round may have room for the tools.
                steps=chosen.steps,
                tools=chosen.tools,
                as_text=chosen.as_text,
                protected=chosen.protected,
            )
        )

    async def _streamed(self, offered: Sequence[dict[str, object]]) -> Completion:
        thoughts: list[str] = []
        texts: list[str] = []
        calls: list[ToolCall] = []
        try:
            async with aclosing(self._arriving(offered)) as pieces:
                async for piece in pieces:
                    self.turn.usage = piece.usage or self.turn.usage
                    self.turn.is_cut_off |= piece.is_cut_off
                    self.turn.is_filtered |= piece.is_filtered
                    calls += piece.tool_calls
                    if piece.takes_back and texts:
                        thoughts += texts
                        self.heard.was_thought("".join(texts))
                        texts.clear()
                    if piece.reasoning and not texts:  # later pieces have no known place
                        thoughts.append(piece.reasoning)
                        self.heard.thought(piece.reasoning)
                    if piece.text:
                        self._keep_thoughts(thoughts)
                        texts.append(piece.text)
                        self.heard.text(piece.text)
        finally:
            self._keep_thoughts(thoughts)
        return Completion(text="".join(texts), tool_calls=tuple(calls))

    async def _arriving(self, offered: Sequence[dict[str, object]]) -> AsyncGenerator[AnswerPiece]:
        """The pieces of an answer; until the first one, tells the model's reading progress."""
        slow = SlowReading(self._prompt_tokens, self.heard.reading)
        async with _closing(self.model.stream(self.turn.sent, tools=offered)) as pieces:
            with slow:
                async for piece in pieces:
                    if piece.reading is not None:
                        slow.told(piece.reading)
                    else:
                        slow.end()
                        yield piece

    async def _whole(self, offered: Sequence[dict[str, object]]) -> Completion:
        said = await self.model.complete(self.turn.sent, tools=offered)
        self.turn.usage = said.usage
        self.turn.is_cut_off, self.turn.is_filtered = said.is_cut_off, said.is_filtered
        self._keep_thoughts([said.reasoning])
        if said.text:
            self.heard.text(said.text)
        return said

    def _keep_thoughts(self, thoughts: list[str]) -> None:
        """Keep the model's reasoning for the user to read; it is never sent."""
        text = "".join(thoughts).strip()
        thoughts.clear()
        if text:
            self._add_step({"type": "reasoning", "text": text})
            self.heard.steps(self.turn.request.steps)

    async def _run_tools(self, said: Completion, tools: Sequence[Tool]) -> None:
        """Run the calls one after another; finished results stay if the user stops the turn."""
        steps = self.turn.request.steps
        self.turn.request = replace(self.turn.request, newest_step=len(steps))
        if said.text.strip():
            self._add_step({"type": "text", "text": said.text})
        self.heard.steps(self.turn.request.steps)
        taken = {str(step.get("tool_call_id")) for step in steps}
        for number, call in enumerate(said.tool_calls):
            named = call if call.id and call.id not in taken else replace(call, id=_new_id())
            taken.add(named.id)
            if number < MAX_CALLS:
                self._add_step(await answered(named, tools))
            else:
                reason = f"Not done: at most {MAX_CALLS} calls at a time are answered."
                self._add_step(part_of(named, "error", named.arguments, reason))
            self.heard.steps(self.turn.request.steps)

    def _add_step(self, step: Part) -> None:
        request = self.turn.request
        self.turn.request = replace(request, steps=(*request.steps, step))


def _new_id() -> str:
    return f"call_{secrets.token_hex(6)}"


@asynccontextmanager
async def _closing(pieces: AsyncIterator[AnswerPiece]) -> AsyncIterator[AsyncIterator[AnswerPiece]]:
    """Close a stream at the end, if it can be closed, which cancels its request."""
    try:
        yield pieces
    finally:
        if close := getattr(pieces, "aclose", None):
            await close()

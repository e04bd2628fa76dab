"""Asks a model until it has answered: request, tool calls, results, request again.

At most `MAX_ROUNDS` times a model gets what it asks for; then it is asked once more, without
tools. One answer is one `Rounds`.
"""

import asyncio
import logging
import secrets
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace

from smart_context.errors import ModelFailed
from smart_context.host.request.fenced_tools import requests_in
from smart_context.host.request.fitting import fitted, surely_fits
from smart_context.host.request.request import Request
from smart_context.host.request.tools import Tool, ToolSupport, answered, part_of
from smart_context.host.turn import Turn
from smart_context.llm.models import ChatModel, Completion, Piece, ToolCall

MAX_ROUNDS = 5
MAX_CALLS = 16
"""Most calls of one round that are answered; the others are told so."""

_logger = logging.getLogger(__name__)


class Rounds:
    """The rounds of one turn.

    Args:
        model: Who is asked.
        turn: What is asked; `sent`, `usage` and `steps` are filled in.
        support: Knows which models take no tools.
        on_text: Gets each piece of text.
        on_step: Called whenever something was added to `turn.steps`: the text that came so far
            stands there now.
    """

    def __init__(
        self,
        model: ChatModel,
        turn: Turn,
        support: ToolSupport,
        *,
        on_text: Callable[[str], None],
        on_step: Callable[[], None],
    ) -> None:
        self._model = model
        self._turn = turn
        self._support = support
        self._on_text = on_text
        self._on_step = on_step
        self._newest_step = 0

    async def answer(self) -> str:
        """The model's last word.

        Raises:
            ModelFailed: If it did not answer, or said nothing; `turn.steps` has what was done.
        """
        tools = tuple(self._turn.tools)
        for _ in range(MAX_ROUNDS if tools else 0):
            said = await self._ask(tools)
            if not said.tool_calls:
                return self._checked(said.text)
            await self._do(said, tools)
        return self._checked((await self._ask(())).text)

    def _checked(self, text: str) -> str:
        if text.strip():
            return text
        raise ModelFailed(f"{self._model.name} gave an empty answer; try again or ask otherwise.")

    async def _ask(self, tools: Sequence[Tool]) -> Completion:
        """One request; where tools are refused, once more in plain text."""
        as_text = self._turn.tools_as_text or self._support.is_refused_by(self._model)
        try:
            return await self._request(tools, as_text=as_text)
        except ModelFailed as failure:
            if as_text or not tools or not self._support.note(self._model, failure):
                raise
        return await self._request(tools, as_text=True)

    async def _request(self, tools: Sequence[Tool], *, as_text: bool) -> Completion:
        turn = self._turn
        turn.usage = None
        request = await self._within_window(
            Request(
                system_prompt=turn.system_prompt,
                history=tuple(turn.history),
                message=turn.message,
                files=turn.question.files,
                images=turn.images,
                steps=tuple(turn.steps),
                newest_step=self._newest_step,
                tools=tuple(tools),
                as_text=as_text,
                protected=turn.protected,
                spare=turn.spare,
                attached=turn.attached,
            )
        )
        turn.sent, offered = request.messages(), request.offered()
        said = await (self._streamed(offered) if turn.streaming else self._whole(offered))
        if as_text and tools:
            text, requests = requests_in(said.text, tools)
            calls = [ToolCall(id="", name=name, arguments=given) for name, given in requests]
            return replace(said, text=text, tool_calls=tuple(calls)) if calls else said
        return said

    async def _within_window(self, request: Request) -> Request:
        """The request as it fits into the model's window; the turn keeps what had to go of it."""
        turn = self._turn
        if turn.window is None or surely_fits(request, turn.window):
            return request
        less = await asyncio.to_thread(fitted, request, turn.window)
        gone = {m.id for m in request.history} - {m.id for m in less.history}
        if gone:
            _logger.warning("chat %s: %d messages don't fit the window", turn.chat_id, len(gone))
        turn.is_too_long = turn.is_too_long or bool(gone)
        turn.left_out |= gone
        turn.lacks_spare = turn.lacks_spare or less.spare != request.spare
        turn.history, turn.system_prompt = list(less.history), less.system_prompt
        turn.message, turn.images = less.message, less.images
        turn.spare, turn.attached = less.spare, less.attached
        return less

    async def _streamed(self, offered: Sequence[dict[str, object]]) -> Completion:
        thoughts: list[str] = []
        texts: list[str] = []
        calls: list[ToolCall] = []
        try:
            async with _closing(self._model.stream(self._turn.sent, tools=offered)) as pieces:
                async for piece in pieces:
                    self._turn.usage = piece.usage or self._turn.usage
                    calls += piece.tool_calls
                    if piece.reasoning and not texts:  # later ones have no place
                        thoughts.append(piece.reasoning)
                    if piece.text:
                        self._thought(thoughts)
                        texts.append(piece.text)
                        self._on_text(piece.text)
        finally:
            self._thought(thoughts)
        return Completion(text="".join(texts), tool_calls=tuple(calls))

    async def _whole(self, offered: Sequence[dict[str, object]]) -> Completion:
        said = await self._model.complete(self._turn.sent, tools=offered)
        self._turn.usage = said.usage
        self._thought([said.reasoning])
        if said.text:
            self._on_text(said.text)
        return said

    def _thought(self, thoughts: list[str]) -> None:
        """Keep what the model thought aloud for the user to read; no request carries it."""
        text = "".join(thoughts).strip()
        thoughts.clear()
        if text:
            self._turn.steps.append({"type": "reasoning", "text": text})
            self._on_step()

    async def _do(self, said: Completion, tools: Sequence[Tool]) -> None:
        """Answer the calls one after another; what was done stays if the user stops it."""
        steps = self._turn.steps
        self._newest_step = len(steps)
        if said.text.strip():
            steps.append({"type": "text", "text": said.text})
        self._on_step()
        taken = {str(step.get("tool_call_id")) for step in steps}
        for number, call in enumerate(said.tool_calls):
            named = call if call.id and call.id not in taken else replace(call, id=_new_id())
            taken.add(named.id)
            if number < MAX_CALLS:
                steps.append(await answered(named, tools))
            else:
                reason = f"Not done: at most {MAX_CALLS} calls at a time are answered."
                steps.append(part_of(named, "error", named.arguments, reason))
            self._on_step()


def _new_id() -> str:
    return f"call_{secrets.token_hex(6)}"


@asynccontextmanager
async def _closing(pieces: AsyncIterator[Piece]) -> AsyncIterator[AsyncIterator[Piece]]:
    """Close a stream at the end, which cancels the request; not all iterators need it."""
    try:
        yield pieces
    finally:
        if close := getattr(pieces, "aclose", None):
            await close()

"""What the next message would send, before it is sent: the commands that show it."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from smart_context.chat.ids import check_chat_id
from smart_context.chat.messages import ChatId, Message
from smart_context.host.request.request import Request, attached_to
from smart_context.host.request.window import Window
from smart_context.llm.models import PromptMessage
from smart_context.plugin.briefing.briefing import Briefing, Briefings
from smart_context.plugin.forecast.forecasts import Look, Looks, difference, leaving_out, whole
from smart_context.plugin.forecast.parts import PART_NAMES, places
from smart_context.plugin.forecast.plans import Planned
from smart_context.plugin.notes.named_contexts import Command
from smart_context.plugin.selection.selector import protected_ids
from smart_context.plugin.selection.status_line import status_line
from smart_context.relevance.reasons import Reason, ReasonKind
from smart_context.values import JsonObject

Plan = Callable[[Request], Awaitable[Planned]]
"""Makes of a request what a turn would send."""

DraftOf = Callable[
    [str, Sequence[Mapping[str, Any]], Sequence[Mapping[str, Any]]], Awaitable[Message]
]
"""Makes a message of its text, files and links, as a turn would send it."""

MAX_ASKED = 2_000
"""Most messages whose reasons are told at once."""

ONE_LINE = 400
_NEAR = 0.7


class Previews:
    """Shows what would be sent; changes nothing.

    Args:
        looks: Looks at chats.
        briefings: What goes with their messages.
        count_tokens: Counts for the model that is chatted with.
        model: Gives its name.
        window: Gives what it takes at once; `None` when that is not known.
        ask_above: The tokens above which the page asks before it sends; 0 is never.
        draft: Makes a message as it would be sent.
        plan: Makes of a request what would be sent.
    """

    def __init__(  # noqa: PLR0913 - the plugin's parts, each by name
        self,
        looks: Looks,
        briefings: Briefings,
        *,
        count_tokens: Callable[[str], int],
        model: Callable[[], str],
        window: Callable[[], Window | None],
        ask_above: int,
        draft: DraftOf,
        plan: Plan,
    ) -> None:
        self._looks = looks
        self._briefings = briefings
        self._count_tokens = count_tokens
        self._model = model
        self._window = window
        self._ask_above = ask_above
        self._draft = draft
        self._plan = plan

    def commands(self) -> tuple[Command, ...]:
        """The commands, each by the name of its function."""
        return (self.preview, self.reasons)

    async def preview(  # noqa: PLR0913, PLR0917 - a parameter for each thing that may differ
        self,
        chat_id: str,
        message: str = "",
        topics: list[str] | None = None,
        threshold: float | None = None,
        role: str | None = None,
        brief: bool = False,
        files: list[dict[str, Any]] | None = None,
        links: list[dict[str, Any]] | None = None,
    ) -> JsonObject:
        """What would be sent, and why, under the chat's choices or others; changes nothing.

        Files and links are those of the message, as `chat.send` takes them.
        """
        checked = check_chat_id(chat_id)
        look = await self._looks.at(checked, topics, threshold)
        draft = await self._draft(message, files or (), links or ())
        attached = attached_to(draft, message)
        briefing = await self._briefing(checked, draft.text, role, brief=brief)
        planned = None
        if not brief or self._is_near_the_window(look, briefing, attached):
            planned = await self._plan(_request(look, briefing, draft.files, attached))
            look = leaving_out(look, planned.left_out, self._count_tokens)
            briefing = briefing.without_contexts() if planned.lacks_contexts else briefing
        result = self._summary(look, briefing, attached)
        if planned and planned.problem:
            result["problem"] = planned.problem
        if topics is not None or threshold is not None:
            result["change"] = difference(await self._as_it_is(checked, draft, attached), look)
        if planned and not brief:
            result["messages"] = await asyncio.to_thread(rows_of, look)
            result["prompt"] = await asyncio.to_thread(without_image_data, planned.prompt)
        return result

    async def reasons(
        self,
        chat_id: str,
        message_ids: list[str],
        topics: list[str] | None = None,
        threshold: float | None = None,
    ) -> JsonObject:
        """Why each of these messages is in or out, in words, with its score and tokens."""
        look = await self._looks.at(check_chat_id(chat_id), topics, threshold)
        asked = frozenset(message_ids[:MAX_ASKED])
        found = {
            row["id"]: row
            for position, message in enumerate(look.decision.candidates)
            if message.id in asked
            for row in (row_of(look, position),)
        }
        for message in look.view.messages:
            if message.id in asked and message.id not in found:
                found[message.id] = absent_row(message, look, self._count_tokens(message.text))
        return {"reasons": found, "threshold": look.decision.selection.reasons.threshold}

    async def _as_it_is(self, chat_id: ChatId, draft: Message, attached: str) -> Look:
        """What would be sent of a chat under its own choices."""
        look = await self._looks.at(chat_id)
        briefing = await self._looks.briefing(chat_id, draft.text)
        if not self._is_near_the_window(look, briefing, attached):
            return look
        planned = await self._plan(_request(look, briefing, draft.files, attached))
        return leaving_out(look, planned.left_out, self._count_tokens)

    async def _briefing(
        self, chat_id: ChatId, message: str, role: str | None, *, brief: bool
    ) -> Briefing:
        if brief and role is None:
            return await self._looks.briefing(chat_id, message)
        return await self._briefings.of(chat_id, message, role)

    def _is_near_the_window(self, look: Look, briefing: Briefing, attached: str) -> bool:
        window = self._window()
        if window is None:
            return False
        return whole(look, briefing, self._count_tokens, attached).tokens > window.tokens * _NEAR

    def _summary(self, look: Look, briefing: Briefing, attached: str) -> JsonObject:
        message = briefing.message
        parts = whole(look, briefing, self._count_tokens, attached)
        selection = look.decision.selection
        window = self._window()
        return {
            "tokens": parts.tokens,
            "parts": parts.to_dict(),
            "part_names": dict(PART_NAMES),
            "model": self._model(),
            "window": window.tokens if window else None,
            "ask_above": self._ask_above,
            "in": len(selection.kept),
            "total": len(look.view.messages),
            "threshold": selection.reasons.threshold,
            "fell_back": selection.fell_back,
            "status": status_line(look.view, look.decision),
            "problem": "\n".join(filter(None, (look.decision.problem, briefing.problems))),
            "role": briefing.role.name,
            "unseen": places(look.decision, look.costs, briefing.system_prompt(""), message),
        }


def _request(
    look: Look, briefing: Briefing, files: Sequence[Mapping[str, Any]], attached: str
) -> Request:
    return Request(
        system_prompt=briefing.system_prompt(""),
        history=look.decision.messages,
        message=briefing.message,
        files=tuple(files),
        protected=protected_ids(look.view),
        optional_prompt=briefing.contexts.prompt.text,
        attached_text=attached,
    )


def without_image_data(prompt: Iterable[PromptMessage]) -> list[PromptMessage]:
    """The prompt with images as their type and size alone; nobody reads them as text."""
    return [
        {**entry, "content": [_without_data(part) for part in entry["content"]]}
        if isinstance(entry["content"], list)
        else entry
        for entry in prompt
    ]


def _without_data(part: JsonObject) -> JsonObject:
    if part.get("type") != "image_url":
        return part
    kind, _, encoded = part["image_url"]["url"].partition(",")
    return {**part, "image_url": {"url": f"{kind},({len(encoded):,} characters)"}}


def rows_of(look: Look) -> list[JsonObject]:
    """Every message that was decided about: in or out, why, at what cost."""
    return [row_of(look, position) for position in range(len(look.decision.candidates))]


def row_of(look: Look, position: int) -> JsonObject:
    """One message that was decided about."""
    message = look.decision.candidates[position]
    reason = look.decision.selection.reasons.at(position)
    return _row(message, reason, int(look.costs.tokens[position]))


def absent_row(message: Message, look: Look, tokens: int) -> JsonObject:
    """A message of the chat that the filter was not asked about."""
    return _row(message, absent_reason(message, look.decision.candidates), tokens)


def absent_reason(message: Message, candidates: Sequence[Message]) -> Reason:
    """Why a message of the chat is not even a candidate."""
    summary = next((m for m in candidates if m.is_summary), None)
    if message.error or message.error_code:
        return Reason(kind=ReasonKind.FAILED)
    if summary is not None or message.is_summary:
        return Reason(kind=ReasonKind.SUMMARISED, detail=_day(summary) if summary else "")
    return Reason(kind=ReasonKind.OVER_BUDGET)


def absent_from(
    messages: Sequence[Message], candidates: Sequence[Message]
) -> list[tuple[Message, Reason]]:
    """The messages of a chat that are no candidates, with the reasons."""
    known = {message.id for message in candidates}
    return [(m, absent_reason(m, candidates)) for m in messages if m.id not in known]


def _row(message: Message, reason: Reason, tokens: int) -> JsonObject:
    return {
        "id": message.id,
        "role": message.role,
        "in": reason.is_in,
        "kind": reason.kind.value,
        "reason": str(reason),
        "score": None if reason.score is None else round(reason.score, 4),
        "topic": reason.topic,
        "tokens": tokens,
        "text": " ".join(message.text[:ONE_LINE].split()),
    }


def _day(summary: Message) -> str:
    try:
        written = datetime.fromisoformat(summary.created_at)
    except ValueError:
        return ""
    return f"{written.day} {written:%B}"

"""Commands that show the next request of a chat before it is sent."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import compress
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from smart_context.base.results import CostResult
from smart_context.base.threads import MANY_MESSAGES, beside
from smart_context.base.values import JsonObject
from smart_context.chat.files.attachments import CutText, cut_texts
from smart_context.chat.listed.rows import plain_line
from smart_context.chat.messages import ChatId, Message, MessageId
from smart_context.host.access import FilesNamed
from smart_context.host.request.prompt import texts_as_sent
from smart_context.host.request.request import attached_to
from smart_context.host.request.tokens import tokens_by_message, tokens_of_texts
from smart_context.llm.models import PromptMessage
from smart_context.plugin.briefing.briefing import Briefing, Briefings
from smart_context.plugin.choices.state import check_threshold
from smart_context.plugin.forecast.costs import PART_NAMES, settled
from smart_context.plugin.forecast.forecasts import Forecast, Forecasts, difference
from smart_context.plugin.forecast.plan import RequestPlanner, TurnPlan
from smart_context.plugin.forecast.rows import all_rows, rows_by_id
from smart_context.plugin.forecast.sources import sources_of
from smart_context.plugin.selection.decision import ChatView, Decision
from smart_context.plugin.selection.last_request import (
    LastRequest,
    NextRequest,
    RequestHead,
    SharedTokens,
    cost_document,
    shared_beginning,
)
from smart_context.plugin.selection.status_line import status
from smart_context.plugin.settings import ModelInUse

NOTES_AGE_S = 60.0
"""The maximum age of notes and files for the cost after a click, so that it is fast."""

_NOTHING = Message(id=MessageId("draft"), role="user", content="")


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestCosts:
    """Computes the cost of chats' next requests."""

    forecasts: Forecasts
    planner: RequestPlanner
    model: ModelInUse
    last_request: Callable[[ChatId], Awaitable[LastRequest | None]]
    # gives what another program sends besides the messages of its chat
    client_fields_of: Callable[[ChatId], Awaitable[JsonObject]]
    clock: Callable[[], float] = time.time  # seconds since 1970

    async def of(self, view: ChatView, decision: Decision) -> CostResult:
        """The cost of the next request, without the question."""
        forecast = await self.forecasts.with_costs(view, decision)
        state = view.sidecar.state
        briefing = await self.forecasts.briefing(view.chat_id, "", state, NOTES_AGE_S)
        fields = await self.client_fields_of(view.chat_id) if view.is_of_client else {}
        plan = self.forecasts.plan(forecast, _NOTHING, briefing)
        plan = await self.planner.with_added(plan, fields)
        tokens = forecast.tokens_of(plan, self.model.count_tokens)
        cost, _ = await self.told(forecast, plan, tokens.total, fields)
        return cost

    async def told(
        self, forecast: Forecast, plan: TurnPlan, sent: int, fields: JsonObject
    ) -> tuple[CostResult, str]:
        """The cost of a request, as clients get it, and why messages are read again.

        The reason is empty if none are.

        Args:
            sent: The tokens of the request.
            fields: All fields of another program's request except its messages.
        """
        cache = self.model.cache(str(fields.get("model") or ""))
        last = await self.last_request(forecast.view.chat_id)
        if last and not last.is_cached(now=self.clock(), ttl_s=cache.ttl_s, model=cache.model):
            last = None
        is_in = forecast.decision.selection.reasons.is_in
        head = forecast.head(plan, self.model.count_tokens)
        question = replace(plan.question, content=plan.briefing.message)
        request = _next(forecast, head, is_in)
        price, of_all = self.model.price(cache.model), 0
        if price and last:
            of_all = _next(forecast, head, np.ones_like(is_in)).unchanged(last)[0]
        cost = cost_document(
            sent=sent,
            saved=forecast.left_out_tokens,
            shared=self._shared(forecast, request, last, question),
            unchanged_of_all=of_all,
            price=price,
            currency=self.model.currency(),
        )
        return cost, request.reread_because(last) if last else ""

    def _shared(
        self, forecast: Forecast, request: NextRequest, last: LastRequest | None, question: Message
    ) -> SharedTokens:
        if last is None:
            return SharedTokens()
        shared = request.shared(last)
        place = shared.place
        if request.head != last.head or place >= len(last.sent):
            return shared
        sent, ours = last.sent[place], [*request.ids[place : place + 1]]
        before = next((m for m in forecast.view.messages if m.id == sent), None)
        now = next((m for m in forecast.decision.candidates if m.id in ours), question)
        if before is None or before.role != now.role:
            return shared
        if before == now:  # an edited message: its text as it was sent is unknown
            return shared
        first, other = [texts_as_sent(message)[:1] for message in (before, now)]
        begun = shared_beginning(*first, *other) if first and other else ""
        more = self.model.count_tokens(begun) if begun else 0
        return shared._replace(unchanged=shared.unchanged + more)


def _next(forecast: Forecast, head: RequestHead, is_in: NDArray[np.bool_]) -> NextRequest:
    return NextRequest(
        head=head,
        ids=tuple(compress(forecast.decision.selection.reasons.ids, is_in.tolist())),
        tokens=forecast.costs.tokens[is_in].tolist(),
    )


SAMPLES = 3
SAMPLE_CHARS = 160


def topic_card(forecast: Forecast) -> JsonObject:
    """The dates, tokens and samples of the messages that the picked topic keeps.

    Args:
        forecast: The chat's forecast with one topic picked.
    """
    kept = forecast.decision.selection.kept_by_topic()
    positions = np.array([position for position, _ in kept], dtype=np.intp)
    messages = [forecast.decision.candidates[position] for position in positions.tolist()]
    dates = [message.created_at for message in messages if message.created_at]
    closest = [forecast.decision.candidates[place] for place in _closest(forecast, positions)]
    return {
        "messages": len(messages),
        "tokens": int(forecast.costs.tokens[positions].sum()),
        "first": min(dates, default=""),
        "last": max(dates, default=""),
        "samples": [
            {"id": m.id, "role": m.role, "text": plain_line(m.text, SAMPLE_CHARS)} for m in closest
        ],
    }


def _closest(forecast: Forecast, positions: NDArray[np.intp]) -> list[int]:
    """The positions of the best matches, oldest first."""
    found = forecast.decision.selection.reasons.found
    if found is None:
        return []
    best = positions[np.argsort(-found.best[positions], kind="stable")[:SAMPLES]]
    return sorted(best.tolist())


DraftOf = Callable[
    [str, Sequence[Mapping[str, Any]], Sequence[Mapping[str, Any]]], Awaitable[Message]
]
"""Makes the message that a turn would send from its text, files and links."""

MAX_ASKED = 2_000
"""The maximum number of messages whose reasons are given at once."""

_NEAR = 0.7


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviewCommands:
    """Shows the next request; changes nothing."""

    forecasts: Forecasts
    costs: RequestCosts
    briefings: Briefings
    model: ModelInUse
    ask_above: int  # the page asks before it sends more tokens than this; 0 is never
    draft_of: DraftOf
    planner: RequestPlanner
    text_of: Callable[[str], Awaitable[str]]  # gives the whole text of an attached file, by its key
    # gives what another program sends besides the messages of its chat
    client_fields_of: Callable[[ChatId], Awaitable[JsonObject]]

    async def preview(  # noqa: PLR0913, PLR0917 - a parameter for each part that may differ
        self,
        chat_id: ChatId,
        message: str = "",
        topics: list[str] | None = None,
        threshold: float | None = None,
        role: str | None = None,
        brief: bool = False,
        files: Annotated[list[dict[str, Any]] | None, FilesNamed] = None,
        links: list[dict[str, Any]] | None = None,
        stream: bool = True,
    ) -> JsonObject:
        """What would be sent, and why, under the chat's choices or others; changes nothing.

        Files, links and `stream` are those of the message, as `chat.send` takes them.
        """
        check_threshold(threshold)
        await self.model.ask_its_server()
        forecast = await self.forecasts.forecast(chat_id, topics, threshold)
        draft = await self.draft_of(message, files or (), links or ())
        attached = attached_to(draft, message)
        briefing = await self._briefing(forecast, draft.text, role, brief=brief)
        fields = await self._client_fields(forecast)
        plan = self.forecasts.plan(forecast, draft, briefing, attached)
        offered = await self.planner.offers_files(plan)
        plan = await self._planned(forecast, plan, fields, brief=brief, stream=stream)
        forecast = forecast.of(plan, self.model.count_tokens)
        parts = await self._parts(forecast, plan)
        result = await beside(
            partial(self._result, forecast, plan.briefing, parts),
            is_long=len(forecast.view.messages) > MANY_MESSAGES,
        )
        result["cost"], result["reread_because"] = await self.costs.told(
            forecast, plan, result["tokens"], fields
        )
        result |= {
            "file_tools": offered,
            "cut_texts": [await self._cut(each) for each in cut_texts(f"{attached}\n")],
        }
        if plan.problem:
            result["problem"] = plan.problem
        if topics is not None or threshold is not None:
            own = await self._own_forecast(chat_id, draft, attached, brief=brief)
            result["change"] = difference(own, forecast)
        return result if brief else result | await self._to_the_letter(forecast, plan)

    async def reasons(
        self,
        chat_id: ChatId,
        message_ids: list[str],
        topics: list[str] | None = None,
        threshold: float | None = None,
    ) -> JsonObject:
        """Why each of these messages is in or out, in words, with its score and tokens."""
        check_threshold(threshold)
        forecast = await self.forecasts.forecast(chat_id, topics, threshold)
        asked = frozenset(message_ids[:MAX_ASKED])
        return {
            "reasons": rows_by_id(forecast, asked, self.model.count_tokens),
            "threshold": forecast.decision.selection.reasons.threshold,
            "cut": forecast.decision.selection.reasons.cut,
            "status": status(forecast.view, forecast.decision).line,
        }

    async def describe_topic(self, chat_id: ChatId, label: str) -> JsonObject:
        """What picking a topic alone would keep: number, tokens, dates and three samples."""
        forecast = await self.forecasts.forecast(chat_id, [label])
        cost = await self.costs.of(forecast.view, forecast.decision)
        return topic_card(forecast) | {"cost": cost}

    async def _cut(self, cut: CutText) -> JsonObject:
        """An attached text of which only a part is sent, with the tokens of the whole text."""
        text = await self.text_of(cut.key)
        tokens = await asyncio.to_thread(self.model.count_tokens, text)
        return {
            "storage_key": cut.key,
            "shown": cut.shown,
            "total": cut.total,
            "unit": cut.unit,
            "tokens": tokens,
        }

    async def _planned(
        self,
        forecast: Forecast,
        plan: TurnPlan,
        fields: JsonObject,
        *,
        brief: bool,
        stream: bool = True,
    ) -> TurnPlan:
        """The plan with tools and images; complete unless a brief preview needs no body."""
        plan = await self.planner.with_added(plan, fields)
        if brief and not self._needs_completing(forecast, plan, fields):
            return plan
        return await self.planner.completed(plan, streamed=stream, fields=fields)

    async def _own_forecast(
        self, chat_id: ChatId, draft: Message, attached: str, *, brief: bool
    ) -> Forecast:
        """The forecast of a chat under its own choices."""
        forecast = await self.forecasts.forecast(chat_id)
        state = forecast.view.sidecar.state
        briefing = await self.forecasts.briefing(chat_id, draft.text, state)
        fields = await self._client_fields(forecast)
        plan = self.forecasts.plan(forecast, draft, briefing, attached)
        plan = await self._planned(forecast, plan, fields, brief=brief)
        return forecast.of(plan, self.model.count_tokens)

    async def _client_fields(self, forecast: Forecast) -> JsonObject:
        view = forecast.view
        return await self.client_fields_of(view.chat_id) if view.is_of_client else {}

    async def _briefing(
        self, forecast: Forecast, message: str, role: str | None, *, brief: bool
    ) -> Briefing:
        chat_id, state = forecast.view.chat_id, forecast.view.sidecar.state
        if brief and role is None:
            found = await self.forecasts.briefing(chat_id, message, state)
        else:
            await self.briefings.roles.check(role or "")
            found = await self.briefings.of(chat_id, message, state.with_role(role))
        if forecast.view.is_of_client:  # a role's template only rewords messages of the page
            return replace(found, message=message)
        return found

    async def _to_the_letter(self, forecast: Forecast, plan: TurnPlan) -> JsonObject:
        """The request word for word: its body, and each message with its reason and tokens."""
        body = await asyncio.to_thread(body_without_image_data, plan.body)
        rows = await asyncio.to_thread(all_rows, forecast, self.model.count_tokens)
        tokens = await asyncio.to_thread(
            tokens_by_message, body["messages"], self.model.count_tokens
        )
        sources = await asyncio.to_thread(sources_of, forecast, plan)
        return {
            "messages": rows,
            "body": body,
            "prompt": body["messages"],
            "prompt_tokens": tokens,
            "prompt_sources": sources,
        }

    def _needs_completing(self, forecast: Forecast, plan: TurnPlan, fields: JsonObject) -> bool:
        """True if messages are joined or may not fit, so the costs of the parts are not enough."""
        window = self.planner.window(plan, fields)
        if self.planner.joins_messages(plan, fields):
            return True
        if window is None:
            return False
        parts = forecast.tokens_of(plan, self.model.count_tokens)
        return parts.total + forecast.around > window.tokens * _NEAR

    async def _parts(self, forecast: Forecast, plan: TurnPlan) -> dict[str, int]:
        """The tokens by part; if there is a body, they sum up to its tokens."""
        count = self.model.count_tokens
        tokens = forecast.tokens_of(plan, count)
        if not plan.body:
            return tokens.to_dict()
        texts = await asyncio.to_thread(
            lambda: sum(tokens_of_texts(message, count) for message in plan.prompt)
        )
        return settled(tokens.to_dict(), texts + plan.added.tokens_beside(count))

    def _result(self, forecast: Forecast, briefing: Briefing, parts: dict[str, int]) -> JsonObject:
        tokens = sum(parts.values())
        hidden = forecast.hidden_places(briefing.system_prompt(""), briefing.message)
        decision = forecast.decision
        window = self.model.window()
        return {
            "tokens": tokens,
            "unfiltered": tokens + forecast.left_out_tokens,
            "by_topic": forecast.tokens_by_topic,
            "parts": parts,
            "part_names": dict(PART_NAMES),
            "model": self.model.name(),
            "window": window.tokens if window else None,
            "window_note": self.model.window_note(),
            "ask_above": self.ask_above,
            "in": len(decision.selection.kept),
            "total": len(forecast.view.messages),
            "threshold": decision.selection.reasons.threshold,
            "cut": decision.selection.reasons.cut,
            "fell_back": decision.selection.fell_back,
            "status": status(forecast.view, decision).line,
            "problem": "\n".join(filter(None, (decision.problem, briefing.problems))),
            "role": briefing.role.name,
            "unseen": [place.to_dict() for place in hidden],
        }


def body_without_image_data(body: JsonObject) -> JsonObject:
    """The body of a chat request, its messages as `without_image_data` gives them."""
    return {**body, "messages": without_image_data(body["messages"])}


def without_image_data(prompt: Iterable[PromptMessage]) -> list[PromptMessage]:
    """The prompt with only the type and size of each image, since image data is unreadable."""
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

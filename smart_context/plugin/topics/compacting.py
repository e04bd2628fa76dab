"""The command that sums up topics of a chat; shows the result first, and stores it with `apply`."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from smart_context.base.errors import ChatBusy, CommandFailed, InvalidParams
from smart_context.base.times import utc_stamp
from smart_context.base.values import JsonObject
from smart_context.chat.compaction import insert_after
from smart_context.chat.ids import new_message_id
from smart_context.chat.messages import (
    ChatId,
    Message,
    MessageId,
    messages_of,
    standing_for,
    topic_summary,
)
from smart_context.chat.tool_pairs import NO_CALLER, find_tool_pairs
from smart_context.plugin.choices.sidecars import Sidecars
from smart_context.plugin.choices.undo import Summary, UndoStep, UndoSteps
from smart_context.plugin.forecast.commands import RequestCosts
from smart_context.plugin.selection.chat_filter import ChatFilter
from smart_context.plugin.selection.decision import ChatView
from smart_context.plugin.selection.selector import ContextSelector
from smart_context.plugin.topics.splitting import NamedTopics, named_topics
from smart_context.storage.ports import Chats
from smart_context.topics.summaries.claims import unsupported
from smart_context.topics.summaries.digest import without_head

PART_OF_CALL = "part of a tool call that stays"
HALF_A_CALL = "a tool call without its result"


class KeptMessage(NamedTuple):
    """A message that stays word for word, and why, for users."""

    message_id: MessageId
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The effect of summing up topics on a chat's messages."""

    summed_up: tuple[Message, ...]  # the messages that the summary replaces, oldest first
    kept: tuple[KeptMessage, ...]  # the others of these topics, oldest first


def plan_of(view: ChatView, named: NamedTopics, *, recent: int) -> Plan:
    """The messages that a summary of topics replaces, and those that stay.

    Messages that are never sent, such as failed answers and those behind another summary, are in
    neither list.

    Args:
        recent: The number of newest messages that stay.
    """
    messages = view.messages
    reasons = dict(_reasons(view, named, recent))
    behind = standing_for(messages)
    sent = {message.id for message in view.history}
    group_of = _groups(messages)
    summed_up: list[Message] = []
    kept: list[KeptMessage] = []
    for place, message in enumerate(messages):
        exchange = group_of.get(place, (place,))
        is_member = message.id in named.ids
        if message.is_summary or message.id in behind or not message.is_complete:
            continue
        if not (is_member or any(messages[each].id in named.ids for each in exchange)):
            continue
        staying = [messages[each].id in reasons for each in exchange]
        is_sent = any(messages[each].id in sent for each in exchange)
        if any(staying) and is_member:
            kept.append(KeptMessage(message.id, reasons.get(message.id, PART_OF_CALL)))
        elif is_sent and not any(staying):
            summed_up.append(message)
    return Plan(summed_up=tuple(summed_up), kept=tuple(kept))


def _reasons(view: ChatView, named: NamedTopics, recent: int) -> Iterator[tuple[MessageId, str]]:
    """The reasons why messages may not be summed up; the last one of a message counts."""
    for message_id, label in named.elsewhere.items():
        yield message_id, f"also about {label}"
    for message_id in _half_calls(view.messages):
        yield message_id, HALF_A_CALL
    newest = "the newest message" if recent == 1 else f"one of the {recent} newest messages"
    for messages in (view.messages, view.history):
        yield from ((m.id, newest) for m in messages[max(0, len(messages) - recent) :])
    yield from ((message_id, "standing instruction") for message_id in view.sticky_ids)
    yield from ((message_id, "pinned by you") for message_id in view.sidecar.state.pinned)
    yield from ((message_id, "hidden by you") for message_id in view.sidecar.state.hidden)


def _groups(messages: Sequence[Message]) -> Mapping[int, Sequence[int]]:
    """The places of all messages of a tool exchange, by the place of each of them."""
    groups: dict[int, list[int]] = {}
    for result, caller in find_tool_pairs(messages).caller_of.items():
        if caller != NO_CALLER:
            groups.setdefault(caller, [caller]).append(result)
    return {place: group for group in groups.values() for place in group}


def _half_calls(messages: Sequence[Message]) -> Iterator[MessageId]:
    """Messages with a call without a result, and results without a call."""
    pairs = find_tool_pairs(messages)
    answered = set(pairs.call_id_of.values())
    yield from (messages[at].id for at, caller in pairs.caller_of.items() if caller == NO_CALLER)
    for message in messages:
        if isinstance(message.content, str):
            continue
        calls = (part for part in message.content if part.get("type") == "tool_call")
        if any("result" not in c and c.get("tool_call_id") not in answered for c in calls):
            yield message.id


LONGEST_SUMMARY = 100_000

NO_MODEL = (
    "No model is connected, so sentences are quoted. Edit the text, or connect a model first."
)

SumUp = Callable[[Sequence[Message], str], Awaitable[str]]
"""Writes a summary of messages, with the user's instructions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicCompaction:
    """Sums up topics."""

    chats: Chats
    chat_filter: ChatFilter
    selector: ContextSelector
    sidecars: Sidecars
    steps: UndoSteps
    costs: RequestCosts
    sum_up: SumUp
    has_writer: Callable[[], bool]

    async def compact_topics(
        self,
        chat_id: ChatId,
        topics: list[str],
        instructions: str = "",
        summary: str | None = None,
        apply: bool = False,
    ) -> JsonObject:
        """Show what a summary of topics would replace; with `apply`, put it in their place.

        Pinned messages, standing instructions, the newest, halves of tool calls and messages that
        are also about other topics stay word for word.

        Args:
            topics: Labels or ids of its topics.
            instructions: What the summary should keep.
            summary: The summary; by default a model writes one.
            apply: Store it; else nothing is changed.
        """
        if summary is not None:
            _check(summary)
        view = await self.chat_filter.view(chat_id)
        named = await named_topics(view, self.selector, topics)
        recent = self.selector.settings_of(view.sidecar.state).recent_messages
        plan = plan_of(view, named, recent=recent)
        found: JsonObject = {"chat_id": chat_id, "topics": list(named.labels)}
        if not plan.summed_up:
            if apply:
                raise CommandFailed(_nothing_left(plan))
            return {**found, **await self._account(view, plan, None, "")}
        text = summary
        if text is None:
            text = await self.sum_up(plan.summed_up, instructions)
            _check(text)
            found |= {} if self.has_writer() else {"problem": NO_MODEL}
        made = topic_summary(
            new_message_id(),
            text,
            summarizes=[message.id for message in plan.summed_up],
            topics=named.labels,
            created_at=utc_stamp(),
        )
        account = await self._account(view, plan, made, text)
        if not apply:
            return {**found, **account}
        if summary is None and account["tokens_after"] >= account["tokens_before"]:
            raise CommandFailed(
                "Nothing to gain: with the summary, the next message would send "
                f"{account['tokens_after']:,} tokens, now {account['tokens_before']:,}."
            )
        await self._put(chat_id, plan, made, named.labels)
        return {**found, **account, "message_id": made.id}

    async def _account(
        self, view: ChatView, plan: Plan, made: Message | None, text: str
    ) -> JsonObject:
        """The preview of the summary for the user."""
        before = after = await self._tokens(view)
        if made is not None:
            shortened = _with(view.messages, plan, made)
            history = await self.chat_filter.history(shortened, of_client=view.is_of_client)
            after = await self._tokens(replace(view, messages=shortened, history=tuple(history)))
        kept = {kept.message_id for kept in plan.kept}
        said = [*plan.summed_up, *(m for m in view.messages if m.id in kept)]
        claims = await asyncio.to_thread(unsupported, without_head(text), said)
        return {
            "summary": text,
            "summed_up": [message.id for message in plan.summed_up],
            "kept": [kept._asdict() for kept in plan.kept],
            "tokens_before": before,
            "tokens_after": after,
            "unsupported": claims,
        }

    async def _tokens(self, view: ChatView) -> int:
        """The tokens that the next message of this chat would send."""
        return int((await self.costs.of(view, await self.selector.decide(view)))["sent"])

    async def _put(self, chat_id: ChatId, plan: Plan, made: Message, labels: Sequence[str]) -> None:
        """Store a summary if the messages that it replaces are unchanged."""

        def put(document: JsonObject) -> None:
            messages = messages_of(document)
            if any(message.generating for message in messages):
                raise ChatBusy("this chat is still being answered; stop that first, or wait")
            behind = standing_for(messages)
            current = {m.id: m for m in messages if m.id not in behind}
            is_as_it_was = all(
                current.get(m.id) is not None and current[m.id].content == m.content
                for m in plan.summed_up
            )
            if not (is_as_it_was and insert_after(document, plan.summed_up[-1].id, made)):
                raise CommandFailed("The chat has changed meanwhile; look at it again.")

        await self.chats.update(chat_id, put, creates=False)
        now = await self.sidecars.of(chat_id)
        done = Summary(message_id=made.id, words=f"{', '.join(labels)} summed up")
        self.steps.push(chat_id, UndoStep(before=now, after=now.state, summary=done))
        await self.chat_filter.announce(chat_id)


def _check(summary: str) -> None:
    if not without_head(summary).strip():
        raise InvalidParams("summary: expected a text, found an empty one")
    if len(summary) > LONGEST_SUMMARY:
        raise InvalidParams(
            f"summary: expected at most {LONGEST_SUMMARY:,} characters, found {len(summary):,}"
        )


def _nothing_left(plan: Plan) -> str:
    reasons = ", ".join(dict.fromkeys(kept.why for kept in plan.kept))
    return f"Nothing to sum up: {reasons or 'no message of these topics is sent in full'}."


def _with(messages: Sequence[Message], plan: Plan, made: Message) -> tuple[Message, ...]:
    last = next(at for at, m in enumerate(messages) if m.id == plan.summed_up[-1].id)
    return (*messages[: last + 1], made, *messages[last + 1 :])

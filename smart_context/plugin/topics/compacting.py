"""The command that sums up topics of a chat: what it would do first, then with `apply` the deed."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from smart_context.base.errors import ChatBusy, CommandFailed, InvalidParams
from smart_context.base.times import utc_stamp
from smart_context.base.values import JsonObject
from smart_context.chat.compaction import insert_after
from smart_context.chat.ids import check_chat_id, new_message_id
from smart_context.chat.messages import ChatId, Message, messages_of
from smart_context.chat.topic_summaries import standing_for, topic_summary
from smart_context.host.commands.registry import CommandHandler
from smart_context.plugin.choices.sidecars import Sidecars
from smart_context.plugin.choices.undo import Step, Summary, UndoSteps
from smart_context.plugin.forecast.costs import TokenLedger
from smart_context.plugin.selection.chat_filter import ChatFilter
from smart_context.plugin.selection.selector import ChatView, ContextSelector
from smart_context.plugin.topics.members import named_topics
from smart_context.plugin.topics.summing_up import Plan, plan_of
from smart_context.storage.ports import Chats
from smart_context.topics.summaries.claims import unsupported
from smart_context.topics.summaries.digest import without_head

LONGEST_SUMMARY = 100_000

NO_MODEL = (
    "No model writes summaries here, so sentences are quoted. Edit the text, or choose a fast "
    "model under Settings, Models."
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
    ledger: TokenLedger
    sum_up: SumUp
    has_writer: Callable[[], bool]

    def commands(self) -> Mapping[str, CommandHandler]:
        """The command by name."""
        return {"compact_topics": self.compact_topics}

    async def compact_topics(
        self,
        chat_id: str,
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
            summary: The summary; by default the fast model writes one.
            apply: Store it; else nothing is changed.
        """
        checked = check_chat_id(chat_id)
        if summary is not None:
            _check(summary)
        view = await self.chat_filter.view(checked)
        named = await named_topics(view, self.selector, topics)
        recent = self.selector.settings_of(view.sidecar.state).recent_messages
        plan = plan_of(view, named, recent=recent)
        found: JsonObject = {"chat_id": checked, "topics": list(named.labels)}
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
            raise CommandFailed("Nothing to gain: the summary would be longer than the messages.")
        await self._put(checked, plan, made, named.labels)
        return {**found, **account, "message_id": made.id}

    async def _account(
        self, view: ChatView, plan: Plan, made: Message | None, text: str
    ) -> JsonObject:
        """What the user is shown before the deed."""
        after = view.history
        if made is not None:
            shortened = _with(view.messages, plan, made)
            after = await self.chat_filter.history(shortened, of_client=view.is_of_client)
        kept = {kept.message_id for kept in plan.kept}
        said = [*plan.summed_up, *(m for m in view.messages if m.id in kept)]
        claims = await asyncio.to_thread(unsupported, without_head(text), said)
        return {
            "summary": text,
            "summed_up": [message.id for message in plan.summed_up],
            "kept": [kept._asdict() for kept in plan.kept],
            "tokens_before": await self._tokens(view.chat_id, view.history),
            "tokens_after": await self._tokens(view.chat_id, after),
            "unsupported": claims,
        }

    async def _tokens(self, chat_id: ChatId, history: Sequence[Message]) -> int:
        costs = await asyncio.to_thread(self.ledger.costs, chat_id, history)
        return int(costs.tokens.sum())

    async def _put(self, chat_id: ChatId, plan: Plan, made: Message, labels: Sequence[str]) -> None:
        """Store a summary, if what it replaces is as it was."""

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
        self.steps.push(chat_id, Step(before=now, after=now.state, summary=done))
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

"""The commands that shorten a chat's context: compact, clear, undo.

The messages stay in the chat; their summary follows them as a visible message.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from smart_context.base.errors import ChatBusy, CommandFailed, SmartContextError
from smart_context.base.values import CountTokens, JsonObject, PersonId
from smart_context.chat.clients import client_history, is_of_client
from smart_context.chat.compaction import (
    CompactionKind,
    insert_after,
    is_clearing,
    newest_summary,
    sent_text,
    since,
    summary_message,
    without_summary,
)
from smart_context.chat.ids import new_message_id
from smart_context.chat.messages import (
    SOURCE,
    ChatId,
    Message,
    MessageId,
    messages_of,
    standing_for,
)
from smart_context.host.commands.registry import Caller, CommandRegistry
from smart_context.host.events.events import ChatSummed, Compacting
from smart_context.host.models import HistoryBuilder
from smart_context.host.request.prompt import prompt_messages
from smart_context.host.request.tokens import prompt_tokens, tokens_of_texts
from smart_context.host.request.window import COMPACTION_SHARE, KEPT_SHARE, Window
from smart_context.host.tasks import TaskOwner
from smart_context.host.turn import Turn
from smart_context.host.turns.turns import Turns
from smart_context.llm.estimating import utf8_bytes
from smart_context.llm.models import PromptMessage
from smart_context.llm.tokens import counting
from smart_context.storage.ports import Chats, Storage

T = TypeVar("T")

_FEWEST = 2
"""The minimum number of messages for a summary in the background."""

_ENOUGH = 4
"""The minimum number of messages before the last turn for that turn to stay word for word."""

_NO_GAIN = (
    "Nothing to gain: with a summary, {after:,} tokens of messages would be sent, now {now:,}."
)

_CHANGED = "The chat has changed meanwhile; try again."

CLEARED = "The messages above this one are no longer part of the context."

CLEARING = "Context cleared"

_NEXT_MESSAGE = Message(id=MessageId("draft"), role="user", content="…")

_logger = logging.getLogger(__name__)


Digest = Callable[[Sequence[Message], str, bool], Awaitable[str]]
"""Writes a summary of messages and the previous summary; the last argument: a person asked."""


class NothingGained(CommandFailed):
    """With the summary, more tokens would be sent than without."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Replacement:
    """A summary, and the messages in whose place it is sent."""

    previous: Message | None  # the summary before it; `None` for the first one
    boundary: Message  # the last of the messages; the summary follows it
    said: Sequence[Message]  # the messages since the previous summary
    summary: Message


@dataclass(frozen=True, slots=True, kw_only=True)
class Compactions:
    """Puts summaries into chats, one at a time per chat."""

    storage: Storage  # its leases let one server at a time sum up a chat
    turns: Turns
    digest: Digest
    window: Callable[[], Window | None]  # the chat model's window; `None` if unknown
    build_history: HistoryBuilder
    count: CountTokens
    tell_plugins: Callable[[ChatSummed], Awaitable[None]]  # about a new or removed summary
    ask_plugins: Callable[[Compacting], Awaitable[None]]  # lets them sum up instead
    _tasks: TaskOwner = field(
        default_factory=lambda: TaskOwner("compaction", is_waited_for=True), init=False
    )
    _in_background: TaskOwner = field(default_factory=lambda: TaskOwner("compaction"), init=False)
    _under_way: dict[ChatId, asyncio.Task[JsonObject | SmartContextError]] = field(
        default_factory=dict, init=False
    )
    _unasked: dict[ChatId, asyncio.Task[JsonObject | SmartContextError]] = field(
        default_factory=dict, init=False
    )

    def register(self, commands: CommandRegistry) -> None:
        """Register the commands."""
        commands.register_all("chat", self.compact, self.clear_context, self.undo_compaction)

    async def compact(self, chat_id: ChatId, caller: Caller) -> JsonObject:
        """Summarize what was said before the last turn; the summary is sent in its place.

        With topics picked, what they keep is summed up. A summary with which more would be sent
        is refused, and the chat stays as it is. If the chat is being summarized already, this
        waits for that summary.
        """
        self._check_unanswered(chat_id)
        await self._end_unasked(chat_id)
        task = self._under_way.get(chat_id)
        if task is None:
            work = self._alone(chat_id, lambda: self._whole(chat_id, caller.person))
            task = _remembered(self._under_way, chat_id, self._tasks.spawn(work))
        done = await asyncio.shield(task)
        if isinstance(done, SmartContextError):
            raise done
        return done

    async def clear_context(self, chat_id: ChatId, caller: Caller) -> JsonObject:
        """Stop sending what was said so far, and its summary; all stays in the chat."""
        await self._be_quiet(chat_id)
        messages = await self._chats(caller.person).messages(chat_id)
        previous = newest_summary(messages)
        said = since(messages, previous)
        is_summary_sent = previous is not None and not said and not is_clearing(previous)
        boundary = previous if previous and is_summary_sent else _last(said)
        clearing = self._summary(CLEARED, boundary, "cleared")
        put = _Replacement(previous=previous, boundary=boundary, said=said, summary=clearing)
        return await self._put(chat_id, caller.person, put)

    async def undo_compaction(
        self, chat_id: ChatId, caller: Caller, message_id: str | None = None
    ) -> JsonObject:
        """Remove a summary, the newest by default; its messages are sent again."""
        await self._be_quiet(chat_id)
        messages = await self._chats(caller.person).messages(chat_id)
        summary = _to_be_undone(messages, message_id)

        def undo(document: JsonObject) -> None:
            without_summary(document, summary.id)

        await self._chats(caller.person).update(chat_id, undo, creates=False)
        await self._tell(chat_id, caller.person, summary, "")
        return {"chat_id": chat_id, "message_id": summary.id}

    def after(self, turn: Turn) -> None:
        """Compact the chat in the background if the turn nearly filled the window."""
        window = self.window()
        chat_id = turn.chat_id
        is_under_way = chat_id in self._under_way or chat_id in self._unasked
        if window is None or turn.error or not turn.sent or is_under_way:
            return
        if turn.was_cut or _filled(turn, utf8_bytes) > window.share(COMPACTION_SHARE):
            work = self._alone(chat_id, lambda: self._shorten(turn, window))
            _remembered(self._unasked, chat_id, self._in_background.spawn(work))

    async def close(self, timeout_s: float) -> None:
        """End the background work, within the time given."""
        owners = (self._tasks, self._in_background)
        await asyncio.gather(*(owner.close(timeout_s) for owner in owners))

    async def _alone(
        self, chat_id: ChatId, work: Callable[[], Awaitable[JsonObject]]
    ) -> JsonObject | SmartContextError:
        """The result of work in a chat, or its failure, to be shown if a person asked for it."""
        try:
            async with self.storage.leases.held(f"compaction {chat_id}"):
                return await work()
        except SmartContextError as error:
            _logger.info("chat %s was not summarized: %s", chat_id, error)
            return error

    async def _end_unasked(self, chat_id: ChatId) -> None:
        """Cancel a summary in the background, since the user's command has priority."""
        if task := self._unasked.get(chat_id):
            task.cancel()
            await asyncio.wait([task])

    async def _shorten(self, turn: Turn, window: Window) -> JsonObject:
        """Summarize the older messages of a chat whose turn nearly filled the window."""
        chat_id = turn.chat_id
        messages = await self._chats(turn.person).messages(chat_id)
        previous = newest_summary(messages)
        said = since(messages, previous)
        older = said[: await asyncio.to_thread(_first_kept, turn, said, window)]
        if len(older) < _FEWEST:
            return {"chat_id": chat_id}
        done = await self._compact(chat_id, turn.person, previous, older)
        _logger.info("chat %s nearly filled the model's window and was compacted", chat_id)
        return done

    async def _whole(self, chat_id: ChatId, person: PersonId) -> JsonObject:
        asked: Compacting = {"chat_id": chat_id, "person": person, "done": None, "refused": ""}
        await self.ask_plugins(asked)
        if asked["refused"]:
            raise CommandFailed(asked["refused"])
        if asked["done"] is not None:
            return asked["done"]
        messages = await self._chats(person).messages(chat_id)
        previous = newest_summary(messages)
        said = since(messages, previous)
        older = _before_last_turn(said)
        if older:
            try:
                return await self._compact(chat_id, person, previous, older, is_asked=True)
            except NothingGained:
                pass  # the last turn is most of the chat, so sum it up, too
        return await self._compact(chat_id, person, previous, said, is_asked=True)

    async def _compact(
        self,
        chat_id: ChatId,
        person: PersonId,
        previous: Message | None,
        said: Sequence[Message],
        *,
        is_asked: bool = False,
    ) -> JsonObject:
        known = previous.text if previous and previous.text != CLEARED else ""
        own = [message for message in said if not message.is_extracted]
        boundary = _last(said)
        text = await self.digest(own, known, is_asked)
        summary = self._summary(text, boundary, "compacted")
        count = self._tokens_shown if is_asked else self._tokens_in_window
        put = _Replacement(previous=previous, boundary=boundary, said=said, summary=summary)
        now, after = await self._now_and_after(chat_id, person, put, count)
        if after > now:
            raise NothingGained(_NO_GAIN.format(now=now, after=after))
        done = await self._put(chat_id, person, put)
        return {**done, "tokens_before": now, "tokens_after": after}

    def _summary(self, text: str, boundary: Message, kind: CompactionKind) -> Message:
        return summary_message(
            new_message_id(), text, boundary=boundary.id, created_at=self.turns.now(), kind=kind
        )

    async def _now_and_after(
        self,
        chat_id: ChatId,
        person: PersonId,
        put: _Replacement,
        count: Callable[[Sequence[PromptMessage]], int],
    ) -> tuple[int, int]:
        """The tokens of the next request's history, without and with the summary."""
        messages, others = await self._chats(person).snapshot(chat_id, SOURCE)
        place = next((at for at, m in enumerate(messages) if m.id == put.boundary.id), None)
        if place is None:
            raise CommandFailed(_CHANGED)
        shortened = (*messages[: place + 1], put.summary, *messages[place + 1 :])
        now = await self._sent(person, messages, others)
        after = await self._sent(person, shortened, others)
        return await asyncio.to_thread(count, now), await asyncio.to_thread(count, after)

    def _tokens_shown(self, prompt: Sequence[PromptMessage]) -> int:
        return sum(tokens_of_texts(message, self.count) for message in prompt)

    def _tokens_in_window(self, prompt: Sequence[PromptMessage]) -> int:
        return prompt_tokens(prompt, self.count)

    async def _sent(
        self, person: PersonId, messages: Sequence[Message], others: Mapping[str, Any]
    ) -> tuple[PromptMessage, ...]:
        """The history that the next message would send without a filter."""
        if is_of_client(others):
            history = [*await client_history(messages)]
        else:
            files = self.storage.for_person(person).blobs
            history = (await self.build_history((*messages, _NEXT_MESSAGE), files=files))[:-1]
        return prompt_messages("", history, _NEXT_MESSAGE.text)[:-1]

    async def _put(self, chat_id: ChatId, person: PersonId, put: _Replacement) -> JsonObject:
        """Store a summary of the messages since the previous one, if that is still the newest."""
        previous, summary = put.previous, put.summary

        def change(document: JsonObject) -> None:
            found = newest_summary(messages_of(document))
            is_as_it_was = (found and found.id) == (previous and previous.id)
            if not (is_as_it_was and insert_after(document, put.boundary.id, summary)):
                raise CommandFailed(_CHANGED)

        await self._chats(person).update(chat_id, change, creates=False)
        count = len(put.said)
        words = CLEARING if is_clearing(summary) else f"{count:,} messages summed up"
        await self._tell(chat_id, person, summary, words)
        return {"chat_id": chat_id, "message_id": summary.id, "summarised": count}

    def _chats(self, person: PersonId) -> Chats:
        return self.storage.for_person(person).chats

    async def _tell(self, chat_id: ChatId, person: PersonId, summary: Message, words: str) -> None:
        await self.tell_plugins(
            {"chat_id": chat_id, "person": person, "message_id": summary.id, "words": words}
        )

    async def _be_quiet(self, chat_id: ChatId) -> None:
        self._check_unanswered(chat_id)
        await self._end_unasked(chat_id)
        if chat_id in self._under_way:
            raise CommandFailed("this chat is being summarized; wait until that is done")

    def _check_unanswered(self, chat_id: ChatId) -> None:
        if self.turns.under_way(chat_id) is not None:
            raise ChatBusy("this chat is still being answered; stop that first, or wait")


def _before_last_turn(said: Sequence[Message]) -> Sequence[Message]:
    """The messages before the last turn, which may go on; none if they are less than `_ENOUGH`."""
    questions = [at for at, message in enumerate(said) if message.role == "user"]
    return said[: questions[-1]] if questions and questions[-1] >= _ENOUGH else ()


def _last(said: Sequence[Message]) -> Message:
    if not said:
        raise CommandFailed("Nothing was said since the last summary.")
    return said[-1]


def _to_be_undone(messages: Sequence[Message], message_id: str | None) -> Message:
    """The summary with this id; without an id, the newest one in use, or else the newest of all."""
    summaries = [message for message in messages if message.is_summary]
    if message_id is not None:
        summaries = [summary for summary in summaries if summary.id == message_id]
    else:
        newest = newest_summary(messages)
        in_use = {summary.id for summary in standing_for(messages).values()}
        in_use |= {newest.id} if newest else set()
        summaries = [summary for summary in summaries if summary.id in in_use] or summaries
        summaries.sort(key=lambda summary: summary.created_at)
    if not summaries:
        raise CommandFailed("Summary not found in this chat; it may have been undone already.")
    return summaries[-1]


def _remembered(
    known: dict[ChatId, asyncio.Task[T]], chat_id: ChatId, task: asyncio.Task[T]
) -> asyncio.Task[T]:
    """A task, remembered by its chat until it ends."""
    known[chat_id] = task
    task.add_done_callback(lambda _: known.pop(chat_id, None))
    return task


def _filled(turn: Turn, count: CountTokens) -> int:
    """The tokens that the next turn begins with: this turn's request and answer."""
    counted = turn.usage.prompt_tokens if turn.usage else 0
    return max(counted, prompt_tokens(turn.sent, count)) + count(turn.response or "")


def _first_kept(turn: Turn, said: Sequence[Message], window: Window) -> int:
    """Index of the first message that stays word for word; 0 if all can stay.

    Attached texts and results of tools count as they were sent. The first message that stays is
    a question; the last question always stays.
    """
    sent = {message.id: sent_text(message) for message in turn.history}
    texts = [sent.get(m.id, "" if m.is_extracted else m.text) for m in said]
    count = counting(reversed(texts), window.count)
    if not turn.was_cut and _filled(turn, count) <= window.share(COMPACTION_SHARE):
        return 0
    left = window.share(KEPT_SHARE)
    first = len(said)
    while first > 0 and (left := left - count(texts[first - 1])) >= 0:
        first -= 1
    while first < len(said) and said[first].role != "user":
        first += 1
    questions = [at for at, message in enumerate(said) if message.role == "user"]
    return min(first, questions[-1]) if questions else first

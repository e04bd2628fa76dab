"""The commands that shorten a chat's context: compact, clear, undo (contract E, in the product).

The originals stay in the chat; a summary stands behind them, for everybody to read.
"""

import logging
import secrets
from collections.abc import Awaitable, Callable, Sequence

from smart_context.chat.compaction import (
    Kind,
    insert_after,
    newest_summary,
    sent_text,
    since,
    summary_message,
    within_budget,
    without_summary,
)
from smart_context.chat.ids import check_chat_id
from smart_context.chat.messages import ChatId, JsonObject, Message, MessageId
from smart_context.chat.store import ChatStore
from smart_context.errors import CommandFailed
from smart_context.host.commands import CommandRegistry
from smart_context.host.tasks import TaskOwner
from smart_context.host.turn import Turn
from smart_context.host.turns import Turns
from smart_context.llm.tokens import count_tokens

NEAR_THE_WINDOW = 0.75
"""From this share of the model's window on a chat is compacted after its turn."""

KEPT_SHARE = 0.3
"""How much of the window the newest messages may fill that are then kept word for word."""

MOST_OF_THE_WINDOW = 0.9
"""How much of the window a request may fill; the rest is for the answer."""

PER_MESSAGE = 8
"""Tokens around each message, generously."""

CLEARED = "The messages above this one are no longer part of the context."

_logger = logging.getLogger(__name__)


Digest = Callable[[Sequence[Message], str], Awaitable[str]]
"""Writes a summary of messages, and of what came before them in a former summary."""


class Compactions:
    """Puts summaries into chats.

    Args:
        store: The chats.
        turns: Knows which are being answered.
        digest: Writes summaries.
        window: Tokens that the chat model takes, and its name; `None`: not known.
    """

    def __init__(
        self,
        store: ChatStore,
        turns: Turns,
        digest: Digest,
        window: Callable[[], tuple[int, str] | None],
    ) -> None:
        self._store = store
        self._turns = turns
        self._digest = digest
        self._window = window
        self._tasks = TaskOwner("compaction")

    def register(self, commands: CommandRegistry) -> None:
        """Make them callable."""
        commands.register("chat.compact", self.compact)
        commands.register("chat.clear_context", self.clear_context)
        commands.register("chat.undo_compaction", self.undo_compaction)

    async def compact(self, chat_id: str) -> JsonObject:
        """Sum up the chat so far; the summary is sent in place of the messages."""
        checked = self._quiet(chat_id)
        messages = await self._store.messages(checked)
        return await self._compact(checked, messages, since(messages, newest_summary(messages)))

    async def clear_context(self, chat_id: str) -> JsonObject:
        """Send nothing of what was said so far; it stays in the chat."""
        checked = self._quiet(chat_id)
        messages = await self._store.messages(checked)
        said = since(messages, newest_summary(messages))
        return await self._put(checked, said, _text_of(CLEARED), "cleared")

    async def undo_compaction(self, chat_id: str) -> JsonObject:
        """Take the newest summary out of the chat; its messages are sent again."""
        checked = self._quiet(chat_id)
        summary = newest_summary(await self._store.messages(checked))
        if summary is None:
            raise CommandFailed("There is no summary in this chat that could be undone.")
        await self._store.update(
            checked, lambda document: _ignore(without_summary(document, summary.id))
        )
        return {"chat_id": checked, "message_id": summary.id}

    def after(self, turn: Turn) -> None:
        """Compact the chat in the background if the turn came near the model's window."""
        window = self._window()
        if window is None or turn.error or not turn.sent:
            return
        limit, model = window
        counted = turn.usage.prompt_tokens if turn.usage else 0
        tokens = counted or _tokens(turn.sent, model)
        if turn.is_too_long or tokens > limit * NEAR_THE_WINDOW:
            self._tasks.latest(turn.chat_id, self._shorten(turn.chat_id, limit, model))

    async def close(self, timeout_s: float) -> None:
        """End what runs in the background, within the time given."""
        await self._tasks.close(timeout_s)

    async def _shorten(self, chat_id: ChatId, limit: int, model: str) -> None:
        messages = await self._store.messages(chat_id)
        said = since(messages, newest_summary(messages))
        older = said[: _kept_from(said, int(limit * KEPT_SHARE), model)]
        if len(older) > 1:
            await self._compact(chat_id, messages, older)
            _logger.info("chat %s came near the model's window and was compacted", chat_id)

    async def _compact(
        self, chat_id: ChatId, messages: Sequence[Message], said: Sequence[Message]
    ) -> JsonObject:
        former = newest_summary(messages)
        text = former.text if former and former.text != CLEARED else ""
        return await self._put(chat_id, said, lambda: self._digest(said, text), "compacted")

    async def _put(
        self,
        chat_id: ChatId,
        said: Sequence[Message],
        write: Callable[[], Awaitable[str]],
        kind: Kind,
    ) -> JsonObject:
        if not said:
            raise CommandFailed(
                "Nothing was said since the last summary, so there is none to make."
            )
        summary = summary_message(
            MessageId(secrets.token_hex(6)),
            await write(),
            boundary=said[-1].id,
            created_at=self._turns.now(),
            kind=kind,
        )
        found: list[bool] = []
        await self._store.update(
            chat_id, lambda document: found.append(insert_after(document, said[-1].id, summary))
        )
        if not found[0]:
            raise CommandFailed("The chat changed meanwhile; try again.")
        return {"chat_id": chat_id, "message_id": summary.id, "summarised": len(said)}

    def _quiet(self, chat_id: str) -> ChatId:
        checked = check_chat_id(chat_id)
        if self._turns.under_way(checked) is not None:
            raise CommandFailed("this chat is still being answered; stop that first, or wait")
        return checked


def keep_within(turn: Turn, window: int, model: str) -> None:
    """Leave the oldest messages out of a turn that is too much for its model.

    This is the last resort, for what nobody could foresee: a long message, a plugin's additions.
    """

    def cost(text: str) -> int:
        return count_tokens(text, model) + PER_MESSAGE

    room = int(window * MOST_OF_THE_WINDOW) - cost(turn.system_prompt) - cost(turn.message)
    kept = within_budget(
        turn.history, room, lambda message: cost(sent_text(message)), keep=turn.protected
    )
    if len(kept) < len(turn.history):
        left_out = len(turn.history) - len(kept)
        _logger.warning("chat %s: %d messages are too much for the window", turn.chat_id, left_out)
        turn.history = kept
        turn.is_too_long = True


def _text_of(text: str) -> Callable[[], Awaitable[str]]:
    async def write() -> str:
        return text

    return write


def _ignore(_result: object) -> None:
    """A change of a document gives nothing."""


def _tokens(sent: Sequence[JsonObject], model: str) -> int:
    return sum(count_tokens(str(message.get("content") or ""), model) for message in sent)


def _kept_from(said: Sequence[Message], max_tokens: int, model: str) -> int:
    """Where the newest messages begin that fit; they begin with a question."""
    left = max_tokens
    first = len(said)
    while first > 0 and (left := left - count_tokens(sent_text(said[first - 1]), model)) >= 0:
        first -= 1
    while first < len(said) and said[first].role != "user":
        first += 1
    return first

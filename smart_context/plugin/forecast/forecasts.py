"""A look at what a chat's next message would send, kept until something changes.

The page asks at each keystroke; what is typed changes neither the history nor the notes.
"""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

from smart_context.chat.messages import ChatId, Message, MessageId
from smart_context.chat.store import ChatStore
from smart_context.plugin.briefing.briefing import Briefing, Briefings
from smart_context.plugin.choices.sidecars import ChatSidecar, Sidecars
from smart_context.plugin.forecast.costs import Costs, TokenLedger
from smart_context.plugin.forecast.parts import Portions, portions
from smart_context.plugin.selection.chat_filter import ChatFilter, with_state
from smart_context.plugin.selection.selector import ChatView, Decision

MAX_LOOKS = 48
BRIEFED_S = 2.0
"""How old the notes and files of a preview may be."""

COUNTED_AT_ONCE = 20_000
"""Characters that are counted without leaving the event loop."""

Wish = tuple[tuple[str, ...] | None, float | None]
"""Topics and threshold instead of the chat's own."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Look:
    """What would be sent of a chat, and what that costs.

    Attributes:
        view: The chat.
        decision: What of it.
        costs: Of the decision's candidates.
        portions: The chat's part of the request.
    """

    view: ChatView
    decision: Decision
    costs: Costs
    portions: Portions


@dataclass(frozen=True, slots=True, eq=False)
class _Kept:
    look: Look
    stored: tuple[Message, ...]
    topics: object
    sidecar: ChatSidecar


@dataclass(frozen=True, slots=True, eq=False)
class _Briefed:
    chosen: object
    briefing: Briefing
    good_until: float


class Looks:
    """Looks at chats, and remembers the last ones.

    Args:
        chats: Where chats are.
        sidecars: What the user chose for them.
        chat_filter: Decides what is in context.
        briefings: What goes with their messages.
        ledger: What messages cost.
        count_tokens: Counts for the model that is chatted with.
        clock: Seconds that only grow.
    """

    def __init__(
        self,
        *,
        chats: ChatStore,
        sidecars: Sidecars,
        chat_filter: ChatFilter,
        briefings: Briefings,
        ledger: TokenLedger,
        count_tokens: Callable[[str], int],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._chats = chats
        self._sidecars = sidecars
        self._filter = chat_filter
        self._briefings = briefings
        self._ledger = ledger
        self._count_tokens = count_tokens
        self._kept: OrderedDict[tuple[ChatId, Wish], _Kept] = OrderedDict()
        self._briefed: dict[ChatId, _Briefed] = {}
        self._clock = clock

    async def at(
        self,
        chat_id: ChatId,
        topics: Sequence[str] | None = None,
        threshold: float | None = None,
    ) -> Look:
        """What would be sent of a chat, under its own filter or another; changes nothing.

        Raises:
            InvalidParams: If a label is empty or too long, or there are too many.
        """
        wish: Wish = (None if topics is None else tuple(topics), threshold)
        stored, others = await self._chats.snapshot(chat_id)
        sidecar = await self._sidecars.of(chat_id)
        kept = self._kept.get((chat_id, wish))
        public = others.get("topics")
        if kept and kept.stored is stored and kept.sidecar is sidecar and kept.topics == public:
            self._kept.move_to_end((chat_id, wish))
            return kept.look
        look = await self._look(chat_id, wish)
        if not look.decision.problem:  # else the next look may have more luck
            self._remember((chat_id, wish), _Kept(look, stored, public, sidecar))
        return look

    async def briefing(self, chat_id: ChatId, message: str) -> Briefing:
        """What goes with a message, of notes and files as they were a moment ago.

        They are not read at each keystroke, but again after a while: nobody tells of `git add`,
        and some vaults can't be watched.
        """
        state = (await self._sidecars.of(chat_id)).state
        chosen = (state.contexts, state.role, state.role_targets)
        known = self._briefed.get(chat_id)
        if known and known.chosen == chosen and self._clock() < known.good_until:
            return await self._briefings.with_message(known.briefing, message)
        briefing = await self._briefings.of(chat_id, message)
        if any(chosen) and not (briefing.contexts.problems or briefing.role.problems):
            good_until = self._clock() + BRIEFED_S
            self._briefed[chat_id] = _Briefed(chosen, briefing, good_until)
        return briefing

    def forget_contexts(self) -> None:
        """Notes or contexts have changed."""
        self._briefed.clear()

    async def weighed(self, view: ChatView, decision: Decision) -> Look:
        """A decision with what it costs."""
        return await weighed(self._ledger, view, decision, self._count_tokens)

    async def _look(self, chat_id: ChatId, wish: Wish) -> Look:
        topics, threshold = wish
        view = await self._filter.view(chat_id)
        if topics is not None:
            view = with_state(view, topics)
        decision = await self._filter.decide(view, threshold=threshold)
        return await self.weighed(view, decision)

    def _remember(self, key: tuple[ChatId, Wish], kept: _Kept) -> None:
        self._kept[key] = kept
        self._kept.move_to_end(key)
        while len(self._kept) > MAX_LOOKS:
            self._kept.popitem(last=False)


async def weighed(
    ledger: TokenLedger, view: ChatView, decision: Decision, count_tokens: Callable[[str], int]
) -> Look:
    """A decision with what it costs; counting much is done beside the event loop."""
    if ledger.unknown(view.chat_id, decision.candidates) > COUNTED_AT_ONCE:
        costs = await asyncio.to_thread(ledger.costs, view.chat_id, decision.candidates)
    else:
        costs = ledger.costs(view.chat_id, decision.candidates)
    return Look(
        view=view,
        decision=decision,
        costs=costs,
        portions=portions(view, decision, costs, count_tokens),
    )


def leaving_out(
    look: Look, left_out: Collection[MessageId], count_tokens: Callable[[str], int]
) -> Look:
    """The look without messages that had to go to keep within the model's window."""
    decision = look.decision.without(left_out)
    if decision is look.decision:
        return look
    return replace(
        look,
        decision=decision,
        portions=portions(look.view, decision, look.costs, count_tokens),
    )


def whole(
    look: Look, briefing: Briefing, count_tokens: Callable[[str], int], attached: str = ""
) -> Portions:
    """The portions of the whole request.

    Args:
        look: The history.
        briefing: What goes with the message, and the message itself.
        count_tokens: Counts for the model that is asked.
        attached: What of the message is attached texts.
    """
    said = count_tokens(briefing.message) if briefing.message else 0
    added = count_tokens(attached) if attached and attached in briefing.message else 0
    return replace(
        look.portions,
        role=briefing.role.tokens,
        contexts=briefing.contexts.tokens,
        attachments=look.portions.attachments + added,
        message=max(said - added, 0),
    )


def difference(before: Look, after: Look, most_ids: int = 500) -> dict[str, Any]:
    """What changes from one look to another: messages that come and go, and tokens."""
    old, new = before.decision.selection.kept, after.decision.selection.kept
    had, has = frozenset(old), frozenset(new)
    added = [message_id for message_id in new if message_id not in had]
    removed = [message_id for message_id in old if message_id not in has]
    return {
        "messages": len(added) - len(removed),
        "tokens": after.portions.tokens - before.portions.tokens,
        "added": added[:most_ids],
        "removed": removed[:most_ids],
        "added_count": len(added),
        "removed_count": len(removed),
    }

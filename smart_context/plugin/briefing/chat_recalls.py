"""Commands that attach messages of other chats, and their part of the system prompt."""

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

from smart_context.base.errors import CommandFailed, InvalidParams
from smart_context.base.values import CountTokens, JsonObject, PersonId
from smart_context.chat.ids import new_message_id
from smart_context.chat.messages import ChatId
from smart_context.host.access import NamesOwned, OwnedName
from smart_context.host.commands.registry import Caller
from smart_context.plugin.briefing.recall_prompt import (
    RecallContent,
    RecallShare,
    RecallsPrompt,
    recalls_prompt,
)
from smart_context.plugin.briefing.recall_sources import (
    RecalledMessages,
    RecallSources,
    SourceContent,
)
from smart_context.plugin.choices.sidecars import Sidecars
from smart_context.plugin.choices.state import LONGEST_LABEL, FilterState, Recall
from smart_context.plugin.notes.context_documents import ContextChanges
from smart_context.plugin.selection.chat_filter import ChatFilter
from smart_context.plugin.settings import ModelInUse

DEFAULT_TOKENS = 2_000
MOST_TOKENS = 200_000
PATIENCE_S = 20.0
"""Time that a turn waits for other chats before it goes on without them."""

_LONGEST_QUERY = 2_000


def _chats_of(messages: list[Any]) -> Iterable[OwnedName]:
    """The chats that a list of messages names."""
    named = (entry.get("chat_id") for entry in messages if isinstance(entry, dict))
    return [OwnedName("chat", chat_id) for chat_id in named if isinstance(chat_id, str)]


NamesChat = NamesOwned(lambda chat_id: [OwnedName("chat", chat_id)])
"""Marks a parameter that is another chat's id."""

NamesMessages = NamesOwned(_chats_of)
"""Marks a parameter that lists messages of other chats."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatRecalls:
    """Attaches messages of other chats to a chat, and gives their part of the system prompt."""

    sources: RecallSources
    messages: RecalledMessages
    chat_filter: ChatFilter
    sidecars: Sidecars
    changes: ContextChanges
    within: Callable[[int], int]
    model: ModelInUse
    logger: logging.Logger

    async def recall(  # noqa: PLR0913, PLR0917 - a parameter for each source
        self,
        chat_id: ChatId,
        caller: Caller,
        topic_id: str | None = None,
        from_chat: Annotated[str | None, NamesChat] = None,
        topics: list[str] | None = None,
        messages: Annotated[list[dict[str, Any]] | None, NamesMessages] = None,
        query: str | None = None,
        max_tokens: int = DEFAULT_TOKENS,
    ) -> JsonObject:
        """Send with each message what was said in other chats: the best that fits a budget.

        Exactly one source: a topic of all chats, a chat (or topics of it), messages by their ids,
        or a query over all chats. Only references are kept.
        """
        given = {"topic_id": topic_id, "from_chat": from_chat, "messages": messages, "query": query}
        source: JsonObject = {name: value for name, value in given.items() if value is not None}
        if topics is not None:
            source["topics"] = topics
        _check(chat_id, source, max_tokens)
        found = await self._found(chat_id, source, caller.person, max_tokens)
        made = Recall(
            id=new_message_id(),
            label=found.label[:LONGEST_LABEL],
            max_tokens=max_tokens,
            references=found.references,
            found=found.total,
            source={} if messages else source,
            person=caller.person,
        )

        def attach(state: FilterState) -> FilterState:
            nonlocal made
            same = (each.id for each in state.recalls if _is_same(each, made))
            made = replace(made, id=next(same, made.id))
            return state.recall(made)

        await self.chat_filter.change_state(chat_id, attach)
        self.changes.chat_changed(chat_id)
        shares = (await self.assemble(chat_id)).shares
        mine = (share for share in shares if share.content.recall_id == made.id)
        share = next(mine, _lost(made, ""))  # it may have been removed already
        return {
            "recall_id": made.id,
            "label": made.label,
            "chats": len(share.titles),
            "messages": len(share.sent),
            "tokens": share.tokens,
            "left_out": share.left_out,
        }

    async def recalls(self, chat_id: ChatId) -> JsonObject:
        """List what a chat recalls, with what it costs, what was left out and what is missing."""
        assembled = await self.assemble(chat_id)
        return {
            "chat_id": chat_id,
            "recalls": [_row(share) for share in assembled.shares],
            "tokens": assembled.tokens,
        }

    async def forget_recall(self, chat_id: ChatId, recall_id: str) -> JsonObject:
        """No longer send a recall; gives the others."""
        state = (await self.sidecars.of(chat_id)).state
        if recall_id not in {recall.id for recall in state.recalls}:
            raise CommandFailed(f"This chat has no recall {recall_id!r}; `recalls` lists them.")
        await self.chat_filter.change_state(chat_id, lambda now: now.forget_recall(recall_id))
        self.changes.chat_changed(chat_id)
        return await self.recalls(chat_id)

    async def assemble(
        self,
        chat_id: ChatId,
        recalls: Sequence[Recall] | None = None,
        *,
        count_tokens: CountTokens | None = None,
    ) -> RecallsPrompt:
        """The part of the system prompt that holds a chat's recalls; never fails."""
        if recalls is None:
            recalls = (await self.sidecars.of(chat_id)).state.recalls
        if not recalls:
            return RecallsPrompt()
        most = self.within(sum(recall.max_tokens for recall in recalls))
        count = count_tokens or self.model.count_tokens
        try:
            async with asyncio.timeout(PATIENCE_S):
                contents = [await self.messages.content(chat_id, recall) for recall in recalls]
                return await asyncio.to_thread(
                    recalls_prompt, contents, most=most, count_tokens=count
                )
        except TimeoutError:
            problem = f"Other chats could not be read within {PATIENCE_S:.0f} s; they are not sent."
        except Exception:
            self.logger.exception("what the chat %s recalls can't be read", chat_id)
            problem = "Other chats can't be read, so nothing of them is sent; see the log."
        return RecallsPrompt(shares=tuple(_lost(recall, problem) for recall in recalls))

    async def _found(
        self, chat_id: ChatId, source: Mapping[str, Any], person: PersonId, max_tokens: int
    ) -> SourceContent:
        match source:
            case {"from_chat": str(named), **rest}:
                return await self.sources.of_chat(named, rest.get("topics"), person, max_tokens)
            case {"messages": named}:
                return await self.sources.of_messages(named, person, max_tokens)
            case {"query": str(query)}:
                return await self.sources.of_query(
                    " ".join(query.split()), person, max_tokens, into=chat_id
                )
            case _:
                topic = str(source["topic_id"])
                return await self.sources.of_topic(topic, person, max_tokens, into=chat_id)


def _check(chat_id: ChatId, source: Mapping[str, Any], max_tokens: int) -> None:
    """Refuse a recall without exactly one source, or with a value out of bounds.

    Raises:
        InvalidParams: Says which parameter is wrong.
    """
    sources = [name for name in source if name != "topics"]
    if len(sources) != 1:
        named = ", ".join(sources) or "none"
        raise InvalidParams(
            f"expected one of topic_id, from_chat, messages and query, found {named}"
        )
    if "topics" in source and sources != ["from_chat"]:
        raise InvalidParams("topics: they are topics of from_chat, which is missing")
    if not 1 <= max_tokens <= MOST_TOKENS:
        raise InvalidParams(f"max_tokens: expected 1 to {MOST_TOKENS:,}, found {max_tokens}")
    if not source[sources[0]] or not str(source[sources[0]]).strip():
        raise InvalidParams(f"{sources[0]}: expected a value, found an empty one")
    if len(str(source.get("query", ""))) > _LONGEST_QUERY:
        raise InvalidParams(f"query: expected at most {_LONGEST_QUERY:,} characters")
    others = [source.get("from_chat"), *(o.name for o in _chats_of(source.get("messages", [])))]
    if chat_id in others:
        raise InvalidParams("A chat can't recall itself: its own messages are sent anyway.")


def _is_same(one: Recall, other: Recall) -> bool:
    """True if both have the same source, so that the later one replaces the earlier."""
    return one.source == other.source and (bool(one.source) or one.references == other.references)


def _row(share: RecallShare) -> JsonObject:
    """A recall as clients get it."""
    content = share.content
    titles = share.titles
    return {
        "recall_id": content.recall_id,
        "label": content.label,
        "chats": len(titles),
        "messages": len(share.sent),
        "tokens": share.tokens,
        "missing": list(content.missing),
        "left_out": share.left_out,
        "max_tokens": content.max_tokens,
        "is_cut": share.is_cut,
        "problem": content.problem,
        "sources": [
            {
                "chat_id": chat_id,
                "title": title,
                "message_ids": [
                    message.reference.message_id
                    for message in share.sent
                    if message.reference.chat_id == chat_id
                ],
            }
            for chat_id, title in titles.items()
        ],
    }


def _lost(recall: Recall, problem: str) -> RecallShare:
    return RecallShare(
        content=RecallContent(
            recall_id=recall.id, label=recall.label, max_tokens=recall.max_tokens, problem=problem
        )
    )

"""The tools about chats: list, read, explain; filter, pin and hide."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field

from smart_context.base.errors import CommandFailed
from smart_context.base.text.unicode_tables import normalized
from smart_context.base.values import CountTokens, JsonObject
from smart_context.chat.messages import Message
from smart_context.host.commands.registry import Caller, CommandHandler, CommandRegistry
from smart_context.host.reading import ReadAccess
from smart_context.mcp_server.paging import DEFAULT_TOKENS, PageRequest, asked_for, page_of_rows

MOST_LISTED = 200
_REASONS_AT_ONCE = 2_000
_READ_AT_ONCE = 50

ChatName = Annotated[str, Field(description="The chat's id, as list_chats gives it.")]
Topics = Annotated[
    list[str] | None, Field(description="Labels of topics; left out: those selected in the chat.")
]
Cursor = Annotated[
    str, Field(description="The next_cursor of the page before; left out: the first page.")
]
MaxTokens = Annotated[int, Field(description="The most tokens of the result.")]
MessageIds = Annotated[list[str], Field(description="Ids of messages, as read_chat gives them.")]
TopicNames = Annotated[list[str], Field(description="Labels of the chat's topics.")]


@dataclass(eq=False)
class ChatTools:
    """Tools about chats; each asks the commands and the reading service of the host."""

    commands: CommandRegistry  # the host's commands
    reading: ReadAccess  # the chats as callers may see them
    count: CountTokens  # counts tokens for the chat model

    async def list_chats(
        self,
        caller: Caller,
        query: Annotated[
            str, Field(description="Words that a chat's title or a message must contain.")
        ] = "",
        limit: Annotated[int, Field(description="The most chats on a page.")] = 50,
        cursor: Cursor = "",
        max_tokens: MaxTokens = DEFAULT_TOKENS,
    ) -> JsonObject:
        """List the chats, newest first: id, title, number of messages, time of the last."""
        summaries = await self.reading.rows(caller)
        if query.strip():
            found = {hit.chat_id for hit in await self.reading.search(caller, query)}
            terms = _folded(query).split()
            summaries = [
                row
                for row in summaries
                if row.id in found or all(term in _folded(row.title) for term in terms)
            ]
        rows: list[JsonObject] = [
            {
                "chat_id": row.id,
                "title": row.title,
                "messages": row.message_count,
                "updated_at": row.updated_at,
            }
            for row in summaries
        ]
        asked = asked_for("list_chats", cursor, max_tokens, query=query)
        first, _ = asked.place()
        last = first + max(1, min(limit, MOST_LISTED))
        page = await self._page(asked, {"total": len(rows)}, "chats", rows[:last])
        if page["next_cursor"] is None and last < len(rows):
            page["next_cursor"] = asked.cursor_at(last)
        return page

    async def read_chat(
        self,
        chat_id: ChatName,
        caller: Caller,
        topics: Annotated[
            list[str] | None,
            Field(description="Only the messages that these topics keep; left out: all."),
        ] = None,
        query: Annotated[str, Field(description="Only messages with all of these words.")] = "",
        cursor: Cursor = "",
        max_tokens: MaxTokens = DEFAULT_TOKENS,
    ) -> JsonObject:
        """Read the messages of a chat, oldest first; with topics, only those that they keep."""
        messages = await self._existing(caller, chat_id)
        told = {}
        if topics is not None:
            reasons, told["status"] = await self._reasons(caller, chat_id, messages, topics)
            messages = [m for m in messages if reasons.get(m.id, {}).get("in")]
        terms = _folded(query).split()
        if terms:
            messages = [m for m in messages if all(term in _folded(m.text) for term in terms)]
        asked = asked_for(
            "read_chat", cursor, max_tokens, chat_id=chat_id, topics=topics, query=query
        )
        document = await self.reading.document(caller, chat_id)
        told |= {"chat_id": chat_id, "title": document.get("title", "")}
        head = {**told, "total": len(messages)}
        return await self._page(asked, head, "messages", [_row(m) for m in messages])

    async def topics(  # noqa: PLR0913, PLR0917 - each is a parameter of the tool
        self,
        caller: Caller,
        chat_id: Annotated[
            str | None, Field(description="The chat's id; left out: the topics of all chats.")
        ] = None,
        merged: Annotated[
            bool, Field(description="Without chat_id: alike topics of all chats as one topic.")
        ] = False,
        query: Annotated[
            str, Field(description="Merged topics that fit it by words or meaning, best first.")
        ] = "",
        since: Annotated[
            str, Field(description="Of merged topics, messages from this ISO date or time on.")
        ] = "",
        until: Annotated[
            str, Field(description="Of merged topics, messages up to this ISO date or time.")
        ] = "",
        cursor: Cursor = "",
        max_tokens: MaxTokens = DEFAULT_TOKENS,
    ) -> JsonObject:
        """List the topics of a chat with their messages and what is sent, or those of all chats."""
        narrowed = {"query": query, "since": since, "until": until}
        asked = asked_for("topics", cursor, max_tokens, chat_id=chat_id, merged=merged, **narrowed)
        if chat_id is None and (merged or any(narrowed.values())):
            found = await self._call("atlas", caller, **narrowed)
            rows = found.pop("topics")
            return await self._page(asked, found, "topics", rows)
        if chat_id is None:
            return await self._topics_of_all(asked, caller)
        await self._existing(caller, chat_id)
        found = await self._call("get_topics", caller, chat_id=chat_id)
        rows = found.pop("topics")
        return await self._page(asked, {"chat_id": chat_id, **found}, "topics", rows)

    async def explain(
        self,
        chat_id: ChatName,
        caller: Caller,
        message: Annotated[
            str | None, Field(description="The id of one message; left out: all.")
        ] = None,
        topics: Topics = None,
        cursor: Cursor = "",
        max_tokens: MaxTokens = DEFAULT_TOKENS,
    ) -> JsonObject:
        """Say for each message whether it would be sent, why, with its score and tokens."""
        messages = await self._existing(caller, chat_id)
        wanted = [m for m in messages if message in {None, m.id}]
        if message is not None and not wanted:
            raise CommandFailed(f"There is no message {message!r} in this chat; see read_chat.")
        reasons, status = await self._reasons(caller, chat_id, wanted, topics)
        rows = [reasons[m.id] for m in wanted if m.id in reasons]
        asked = asked_for(
            "explain", cursor, max_tokens, chat_id=chat_id, message=message, topics=topics
        )
        head = {"chat_id": chat_id, "status": status}
        return await self._page(asked, head, "messages", rows)

    async def what_if(
        self,
        chat_id: ChatName,
        topics: Annotated[list[str], Field(description="Labels of topics; empty: no filter.")],
        caller: Caller,
        threshold: Annotated[
            float | None, Field(description="Similarity from -1 to 1; left out: the chat's.")
        ] = None,
        cursor: Cursor = "",
        max_tokens: MaxTokens = DEFAULT_TOKENS,
    ) -> JsonObject:
        """Show what other topics would send: tokens, messages in and out, the change; no change."""
        await self._existing(caller, chat_id)
        found = await self._call(
            "preview", caller, chat_id=chat_id, topics=topics, threshold=threshold
        )
        rows = found.pop("messages")
        del found["prompt"]  # it is in the body
        asked = asked_for(
            "what_if", cursor, max_tokens, chat_id=chat_id, topics=topics, threshold=threshold
        )
        return await self._page(asked, {"chat_id": chat_id, **found}, "messages", rows)

    async def receipt(
        self,
        chat_id: ChatName,
        caller: Caller,
        turn: Annotated[
            str | None,
            Field(description="The id of a turn, its question or answer; left out: the newest."),
        ] = None,
        cursor: Cursor = "",
        max_tokens: MaxTokens = DEFAULT_TOKENS,
    ) -> JsonObject:
        """Show what a turn sent to the model, and why each message was in or out."""
        await self._existing(caller, chat_id)
        found = await self._call("receipt", caller, chat_id=chat_id, turn=turn)
        rows = found.pop("messages")
        if found.get("body"):
            found.pop("prompt", None)  # it is in the body
        asked = asked_for("receipt", cursor, max_tokens, chat_id=chat_id, turn=turn)
        return await self._page(asked, found, "messages", rows)

    async def set_filter(
        self,
        chat_id: ChatName,
        topics: Annotated[list[str], Field(description="Labels of topics; empty: no filter.")],
        caller: Caller,
        max_tokens: MaxTokens = DEFAULT_TOKENS,
    ) -> JsonObject:
        """Select the topics that a chat's next message sends."""
        params = {"chat_id": chat_id, "topics": topics}
        return await self._made("smart_context.set_filter", caller, params, max_tokens)

    def marking(self, name: str, told: str) -> CommandHandler:
        """The tool that pins, hides or releases messages; `told` is its description for agents."""

        async def mark(
            chat_id: ChatName,
            message_ids: MessageIds,
            caller: Caller,
            max_tokens: MaxTokens = DEFAULT_TOKENS,
        ) -> JsonObject:
            params = {"chat_id": chat_id, "message_ids": message_ids}
            known = {message.id for message in await self._existing(caller, chat_id)}
            unknown = [message[:80] for message in message_ids if message not in known]
            if unknown and name != "release":  # marks of missing messages can be removed
                raise CommandFailed(
                    f"There is no message {unknown[0]!r} in this chat; see read_chat."
                )
            return await self._made(f"smart_context.{name}", caller, params, max_tokens)

        mark.__doc__ = told
        return mark

    async def recall(
        self,
        chat_id: ChatName,
        query: Annotated[str, Field(description="What it was about, in words.")],
        caller: Caller,
        budget: Annotated[int, Field(description="The most tokens of what is recalled.")] = 2_000,
        max_tokens: MaxTokens = DEFAULT_TOKENS,
    ) -> JsonObject:
        """Send, with each message of a chat, what other chats said about a subject."""
        params = {"chat_id": chat_id, "query": query, "max_tokens": budget}
        return await self._made("smart_context.recall", caller, params, max_tokens)

    async def split(
        self,
        chat_id: ChatName,
        topics: TopicNames,
        caller: Caller,
        title: Annotated[str, Field(description="Of the new chat; default: the labels.")] = "",
        move: Annotated[bool, Field(description="Also hide the messages in this chat.")] = False,
        max_tokens: MaxTokens = DEFAULT_TOKENS,
    ) -> JsonObject:
        """Copy the messages of topics into a new chat; returns its id."""
        params = {"chat_id": chat_id, "topics": topics, "title": title, "move": move}
        return await self._made("smart_context.split", caller, params, max_tokens)

    async def fork(
        self,
        chat_id: ChatName,
        message_id: Annotated[str, Field(description="The last message that goes along.")],
        caller: Caller,
        topics: Annotated[list[str] | None, Field(description="Topics to pick there.")] = None,
        max_tokens: MaxTokens = DEFAULT_TOKENS,
    ) -> JsonObject:
        """Make a new chat from all messages up to one; returns its id."""
        params = {"chat_id": chat_id, "message_id": message_id, "topics": topics}
        return await self._made("memory.fork", caller, params, max_tokens)

    async def compact_topics(
        self,
        chat_id: ChatName,
        topics: TopicNames,
        caller: Caller,
        instructions: Annotated[str, Field(description="What the summary should keep.")] = "",
        summary: Annotated[str | None, Field(description="Default: the fast model's.")] = None,
        apply: Annotated[bool, Field(description="Store it; else only show it.")] = False,
        max_tokens: MaxTokens = DEFAULT_TOKENS,
    ) -> JsonObject:
        """Show what a summary of topics would replace; with `apply`, put it in their place."""
        params = {
            "chat_id": chat_id,
            "topics": topics,
            "instructions": instructions,
            "summary": summary,
            "apply": apply,
        }
        return await self._made("smart_context.compact_topics", caller, params, max_tokens)

    async def _made(
        self, command: str, caller: Caller, params: Mapping[str, Any], max_tokens: int
    ) -> JsonObject:
        asked = asked_for(command, "", max_tokens)
        _ = asked.budget  # before anything is changed
        await self._existing(caller, params["chat_id"])
        made = {"chat_id": params["chat_id"], **await self.commands.call(command, params, caller)}
        kept = made.pop("kept", None)
        return await self._page(asked, made, "rows" if kept is None else "kept", kept or [])

    async def _topics_of_all(self, asked: PageRequest, caller: Caller) -> JsonObject:
        """A page of the chats that have topics, with their labels; only these chats are read."""
        summaries = [row for row in await self.reading.rows(caller) if row.topics]
        first, _ = asked.place()
        last = first + _READ_AT_ONCE
        rows: list[JsonObject] = [{} for _ in summaries[:first]]
        for row in summaries[first:last]:
            document = await self.reading.document(caller, row.id)
            labels = [topic.get("label", "") for topic in document.get("topics", ())]
            rows.append({"chat_id": row.id, "title": row.title, "topics": labels})
        page = await self._page(asked, {"total": len(summaries)}, "chats", rows)
        if page["next_cursor"] is None and last < len(summaries):
            page["next_cursor"] = asked.cursor_at(last)
        return page

    async def _existing(self, caller: Caller, chat_id: str) -> Sequence[Message]:
        if not await self.reading.has_chat(caller, chat_id):
            raise CommandFailed(f"There is no chat {chat_id[:80]!r}; list_chats lists them.")
        return await self.reading.messages(caller, chat_id)

    async def _reasons(
        self,
        caller: Caller,
        chat_id: str,
        messages: Sequence[Message],
        topics: Sequence[str] | None,
    ) -> tuple[Mapping[str, Any], str]:
        """The reason for each message by its id, and the number of sent messages in words."""
        reasons: dict[str, Any] = {}
        status = ""
        for start in range(0, len(messages), _REASONS_AT_ONCE):
            ids = [message.id for message in messages[start : start + _REASONS_AT_ONCE]]
            found = await self._call(
                "reasons", caller, chat_id=chat_id, message_ids=ids, topics=topics
            )
            reasons.update(found["reasons"])
            status = found["status"]
        return reasons, status

    async def _call(self, name: str, caller: Caller, **params: Any) -> JsonObject:
        return await self.commands.call(f"smart_context.{name}", params, caller)

    async def _page(
        self, asked: PageRequest, head: Mapping[str, Any], name: str, rows: Sequence[Any]
    ) -> JsonObject:
        return await asyncio.to_thread(page_of_rows, asked, head, name, rows, self.count)


def _row(message: Message) -> JsonObject:
    document = message.to_dict()
    row = {"id": message.id, "role": message.role, "content": message.text}
    kept = ("created_at", "model", "error")
    return row | {name: document[name] for name in kept if name in document}


def _folded(text: str) -> str:
    return normalized("NFC", text).casefold()

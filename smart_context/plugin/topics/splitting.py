"""The command that gives topics of a chat a chat of their own."""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from smart_context.base.errors import CommandFailed, InvalidParams
from smart_context.base.times import utc_stamp
from smart_context.base.values import JsonObject
from smart_context.chat.copies import SPLIT_FROM, SPLITS, copy_of, with_companions
from smart_context.chat.documents.lineage import NOBODY
from smart_context.chat.documents.parts import no_messages
from smart_context.chat.ids import check_chat_id, new_chat_id, new_message_id
from smart_context.chat.messages import ChatId, Message, MessageId, give_ids
from smart_context.chat.topic_summaries import summarized_by
from smart_context.plugin.selection.chat_filter import ChatFilter
from smart_context.plugin.selection.selector import ChatView, ContextSelector
from smart_context.plugin.topics.belongings import Belongings
from smart_context.plugin.topics.members import NamedTopics, named_topics
from smart_context.storage.ports import Chats

LONGEST_TITLE = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Splitting:
    """Splits chats by topic."""

    chats: Chats
    chat_filter: ChatFilter
    selector: ContextSelector
    belongings: Belongings

    async def split(
        self, chat_id: str, topics: list[str], title: str = "", move: bool = False
    ) -> JsonObject:
        """Copy the messages of topics into a new chat, with what belongs to them.

        Tool calls, results, questions of answers and standing instructions come along. With
        `move`, the messages that belong to no other topic are hidden here.
        """
        checked = check_chat_id(chat_id)
        words = " ".join(title.split())
        if len(words) > LONGEST_TITLE:
            raise InvalidParams(
                f"title: expected at most {LONGEST_TITLE} characters, found {len(words)}"
            )
        view = await self.chat_filter.view(checked)
        named = await named_topics(view, self.selector, topics)
        chosen = _chosen(view, named)
        if not any(message.id in named.ids for message in chosen):
            raise CommandFailed("None of this chat's messages belongs to these topics.")
        ids = {message.id: new_message_id() for message in chosen}
        made = new_chat_id()
        at = utc_stamp()
        origin = {"chat_id": checked, "topics": list(named.labels), "at": at}
        document = await self._document(checked, ids, words or ", ".join(named.labels), origin)
        await self.chats.save(made, document, reader=secrets.token_hex(4))
        await self.belongings.bring(checked, made, ids)
        await self._link(checked, {**origin, "chat_id": made})
        if move:
            own = _own(view, named, chosen)
            await self.chat_filter.change(checked, lambda state: state.hide(own))
        return {"chat_id": made, "messages": len(ids)}

    async def _document(
        self,
        chat_id: ChatId,
        ids: Mapping[MessageId, MessageId],
        title: str,
        origin: JsonObject,
    ) -> JsonObject:
        stored = await self.chats.load(chat_id, reader=NOBODY)
        give_ids(stored)  # which depend on a message's place
        entries = [e for e in stored["messages"] if isinstance(e, dict) and e["id"] in ids]
        return {**copy_of(stored, entries, ids), "title": title, SPLIT_FROM: origin}

    async def _link(self, chat_id: ChatId, split: JsonObject) -> None:
        def link(document: JsonObject) -> None:
            known = document.get(SPLITS)
            document[SPLITS] = [*(known if isinstance(known, list) else ()), split]

        await self.chats.update(chat_id, link, since=no_messages, creates=False)


def _chosen(view: ChatView, named: NamedTopics) -> list[Message]:
    """The messages that go into the new chat, in their order.

    A summary goes along if all that it stands for does.
    """
    said = [m for m in view.messages if not (m.is_summary or m.is_extracted)]
    standing = {m.id for m in said[:1] if m.role == "system"} | view.sticky_ids
    chosen = {m.id for m in with_companions(said, named.ids | standing)}
    present = {message.id for message in view.messages}
    named_by = {m.id: present.intersection(summarized_by(m)) for m in view.messages}
    whole = {name for name, ids in named_by.items() if ids and chosen >= ids}
    return [message for message in view.messages if message.id in chosen | whole]


def _own(view: ChatView, named: NamedTopics, chosen: Sequence[Message]) -> list[MessageId]:
    """The messages that were moved: of no other topic, and no standing instructions."""
    standing = {m.id for m in view.messages[:1] if m.role == "system"} | view.sticky_ids
    return [m.id for m in chosen if m.id not in named.elsewhere and m.id not in standing]

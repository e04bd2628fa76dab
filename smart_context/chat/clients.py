"""Chats of other programs, which keep the history themselves and send it with each request."""

from collections.abc import Mapping, Sequence
from typing import Any

from smart_context.chat.compaction import compaction_points
from smart_context.chat.history import ContextBuilderOptions, build_context
from smart_context.chat.messages import CUT, SOURCE, Message

_KEEP_ALL_ROUNDS = -1


def is_of_client(document: Mapping[str, Any]) -> bool:
    """True if another program keeps the chat's history and sends it with each request.

    False for a chat that was only imported from a program: it has no client key. The document
    needs no messages.
    """
    source = document.get(SOURCE)
    return isinstance(source, Mapping) and bool(source.get("key"))


async def client_history(messages: Sequence[Message]) -> tuple[Message, ...]:
    """The messages that go into the program's request when no filter is set.

    All messages that the program sends itself, with tool calls; a summary replaces the messages
    that it compacted.
    """
    sent = [message for message in messages if not message.extra.get(CUT)]
    if not any([message.is_summary for message in sent]):  # noqa: C419  a list is faster
        return tuple(sent)
    options = ContextBuilderOptions(
        attachment_resolver=_NoAttachments(),
        compaction_points=compaction_points(sent),
        keep_tool_call_rounds=_KEEP_ALL_ROUNDS,
    )
    return tuple(await build_context(sent, options))


class _NoAttachments:
    async def read(self, id: str) -> str | None:  # noqa: A002, ARG002 - the resolver's protocol
        return None

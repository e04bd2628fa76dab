"""Asks a plugin about one chat from the command line, and words its prompt."""

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

from smart_context.base.errors import CommandFailed
from smart_context.base.text.names import shown
from smart_context.base.text.scores import counted
from smart_context.chat.ids import check_chat_id
from smart_context.chat.messages import ChatId
from smart_context.cli.terminal.arguments import vault_option, vault_root
from smart_context.cli.terminal.output import json_format, show
from smart_context.storage.ports import Storage

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class VerbContext:
    """The vault that a verb is about, and the format in which it prints."""

    vault: Path | None
    output: str

    @property
    def root(self) -> Path:
        """The vault's folder."""
        return vault_root(self.vault)

    def ask(self, command: str, *, may_be_new: bool = False, **params: Any) -> dict[str, Any]:
        """The result of a command, about the chat `chat_id` if one is named.

        Args:
            command: The command's name, such as `smart_context.preview`.
            may_be_new: True if a missing chat counts as an empty one.

        Raises:
            CommandFailed: If the chat does not exist, or the command fails.
            ChatIdInvalid: If the id is not valid.
        """
        return asyncio.run(_ask(self.root, command, params, may_be_new=may_be_new))

    def show(self, result: T, as_text: Callable[[T], str]) -> None:
        """Print a result in the chosen format."""
        show(result, self.output, lambda: as_text(result))


def in_vault(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add `--vault` and `--format` to a verb, which gets them as `here`."""

    @wraps(command)
    def with_here(*, vault: Path | None, output: str, **others: Any) -> Any:
        return command(here=VerbContext(vault, output), **others)

    return vault_option(json_format(with_here))


async def existing_chat(storage: Storage, chat: str) -> ChatId:
    """Check that a chat exists; the error names the newest ones."""
    chat_id = check_chat_id(chat)
    if not await storage.chats.exists(chat_id):
        rows = await storage.chats.listing.rows(storage.person)
        known = ", ".join(row.id for row in rows[:5])
        raise CommandFailed(
            f"There is no chat {shown(chat, limit=60)} in this vault."
            + (f" Its newest chats: {known}." if known else " It has no chats yet.")
        )
    return chat_id


def chat_made(made: Mapping[str, Any]) -> str:
    """The report on a chat that was made from messages of another one."""
    return f"Chat {made['chat_id']} with {counted(made['messages'], 'message')}."


def body_as_text(body: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> str:
    """A request for people: all fields but the messages as JSON, then each message below its role.

    Args:
        body: The whole body, or only its messages.
    """
    if not isinstance(body, Mapping):
        return "\n\n".join(map(_message_as_text, body))
    lists = [name for name in ("messages", "input") if isinstance(body.get(name), list)]
    messages = body[lists[0]] if lists else ()
    others = {name: value for name, value in body.items() if name not in lists[:1]}
    fields = [f"[request]\n{_json(others)}"] if others else []
    return "\n\n".join((*fields, *map(_message_as_text, messages)))


def _message_as_text(message: Mapping[str, Any]) -> str:
    """A message below its role; other fields, such as tool calls, are JSON."""
    content = message.get("content")
    others = {name: value for name, value in message.items() if name not in {"role", "content"}}
    texts = [content if isinstance(content, str) else _json(content)] if content else []
    texts += [_json(others)] if others else []
    return "\n".join((f"[{message.get('role') or message.get('type')}]", *texts))


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)


async def _ask(
    root: Path, command: str, params: dict[str, Any], *, may_be_new: bool
) -> dict[str, Any]:
    # Imported here, since it would make --help slow.
    from smart_context.app.composition import running_host  # noqa: PLC0415 - see above

    async with running_host(root) as host:
        if "chat_id" in params and not may_be_new:
            await existing_chat(host.own_storage, params["chat_id"])
        return await host.commands.call(command, params, host.caller)

"""The pages' questions to the Smart Context plugin; no other file of `web` names its commands.

The host runs commands by name, so the web layer needs no import of the plugin.
"""

from collections.abc import Mapping
from typing import Any, cast

import anyio

from smart_context.base.errors import SmartContextError, UnknownCommand
from smart_context.base.results import ContextResult, PanelResult, TopicResult
from smart_context.base.values import JsonObject
from smart_context.host.commands.registry import Caller, CommandRegistry
from smart_context.topics.stored import public_topics
from smart_context.web.pages.views.panel_view import PanelView, early_panel, panel_view
from smart_context.web.pages.views.turn_view import ChatOfTurn

FILTER_PATIENCE_S = 0.4
"""The longest wait of a page for the filter; after that its script asks again."""


class SmartContextCommands:
    """The plugin's commands, for one caller."""

    def __init__(self, commands: CommandRegistry, caller: Caller) -> None:
        self._commands = commands
        self._caller = caller

    async def panel(self, chat_id: str, stored_topics: object) -> PanelView | None:
        """The panel of a chat; `None` if the plugin is turned off.

        Args:
            stored_topics: The topics in the chat's document, shown until the filter answers.
        """
        with anyio.move_on_after(FILTER_PATIENCE_S):
            answer = await self.ask("smart_context.get_topics", {"chat_id": chat_id})
            if answer is None:
                return None
            if "topics" in answer:
                return panel_view(cast("PanelResult", answer))
            return early_panel(public_topics(stored_topics), problem=str(answer.get("problem", "")))
        return early_panel(public_topics(stored_topics))

    async def chat_of_turn(self, chat_id: str) -> ChatOfTurn:
        """The receipts and topics of a chat; empty where they are unavailable."""
        named = {"chat_id": chat_id}
        topics = await self._listed("smart_context.get_topics", "topics", named)
        return ChatOfTurn(
            receipts=await self._listed("smart_context.receipts", "receipts", named),
            topics=cast("list[TopicResult]", topics),
            topic_map=await self.ask("smart_context.topic_map", named) or {},
        )

    async def has_recalls(self, chat_id: str) -> bool:
        """True if a chat without messages begins with content of other chats."""
        return bool(await self._listed("smart_context.recalls", "recalls", {"chat_id": chat_id}))

    async def has_notes(self) -> bool:
        """False if the vault is known to have no notes."""
        with anyio.move_on_after(FILTER_PATIENCE_S):
            answer = await self.ask("smart_context.list_notes", {"limit": 1})
            return not answer or answer.get("files") != 0
        return True

    async def contexts(self) -> list[ContextResult] | None:
        """The named contexts; `None` if the plugin is turned off."""
        answer = await self.ask("smart_context.list_contexts", {})
        return None if answer is None else cast("list[ContextResult]", answer.get("contexts", []))

    async def turn(
        self, chat_id: str, turn: str, *, compared: str | None, replayed: JsonObject | None
    ) -> JsonObject:
        """The receipt of a turn, or its replay; without a `turn`, the `problem`, if known."""
        named: JsonObject = {"chat_id": chat_id, "turn": turn}
        if replayed is not None:
            answer = await self.ask("smart_context.replay", named | replayed)
        else:
            compare = {"diff": compared} if compared else {}
            answer = await self.ask("smart_context.receipt", named | compare)
        return {"problem": "Smart Context is turned off."} if answer is None else answer

    async def ask(self, command: str, params: Mapping[str, Any]) -> JsonObject | None:
        """The result of a command; a `problem` if it failed, `None` if it does not exist."""
        try:
            return dict(await self._commands.call(command, params, self._caller))
        except UnknownCommand:
            return None
        except SmartContextError as error:
            return {"problem": str(error)}

    async def _listed(self, command: str, name: str, params: JsonObject) -> list[JsonObject]:
        answer = await self.ask(command, params)
        return list(answer.get(name, ())) if answer else []

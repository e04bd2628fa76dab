"""The plugin as the host sees it: builds its parts and registers them."""

from smart_context.host.cluster import ELSEWHERE
from smart_context.host.commands.registry import Client
from smart_context.host.events.events import (
    CHAT_CHANGED,
    CHAT_COPIED,
    CHAT_OPENED,
    CHAT_SUMMED,
    CHAT_VERSION_SHOWN,
    PIPELINE_CONTEXT,
    PIPELINE_END,
    PIPELINE_PROMPT,
    PIPELINE_START,
    SIDECAR_CHANGED,
)
from smart_context.host.plugins.api import PluginContext
from smart_context.plugin.composition import compose
from smart_context.plugin.topics.updates import EXTRACTION


class SmartContextPlugin:
    """Turns a chat's topics into a filter on what the model is sent."""

    async def on_load(self, context: PluginContext) -> None:
        """Register hooks, commands and the panel; the host undoes it when the plugin stops."""
        self._parts = parts = await compose(context)
        hooks = parts.hooks
        context.subscribe(PIPELINE_CONTEXT, hooks.narrow_history)
        context.subscribe(PIPELINE_PROMPT, hooks.brief)
        context.subscribe(PIPELINE_PROMPT, hooks.offer_files)
        context.subscribe(PIPELINE_END, hooks.settle)
        context.subscribe(PIPELINE_END, hooks.start_extraction)
        context.subscribe(CHAT_CHANGED, hooks.chat_changed)
        context.subscribe(SIDECAR_CHANGED, hooks.sidecar_changed)
        context.subscribe(f"{ELSEWHERE}{EXTRACTION}", hooks.extracted_elsewhere)
        context.subscribe(CHAT_OPENED, hooks.chat_opened)
        context.subscribe(CHAT_SUMMED, hooks.chat_summed)
        context.subscribe(CHAT_COPIED, hooks.chat_copied)
        context.subscribe(CHAT_VERSION_SHOWN, hooks.version_shown)
        extraction = parts.extraction
        context.subscribe(PIPELINE_START, extraction.turn_begun)
        context.subscribe(PIPELINE_END, extraction.turn_over)
        context.subscribe(CHAT_CHANGED, extraction.look)
        context.spawn(extraction.run())
        for name, command in parts.commands.items():
            context.register_command(f"smart_context.{name}", command)
        context.register_panel()

    async def on_client_connected(self, client: Client) -> None:
        """Do nothing: the host shows the panel, and the page asks for its chat."""

    async def on_unload(self) -> None:
        """Write what is pending."""
        await self._parts.cache.close()
        self._parts.notes.close()

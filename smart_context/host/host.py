"""The plugin host: puts bus, commands, turns and plugins together."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from smart_context.chat.files.costly_files import reading_in
from smart_context.chat.files.file_store import FILES_FOLDER, FileStore
from smart_context.chat.files.unused_files import remove_unused
from smart_context.chat.messages import ChatId, Message
from smart_context.chat.store import ChatStore
from smart_context.config import VaultConfig
from smart_context.disk.files import sweep
from smart_context.errors import CommandFailed, Fault
from smart_context.host.bus import HANDLER_TIMEOUT_S, EventBus, event_name
from smart_context.host.commands.chat import ChatCommands
from smart_context.host.commands.compaction import Compactions
from smart_context.host.commands.files import FileCommands, shown_images
from smart_context.host.commands.memory import MemoryCommands
from smart_context.host.commands.registry import Client, CommandRegistry
from smart_context.host.events import (
    CHAT_CHANGED,
    CHAT_OPENED,
    CONFIG_READ,
    PANEL_REGISTERED,
    PLUGINS_CHANGED,
    SIDECAR_CHANGED,
    Event,
)
from smart_context.host.models import Models
from smart_context.host.plugins.panels import Panels
from smart_context.host.plugins.running import LOAD_TIMEOUT_S, Plugins
from smart_context.host.relay import Relay
from smart_context.host.request.fitting import fitted, surely_fits
from smart_context.host.request.histories import HistoryBuilder
from smart_context.host.request.request import Request
from smart_context.host.request.tools import ToolSupport
from smart_context.host.request.window import Window, window_of
from smart_context.host.tasks import TaskOwner
from smart_context.host.turn import Turn
from smart_context.host.turns.learned_counts import TokenCounts
from smart_context.host.turns.pipeline import Pipeline
from smart_context.host.turns.repair import Repair
from smart_context.host.turns.turns import Turns
from smart_context.llm.models import ChatModel
from smart_context.processes.children import Children
from smart_context.threads import in_daemon_thread
from smart_context.trust.vault import VaultTrust
from smart_context.values import JsonObject
from smart_context.vault.followed import FollowedVault

__all__ = ["Client", "Host", "HostOptions", "Models"]

TURNS_STOP_S = 1.5
PLUGINS_STOP_S = 1.0
CLEAR_UP_AFTER_S = 60.0
CLEAR_UP_EACH_S = 24 * 3600.0

DigestBy = Callable[[Sequence[Message], str, ChatModel | None], Awaitable[str]]
"""Writes a summary of messages and of a former summary, by a model if there is one."""

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class HostOptions:
    """What rarely differs from one host to another.

    Attributes:
        system_prompt: What each turn begins with; plugins may change it.
        digest: Writes summaries of chats, with the model given or without one.
        built_in: The manifest of the product's plugin, if it is not the one shipped.
        handler_timeout_s: How long a plugin's handler may take.
        load_timeout_s: How long a plugin may take to be imported, and again to load.
        repairs: Put chats right after crashes and remove unused files: for a server, which
            lasts, and not for a command, which must not write to what it only reads.
        children: Where strangers' files, templates and texts are read; closed when the host stops.
    """

    system_prompt: str = ""
    digest: DigestBy | None = None
    built_in: Path | None = None
    handler_timeout_s: float = HANDLER_TIMEOUT_S
    load_timeout_s: float = LOAD_TIMEOUT_S
    repairs: bool = False
    children: Children = field(default_factory=Children)


class Host:
    """One vault, being served.

    Args:
        config: The vault's settings.
        store: Its chats.
        models: Who answers, finds topics and embeds.
        notes: The vault's notes, followed while the host runs; its own by default.
        trust: What the vault may do.
        build_history: Makes a history from stored messages (contract E).
        options: What rarely differs.

    Attributes:
        bus: Carries events to plugins.
        commands: What clients can ask for.
        children: Processes for work that may take too long or too much memory.
        files: What was attached to messages.
        notes: The vault's notes.
        panels: What plugins show beside a chat.
        plugins: The plugins and what became of each.
        tool_support: Which models take no tools.
        trust: What the vault may do.
        turns: The answers that are under way.
        compactions: Puts summaries into chats.
    """

    def __init__(
        self,
        *,
        config: VaultConfig,
        store: ChatStore,
        models: Models,
        trust: VaultTrust,
        build_history: HistoryBuilder,
        notes: FollowedVault | None = None,
        options: HostOptions | None = None,
    ) -> None:
        options = options or HostOptions()
        self.config = config
        self.store = store
        self.children = options.children
        self.files = FileStore(store.home / FILES_FOLDER, reading_in(options.children.files))
        self.models = models
        self.trust = trust
        self.notes = notes or FollowedVault(config.root, config.memory_dir)
        self.build_history = build_history
        self.bus = EventBus(handler_timeout_s=options.handler_timeout_s)
        self.commands = CommandRegistry()
        self.panels = Panels(self.emit)
        self.plugins = Plugins(
            self, trust, built_in=options.built_in, load_timeout_s=options.load_timeout_s
        )
        self.tool_support = ToolSupport()
        self._counts = TokenCounts()
        pipeline = Pipeline(self.bus, lambda: self.models, self.tool_support, self._prepare)
        self.turns = Turns(
            store=store,
            pipeline=pipeline,
            build_history=build_history,
            emit=self.emit,
            system_prompt=options.system_prompt,
            after=self._after,
        )
        self._write_digest = options.digest
        self.compactions = Compactions(store, self.turns, self._digest, lambda: self.window)
        self._repair = Repair(store, self.turns) if options.repairs else None
        self._relay = Relay(self.bus)
        self._tasks = TaskOwner("host")
        self._changing = asyncio.Lock()
        self._undo: list[Callable[[], None]] = []

    @property
    def window(self) -> Window | None:
        """What the chat model takes at once; `None` when that is not known."""
        endpoint = self.config.chat
        model = endpoint.model if endpoint else ""
        return window_of(endpoint, lambda text: self._counts.count(text, model))

    async def start(self) -> None:
        """Register the host's commands, start the plugins and watch the chats."""
        repair = self._repair.chat if self._repair else _leave
        ChatCommands(self.store, self.files, self.turns, repair, self._opened).register(
            self.commands
        )
        FileCommands(self.files, self.config.root).register(self.commands)
        MemoryCommands(self.store, self.turns, repair, self._relay.settled).register(self.commands)
        self.compactions.register(self.commands)
        self.commands.register("system.commands", self._list_commands)
        self.commands.register("system.plugins", self._list_plugins)
        changes = self.store.changes
        self._undo += [
            changes.on_change(lambda chat_id: self.emit(CHAT_CHANGED, {"chat_id": chat_id})),
            changes.on_sidecar_change(self._sidecar_changed),
        ]
        self._tasks.spawn(self._relay.run())
        self._tasks.spawn(changes.watch())
        self._tasks.spawn(self.notes.follow())
        if self._repair:
            self._tasks.spawn(self._repair.all())
            self._tasks.spawn(self._clear_up())
        async with self._changing:
            await self.plugins.start(self.config)

    async def stop(self) -> None:
        """Stop answers and plugins, keeping what there is; takes at most five seconds."""
        self.children.close()
        async with self._changing:
            await self.turns.close(TURNS_STOP_S)
            try:
                async with asyncio.timeout(PLUGINS_STOP_S):
                    await self.plugins.stop()
            except TimeoutError:
                _logger.warning("the plugins did not stop within %g s", PLUGINS_STOP_S)
            while self._undo:
                self._undo.pop()()
            await self.compactions.close(timeout_s=0.5)
            await self._tasks.close(timeout_s=0.5)
            await self.store.close()

    async def reload(self, config: VaultConfig, models: Models | None = None) -> None:
        """Go on with other settings: plugins whose settings changed are started anew.

        Args:
            config: The settings; another `memory_dir` takes effect at the next start.
            models: If others are in use from now on; then all plugins are started anew.
        """
        async with self._changing:
            if config.memory_dir != self.config.memory_dir:
                _logger.warning("memory_dir changed; start again for it to take effect")
            self.config = config
            has_other_models = models is not None and models is not self.models
            self.models = models or self.models
            await self.plugins.start(config, anew=has_other_models)
        self.emit(CONFIG_READ, {})
        self.emit(PLUGINS_CHANGED, await self._list_plugins())

    def report_faults(self, faults: Sequence[Fault]) -> None:
        """Tell log and clients that the settings file has faults; the former settings go on."""
        lines = [str(fault) for fault in faults]
        _logger.error("the settings file has faults and is not used: %s", "; ".join(lines))
        self.emit(CONFIG_READ, {"faults": lines})

    def emit(self, event: Event[Any] | str, payload: Mapping[str, Any]) -> None:
        """Tell all clients, then the plugins that subscribed to the event."""
        self._relay.send(event_name(event), dict(payload))

    def on_event(self, listener: Callable[[str, JsonObject], None]) -> Callable[[], None]:
        """Call a function with every event meant for clients, in order; must not block.

        Returns:
            A function that ends it.
        """
        return self._relay.listen(listener)

    async def client_connected(self, client: Client) -> None:
        """Show the panels to a new client, and tell the plugins."""
        for panel in self.panels.all():
            client.send(PANEL_REGISTERED.name, {**panel})
        await self.plugins.client_connected(client)

    async def client_disconnected(self, client: Client) -> None:
        """Its answers go on: they are stored, and other clients may be watching."""
        _logger.info("client %s is gone", client.id)

    async def _clear_up(self) -> None:
        """Remove attached files that no chat uses, a while after the start and then each day."""
        await asyncio.sleep(CLEAR_UP_AFTER_S)
        while True:
            await in_daemon_thread(lambda: sweep(self.store.home), name="unfinished files")
            gone = await in_daemon_thread(
                lambda: remove_unused(self.store.home, now=time.time()), name="unused files"
            )
            if gone:
                _logger.info("%d attached files that no chat used were removed", len(gone))
            await asyncio.sleep(CLEAR_UP_EACH_S)

    def _after(self, turn: Turn) -> None:
        if turn.window is not None:
            self._counts.learn(turn, turn.window.model)
        self.compactions.after(turn)

    async def _prepare(self, turn: Turn) -> None:
        """What a turn needs of the settings, last of all."""
        turn.images = await self._images(turn.history, turn.question.files)
        turn.window = self.window

    async def completed(self, request: Request) -> Request:
        """A request with all that a turn adds to it last, within the model's window.

        Raises:
            RequestTooLong: If it would not be sent.
        """
        images = await self._images(request.history, request.files)
        whole, window = replace(request, images=images), self.window
        if window is None or surely_fits(whole, window):
            return whole
        return await asyncio.to_thread(fitted, whole, window)

    async def _images(
        self, history: Sequence[Message], files: Sequence[Mapping[str, Any]]
    ) -> Mapping[str, str]:
        endpoint = self.config.chat
        if endpoint is None or not endpoint.images:
            return {}
        entries = [*files, *(file for m in reversed(history) for file in reversed(m.files))]
        return await shown_images(self.files, entries)

    async def _digest(self, messages: Sequence[Message], former: str) -> str:
        if self._write_digest is None:
            raise CommandFailed("Nobody is there to write summaries in this program.")
        return await self._write_digest(messages, former, self.models.fast)

    def _opened(self, chat_id: ChatId) -> None:
        self._relay.send_to_plugins(CHAT_OPENED.name, {"chat_id": chat_id})

    def _sidecar_changed(self, chat_id: ChatId) -> None:
        self._relay.send_to_plugins(SIDECAR_CHANGED.name, {"chat_id": chat_id})

    async def _list_commands(self) -> JsonObject:
        """List every command with its parameters (JSON Schema)."""
        return {"commands": self.commands.describe()}

    async def _list_plugins(self) -> JsonObject:
        """List every plugin and what became of it."""
        return {"plugins": [asdict(state) for state in self.plugins.states()]}


async def _leave(_chat_id: ChatId) -> None:
    """Leave a chat as it is."""

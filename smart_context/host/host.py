"""The plugin host: bus, commands, turns and plugins of one vault."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from smart_context.base.config import EndpointSettings, VaultConfig
from smart_context.base.errors import Fault, SmartContextError, shortened
from smart_context.base.processes.child import Children
from smart_context.base.threads import in_daemon_thread
from smart_context.base.values import OWNER, PersonId
from smart_context.chat.messages import ChatId, Message
from smart_context.host.access import EVERYBODY, Access, Audience, OwnerOnly, PersonalAccess
from smart_context.host.clearing import clear_up
from smart_context.host.cluster import Cluster
from smart_context.host.commands.chat import ChatCommands, CopyCommands
from smart_context.host.commands.compaction import Compactions
from smart_context.host.commands.files import FileCommands
from smart_context.host.commands.memory import MemoryCommands
from smart_context.host.commands.registry import Caller, Client, CommandRegistry
from smart_context.host.events.bus import (
    HANDLER_TIMEOUT_S,
    EventBus,
    EventListener,
    EventRelay,
    audience_of,
    event_name,
)
from smart_context.host.events.events import (
    CHAT_CHANGED,
    CHAT_COMPACTING,
    CHAT_COPIED,
    CHAT_SUMMED,
    CONFIG_READ,
    PANEL_REGISTERED,
    PLUGINS_CHANGED,
    SIDECAR_CHANGED,
    Event,
)
from smart_context.host.models import (
    MODEL,
    CurrentSettings,
    HistoryBuilder,
    Models,
    Summarizer,
    choice_in,
    no_summaries,
)
from smart_context.host.panels import Panels
from smart_context.host.plugins.running import LOAD_TIMEOUT_S, Plugins
from smart_context.host.plugins.services import Services
from smart_context.host.reading import ReadAccess
from smart_context.host.request.completion import RequestCompletion
from smart_context.host.request.known_models import Informant, KnownModels
from smart_context.host.request.tools import ToolSupport
from smart_context.host.request.window import Window
from smart_context.host.tasks import StoppableTasks, TaskOwner
from smart_context.host.turn import Turn
from smart_context.host.turns.page_source import TurnParts
from smart_context.host.turns.pipeline import Pipeline
from smart_context.host.turns.repair import Repair
from smart_context.host.turns.turns import Turns
from smart_context.host.turns.unsaved import UnsavedAnswers
from smart_context.llm.offers import Offers
from smart_context.storage.guarded.storage import SharedStorage
from smart_context.storage.ports import Storage
from smart_context.vault.followed import FollowedVault
from smart_context.vault.trust.vault import VaultTrust

__all__ = ["Client", "Host", "HostOptions", "Models"]

TURNS_STOP_S = 1.5
PLUGINS_STOP_S = 1.0

_log = logging.getLogger(__name__)


def _ignore_writing() -> None:
    """Do nothing, since no one needs to know of messages that are being written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostOptions:
    """Options of a host, each with a default."""

    system_prompt: str = ""  # the system prompt of each turn, which plugins may change
    digest: Summarizer | None = None  # writes summaries of chats
    # the manifest of the product's plugin, if it is not the one shipped
    built_in: Path | None = None
    handler_timeout_s: float = HANDLER_TIMEOUT_S  # maximum time for a plugin's handler
    # maximum time for a plugin's import, and again for its `on_load`
    load_timeout_s: float = LOAD_TIMEOUT_S
    # True for a server: repairs chats after crashes and removes unused files; a command that only
    # reads must not write
    repairs: bool = False
    # knows the owners of things if several people share the vault; `None` for one person
    people: SharedStorage | None = None
    person: PersonId = OWNER  # the person who uses it without a gate, as on the command line
    # asks the servers of models about their windows and more; `None` asks none
    informant: Informant | None = None
    offers: Offers = field(default_factory=Offers)  # the models that connections offer
    person_writes: Callable[[], None] = _ignore_writing  # told when a message is being written
    # processes for work that may take too long; closed when the host stops
    children: Children = field(default_factory=Children)


class Host:
    """Serves one vault.

    Args:
        notes: The vault's notes, followed while the host runs; its own by default.

    Attributes:
        services: The parts that plugins use.
        caller: Who calls commands without a gate, as on the command line.
        offers: The models that connections offer.
        reading: Reads chats, rows and files for pages and clients of the API.
        commands: The commands for clients.
        faults: The faults of the settings files, because of which earlier settings are in use.
    """

    def __init__(
        self,
        *,
        config: VaultConfig,
        storage: Storage,
        models: Models,
        trust: VaultTrust,
        build_history: HistoryBuilder,
        notes: FollowedVault | None = None,
        options: HostOptions | None = None,
    ) -> None:
        self._options = options = options or HostOptions()
        self._current = CurrentSettings(config=config, models=models)
        self.faults: list[str] = []
        self.access = access = _access_of(options)
        self.caller = Caller(options.person)
        self.offers = options.offers
        bus = EventBus(handler_timeout_s=options.handler_timeout_s)
        self._known = KnownModels(storage.caches, options.informant)
        completion = RequestCompletion(lambda: self.config.chat, self._known)
        self.services = services = Services(
            current=self._current,
            bus=bus,
            relay=EventRelay(bus),
            commands=CommandRegistry(access, self._model_of),
            access=access,
            panels=Panels(self.emit),
            storage=storage,
            notes=notes or FollowedVault(config.root, config.memory_dir, caches=storage.caches),
            children=options.children,
            trust=trust,
            pipeline=Pipeline(bus, lambda: self.models, ToolSupport(), completion, storage),
            build_history=build_history,
            digest=options.digest or no_summaries,
            offers=options.offers,
            stops=StoppableTasks(),
            person_writes=options.person_writes,
        )
        self.reading = ReadAccess(storage, access)
        self.bus = bus
        self.commands, self.panels = services.commands, services.panels
        self.notes = services.notes
        self.plugins = Plugins(services, options.built_in, options.load_timeout_s)
        self.turns = Turns(
            TurnParts(
                storage=storage,
                unsaved=UnsavedAnswers(storage.chats, self.emit),
                pipeline=services.pipeline,
                build_history=build_history,
                emit=self.emit,
                system_prompt=options.system_prompt,
                after=self._after,
            ),
            services.stops,
        )
        self.compactions = Compactions(
            storage=storage,
            turns=self.turns,
            digest=self._digest,
            window=lambda: completion.window,
            build_history=build_history,
            count=self.count_tokens,
            tell_plugins=lambda summed: bus.publish(CHAT_SUMMED, summed),
            ask_plugins=lambda asked: bus.publish(CHAT_COMPACTING, asked),
        )
        self._tasks = TaskOwner("host")
        self._cluster = Cluster(storage, services.relay, self.turns.stop, self._tasks)
        self._changing = asyncio.Lock()
        self._undo: list[Callable[[], None]] = []

    @property
    def config(self) -> VaultConfig:
        """The settings in use now."""
        return self._current.config

    @property
    def default_config(self) -> VaultConfig:
        """The settings in use now, regardless of a chat's own model."""
        return self._current.default_config

    @property
    def own_storage(self) -> Storage:
        """The storage of who uses this host without a gate."""
        return self.services.storage.for_person(self.caller.person)

    @property
    def models(self) -> Models:
        """The models in use now."""
        return self._current.models

    def window_of(self, endpoint: EndpointSettings | None) -> Window | None:
        """A model's window: from the settings, its server, or a table; `None` if unknown."""
        return self.services.pipeline.completion.window_of(endpoint)

    def count_tokens(self, text: str) -> int:
        """The tokens of a text for the current chat model."""
        return self._known.counter(self.models.chat.name)(text)

    async def start(self) -> None:
        """Register the host's commands, start the plugins and watch the chats."""
        storage, people = self.services.storage, self._options.people
        store = storage.chats
        changes = people.changes if people else store.changes
        repairing = Repair(store, storage.answers, self.turns, self.emit)
        repair = repairing if self._options.repairs else None
        self._register_commands(repair.chat if repair else _leave)
        self._undo += [
            changes.on_change(self._chat_changed),
            changes.on_sidecar_change(self._sidecar_changed),
        ]
        self._tasks.spawn(self.services.relay.run())
        self._tasks.spawn(changes.watch())
        self._tasks.spawn(self._cluster.run())
        self._tasks.spawn(self.notes.follow())
        if repair:
            self._tasks.spawn(repair.all())
            if self._cluster.is_shared:
                self._tasks.spawn(repair.follow())
            self._tasks.spawn(clear_up(storage.clear_up))
        await self._known.load()
        async with self._changing:
            await self.plugins.start(self.config)
        await self._cluster.begun()

    async def stop(self) -> None:
        """Stop answers and plugins, and save the text so far; takes at most five seconds."""
        self.services.children.close()
        self.services.panels.close()
        async with self._changing:
            await self.turns.close(TURNS_STOP_S)
            try:
                async with asyncio.timeout(PLUGINS_STOP_S):
                    await self.plugins.stop()
            except TimeoutError:
                _log.warning("the plugins did not stop within %g s", PLUGINS_STOP_S)
            while self._undo:
                self._undo.pop()()
            await self.compactions.close(timeout_s=0.5)
            await self._cluster.settle()
            await self._known.close()
            await self._tasks.close(timeout_s=0.5)
            await self.services.storage.chats.close()

    async def reload(self, config: VaultConfig, models: Models | None = None) -> None:
        """Apply new settings, and restart the plugins whose settings changed.

        Args:
            config: The settings; another `memory_dir` takes effect at the next start.
            models: The new models, if they changed; then all plugins are restarted.
        """
        async with self._changing:
            if config.memory_dir != self.config.memory_dir:
                _log.warning("memory_dir changed; restart for it to take effect")
            if config.storage != self.config.storage:
                _log.warning("the storage changed; restart for it to take effect")
            has_other_models = models is not None and models is not self.models
            self._current.config = config
            self._current.models = models or self.models
            await self.plugins.start(config, restart=has_other_models)
        self.faults = []
        self.emit(CONFIG_READ, {}, EVERYBODY)
        self.emit(PLUGINS_CHANGED, await self.plugins.list_plugins(), EVERYBODY)

    def report_faults(self, faults: Sequence[Fault]) -> None:
        """Report faults of the settings file; the old settings stay in use."""
        self.faults = lines = [str(fault) for fault in shortened(faults)]
        _log.error("the settings file has faults and is not used: %s", "; ".join(lines))
        self.emit(CONFIG_READ, {"faults": lines}, EVERYBODY)

    def emit(
        self,
        event: Event[Any] | str,
        payload: Mapping[str, Any],
        audience: Audience | None = None,
        /,
    ) -> None:
        """Tell clients, then the plugins that subscribed to the event.

        Args:
            audience: The receivers; by default all who may see the payload's chat.

        Raises:
            ValueError: If it has neither a chat nor an audience.
        """
        reached = audience or audience_of(payload)
        if reached is None:
            raise ValueError(f"{event_name(event)}: name a chat_id in the payload, or an audience")
        self.services.relay.send(event, dict(payload), reached)

    async def check_storage(self) -> None:
        """Check that the storage answers; raises `StoreFailed` if it does not."""
        check = self.services.storage.check
        await in_daemon_thread(check, name="check of the storage")

    def figures(self) -> Mapping[str, tuple[str, float]]:
        """Figures about this server's work, by name, each with its description."""
        under_way = float(self.turns.count)
        return {
            "answers_under_way": ("Answers that this server is writing", under_way),
            **self.services.storage.figures(),
        }

    def on_event(self, listener: EventListener) -> Callable[[], None]:
        """Call `listener` with every event meant for clients, in order; it must not block.

        Returns:
            A function that ends the subscription.
        """
        return self.services.relay.listen(listener)

    async def client_connected(self, client: Client) -> None:
        """Show the panels to a new client, and tell the plugins."""
        for panel in self.panels.all():
            client.send(PANEL_REGISTERED.name, {**panel})
        await self.plugins.client_connected(client)

    async def client_disconnected(self, client: Client) -> None:
        """Log it; answers go on, since they are stored and other clients may be watching."""
        _log.info("client %s disconnected", client.id)

    def _register_commands(self, repair: Callable[[ChatId], Awaitable[None]]) -> None:
        commands, storage, settled = (
            self.commands,
            self.services.storage,
            self.services.relay.settled,
        )
        tell = self._tell_plugins
        ChatCommands(
            storage,
            self.turns,
            repair,
            tell,
            lambda: self.default_config,
            self._cluster,
            self.offers,
        ).register(commands)
        FileCommands(storage, self.config.root).register(commands)
        MemoryCommands(
            storage, self._stop_turn, repair, settled, self.emit, self._options.people
        ).register(commands)
        CopyCommands(storage, lambda made: self.bus.publish(CHAT_COPIED, made)).register(commands)
        self.compactions.register(commands)
        commands.register("system.commands", commands.list_commands)
        commands.register("system.plugins", self.plugins.list_plugins)

    async def _model_of(self, chat_id: str) -> str:
        """The chat's own model; empty if it has none, or if the chat can't be read."""
        try:
            return choice_in({MODEL: await self.services.storage.chats.value(chat_id, MODEL)})
        except SmartContextError:
            return ""

    def _after(self, turn: Turn) -> None:
        if turn.usage is not None:
            completion = self.services.pipeline.completion
            completion.learn_counts(turn.request, turn.sent, turn.usage.prompt_tokens)
        if self.config.chat is not None:
            self._known.ask_again(self.config.chat)
        self.compactions.after(turn)

    async def _digest(self, messages: Sequence[Message], previous: str, is_asked: bool) -> str:
        model = self.models.writer if is_asked else self.models.fast
        return await self.services.digest(messages, previous, model)

    async def _stop_turn(self, chat_id: ChatId) -> bool:
        """Stop a chat's turn on this or another server; returns False if there is none."""
        return await self.turns.stop(chat_id) or await self._cluster.stop(chat_id)

    def _chat_changed(self, chat_id: ChatId) -> None:
        self.emit(CHAT_CHANGED, {"chat_id": chat_id})

    def _sidecar_changed(self, chat_id: ChatId) -> None:
        self._tell_plugins(SIDECAR_CHANGED, {"chat_id": chat_id})

    def _tell_plugins(self, event: Event[Any], payload: Mapping[str, Any]) -> None:
        self.services.relay.send_to_plugins(event.name, dict(payload))


def _access_of(options: HostOptions) -> Access:
    people = options.people
    return OwnerOnly() if people is None else PersonalAccess(people)


async def _leave(_chat_id: ChatId) -> None:
    """Leave a chat as it is."""

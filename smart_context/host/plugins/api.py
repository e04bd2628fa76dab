"""The interface for plugins; `docs/plugins.md` is its manual."""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Hashable, Mapping, Sequence
from copy import copy
from pathlib import Path
from typing import Any, Protocol, TypeVar

from smart_context.base.config.endpoints import CACHE_TTL_S, Prices
from smart_context.base.errors import NameTaken
from smart_context.base.values import OWNER, PersonId
from smart_context.chat.messages import Message
from smart_context.host.access import EVERYBODY, Audience
from smart_context.host.commands.registry import Caller, Client, CommandHandler, HandlerOf
from smart_context.host.events.bus import Handler, audience_of, event_name
from smart_context.host.events.events import Event, Panel
from smart_context.host.models import (
    Models,
)
from smart_context.host.panels import OwnFiles, PanelFiles
from smart_context.host.plugins.manifest import RESERVED_IDS, Manifest
from smart_context.host.plugins.requests import Requests
from smart_context.host.plugins.services import Services
from smart_context.host.tasks import TaskOwner
from smart_context.storage.ports import Storage

P = TypeVar("P")
T = TypeVar("T")


class Plugin(Protocol):
    """A plugin's class; `on_client_connected(client)` and `on_unload()` are optional."""

    async def on_load(self, context: "PluginContext") -> None:
        """Register everything here."""

    async def on_client_connected(self, client: Client) -> None:
        """A client has connected and can be sent to."""

    async def on_unload(self) -> None:
        """The plugin stops; its registrations are gone and its background work has ended."""


class PluginContext:
    """One plugin's access to the host; its registrations end when it stops.

    Attributes:
        settings: Its settings, checked, with defaults.
        documents: JSON objects beside chats, for data of the plugin; deleted and restored with
            the chat.
        files: The files that are attached to messages, by storage key.
        storage: All storage of the vault, of all its people; `chats`, `documents` and `files` are
            parts of it. `for_person` gives a context with one person's share.
        person: The person whose share `storage` is; the owner of the installation for all of it.
        notes: The vault's notes, with one index that all plugins share.
        access: Decides who may use what.
        vault: The vault's folder, for reading.
        trust: The rights of the vault; blocks, so ask it in a thread.
        child: A process for work whose cost depends on the input, since it can be killed.
        requests: Makes requests as a turn would send them: window, drafts, completed requests.
    """

    def __init__(
        self,
        manifest: Manifest,
        settings: Mapping[str, Any],
        services: Services,
        own_files: OwnFiles | None = None,
    ) -> None:
        self.plugin_id = manifest.id
        self.settings = settings
        self.logger = logging.getLogger(f"smart_context.plugins.{manifest.id}")
        self.notes = services.notes
        self.access = services.access
        self.vault = services.current.config.root
        self.trust = services.trust
        self.child = services.children.texts
        self._manifest = manifest
        self._services = services
        self._own_files = own_files
        self._undo: list[Callable[[], None]] = []
        self._tasks = TaskOwner(f"plugin {manifest.id}")
        self._use(OWNER, services.storage)

    def for_person(self, person: PersonId) -> "PluginContext":
        """This context for the work that one person asks for: it reaches what they may use.

        Its registrations are those of this context.
        """
        own = copy(self)
        own._use(person, self._services.storage.for_person(person))  # noqa: SLF001 - of this class
        return own

    def _use(self, person: PersonId, storage: Storage) -> None:
        self.person = person
        self.storage = storage
        self.chats = storage.chats
        self.documents = storage.documents
        self.files = storage.blobs
        self.requests = Requests(self._services, storage.blobs)

    @property
    def models(self) -> Models:
        """The models in use now; they may change, so ask each time."""
        return self._services.current.models

    @property
    def instructions(self) -> str:
        """The instructions for every chat that are in use; empty for none."""
        return self._services.current.config.instructions

    @property
    def prices(self) -> Prices:
        """The prices of models; they may change, so ask each time."""
        return self._services.current.config.prices

    @property
    def cache_ttl_s(self) -> float:
        """Seconds for which providers keep a request's beginning; may change, so ask each time."""
        found = self._services.current.config.cache_ttl_s
        return CACHE_TTL_S if found is None else found

    @property
    def user_roles(self) -> Path | None:
        """The folder of the user's own roles and templates; it may not exist."""
        return self._services.current.config.user_roles

    def subscribe(
        self, event: Event[P] | str, handler: Handler[P], priority: int = 0
    ) -> Callable[[], None]:
        """Run an async function for each event of a name; higher priority runs first.

        Events for clients, such as `memory.chat_changed`, can be subscribed to as well.

        Returns:
            A function that ends the subscription.

        Raises:
            TypeError: If the handler is not async.
            ValueError: If `plugin.toml` lists events without this one.
        """
        name, listed = event_name(event), self._manifest.subscribes
        if listed is not None and name not in listed:
            raise ValueError(f"{name!r} is not listed under subscribes in plugin.toml")
        bus = self._services.bus
        return self._undone_later(bus.subscribe(event, handler, priority, owner=self.plugin_id))

    def register_command(
        self, name: str, handler: CommandHandler, *, for_person: HandlerOf | None = None
    ) -> Callable[[], None]:
        """Let clients call an async function; its annotated parameters are checked.

        Args:
            for_person: Gives the function that is called for a person, if each has one of their
                own, such as a method of an object with `context.for_person(person)`.

        Raises:
            NameTaken: If the name is taken, or does not begin with the plugin's id.
            TypeError: If the handler is not async.
        """
        if not name.startswith(f"{self.plugin_id}."):
            raise NameTaken(f"{name!r}: a plugin's commands begin with its id: {self.plugin_id}.…")
        if name not in self._manifest.commands:
            self.logger.warning("%s is not listed under commands in plugin.toml", name)
        commands = self._services.commands
        undo = commands.register(name, handler, owner=self.plugin_id, for_person=for_person)
        return self._undone_later(undo)

    def register_panel(
        self,
        *,
        html: str | Path | None = None,
        title: str | None = None,
        icon: str | None = None,
        position: str | None = None,
        url: str | None = None,
    ) -> Callable[[], None]:
        """Show a panel to every client; arguments that are left out come from the manifest.

        Args:
            html: The page at `/panels/<id>`, or its file in the plugin's folder.
            position: `right`, `left` or `bottom`.
            url: The page's address, if it is not `/panels/<id>`.

        Raises:
            ValueError: If the page is a file that is not in a vault plugin's folder.
        """
        spec = self._manifest.panel
        panel = Panel(
            id=self.plugin_id,
            title=title or (spec.title if spec else self._manifest.name),
            icon=icon or (spec.icon if spec else "puzzle"),
            position=position or (spec.position if spec else "right"),
            url=url or f"/panels/{self.plugin_id}",
        )
        page = self._page(html) if isinstance(html, Path) else html
        return self._undone_later(self._services.panels.register(panel, page))

    def spawn(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Run work in the background; it is cancelled when the plugin stops.

        Raises:
            OwnerStopped: If the plugin has stopped; a `RuntimeError`.
        """
        return self._tasks.spawn(work)

    def latest(self, key: Hashable, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Run work in the background, after cancelling previous work of the same key.

        Raises:
            OwnerStopped: If the plugin has stopped; a `RuntimeError`.
        """
        return self._tasks.latest(key, work)

    async def settled(self, key: Hashable) -> None:
        """Wait until no work that `latest` began with this key is left, including later work."""
        await self._tasks.settled(key)

    async def build_history(self, messages: Sequence[Message]) -> list[Message]:
        """The messages that a turn would send, from stored ones, the current one last."""
        return await self._services.build_history(messages, files=self.files)

    async def sum_up(self, messages: Sequence[Message], instructions: str = "") -> str:
        """A summary of messages in Markdown, by a model; without one, of quoted sentences.

        Raises:
            CommandFailed: If this program can't write summaries.
            ModelFailed: If the model fails.
        """
        model = self.models.writer
        return await self._services.digest(
            messages, "", model, instructions=instructions, or_quotes=model is None
        )

    async def send(
        self, chat_id: str, message: str, *, stream: bool = True, person: PersonId | None = None
    ) -> list[str]:
        """Ask the model in a chat, as its user would: in a turn with all its phases.

        Args:
            chat_id: The chat; created when it does not exist.
            stream: Clients get the answer piece by piece.
            person: The person who asks; by default the one of `for_person`, else the owner.

        Returns:
            The ids of question and answer, when the turn is over.

        Raises:
            SmartContextError: If the turn failed, with the reason; the text so far is saved.
        """
        caller = Caller(person or self.person)
        asked = {"chat_id": chat_id, "message": message, "stream": stream}
        result = await self._services.commands.call("chat.send", asked, caller)
        return list(result["message_ids"])

    def emit(
        self,
        event: Event[Any] | str,
        payload: Mapping[str, Any],
        audience: Audience | None = None,
        /,
    ) -> None:
        """Send an event to clients; its name should begin with the plugin's id.

        Args:
            audience: The receivers; by default all who may see the chat of the payload's `chat_id`,
                or every client if there is none.

        Raises:
            NameTaken: If it begins like the host's own events.
        """
        name = event_name(event)
        if name.partition(".")[0] in RESERVED_IDS:
            raise NameTaken(f"{name!r} is an event of the host; choose another name")
        reached = audience or audience_of(payload) or EVERYBODY
        self._services.relay.send(event, dict(payload), reached)

    async def close(self) -> None:
        """Undo all registrations, the latest first, and end the background work."""
        while self._undo:
            self._undo.pop()()
        await self._tasks.close()

    def _page(self, path: Path) -> PanelFiles:
        if self._own_files is None:
            raise ValueError("only a vault's plugin can have a file as its page")
        return self._own_files.panel(path)

    def _undone_later(self, undo: Callable[[], None]) -> Callable[[], None]:
        self._undo.append(undo)
        return undo

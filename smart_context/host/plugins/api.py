"""What a plugin gets to work with (contract A12)."""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Hashable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

from smart_context.chat.files.file_store import FileStore
from smart_context.chat.messages import Message
from smart_context.chat.store import ChatStore
from smart_context.config import VaultConfig
from smart_context.errors import NameTaken
from smart_context.host.bus import EventBus, Handler, event_name
from smart_context.host.commands.files import drafted
from smart_context.host.commands.registry import Caller, Client, CommandHandler, CommandRegistry
from smart_context.host.events import Event, Panel
from smart_context.host.models import Models
from smart_context.host.plugins.manifest import RESERVED_IDS, Manifest
from smart_context.host.plugins.panels import PanelFiles, Panels
from smart_context.host.request.histories import HistoryBuilder
from smart_context.host.request.request import Request
from smart_context.host.request.tools import ToolSupport
from smart_context.host.request.window import Window
from smart_context.host.tasks import TaskOwner
from smart_context.processes.child import Child
from smart_context.processes.children import Children
from smart_context.trust.vault import VaultTrust
from smart_context.vault.followed import FollowedVault

P = TypeVar("P")
T = TypeVar("T")


class Plugin(Protocol):
    """A plugin's class; `on_client_connected(client)` and `on_unload()` may be left out."""

    async def on_load(self, context: "PluginContext") -> None:
        """Register everything here."""

    async def on_client_connected(self, client: Client) -> None:
        """A client is there and can be sent to."""

    async def on_unload(self) -> None:
        """The plugin stops; what it registered is gone and its background work has ended."""


class Services(Protocol):
    """What the host lends to its plugins."""

    @property
    def bus(self) -> EventBus:
        """Carries the phases of turns."""

    @property
    def commands(self) -> CommandRegistry:
        """What clients can ask for."""

    @property
    def panels(self) -> Panels:
        """What is shown beside a chat."""

    @property
    def store(self) -> ChatStore:
        """The chats."""

    @property
    def models(self) -> Models:
        """The models in use."""

    @property
    def config(self) -> VaultConfig:
        """The vault's settings."""

    @property
    def files(self) -> FileStore:
        """What was attached to messages."""

    @property
    def notes(self) -> FollowedVault:
        """The vault's notes."""

    @property
    def children(self) -> Children:
        """Processes for work that may take too long or too much memory."""

    @property
    def trust(self) -> VaultTrust:
        """What the vault may do."""

    @property
    def tool_support(self) -> ToolSupport:
        """Which models take no tools."""

    @property
    def window(self) -> Window | None:
        """What the chat model takes at once."""

    @property
    def build_history(self) -> HistoryBuilder:
        """Makes a history from stored messages."""

    async def completed(self, request: Request) -> Request:
        """A request with all that a turn adds to it last, within the model's window."""

    def emit(self, event: Event[Any] | str, payload: Mapping[str, Any]) -> None:
        """Tell all clients."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnFiles:
    """The files of a vault's plugin, as the user trusts them.

    Attributes:
        folder: Where they lie.
        pinned: The digest of each, by its path below the folder, with `/`.
    """

    folder: Path
    pinned: Mapping[str, str]

    def panel(self, page: Path) -> PanelFiles:
        """The panel whose page is a file of the plugin.

        Raises:
            ValueError: If it is none.
        """
        try:
            name = page.relative_to(self.folder).as_posix()
        except ValueError as error:
            raise ValueError(f"{page} is not in the plugin's folder {self.folder}") from error
        return PanelFiles(folder=self.folder, page=name, pinned=self.pinned)


class PluginContext:
    """One plugin's way to the host; all that is registered through it goes with the plugin.

    Attributes:
        plugin_id: The plugin.
        settings: Its settings, checked, with defaults.
        logger: Its logger.
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
        self._manifest = manifest
        self._services = services
        self._own_files = own_files
        self._tasks = TaskOwner(f"plugin {manifest.id}")
        self._undo: list[Callable[[], None]] = []

    @property
    def chats(self) -> ChatStore:
        """The chats; `chats.sidecar(chat_id, suffix)` is the place for data beside one."""
        return self._services.store

    @property
    def files(self) -> FileStore:
        """What was attached to messages, by storage key."""
        return self._services.files

    @property
    def vault(self) -> Path:
        """The vault's folder, for reading; what is written goes beside the chats."""
        return self._services.config.root

    @property
    def child(self) -> Child:
        """A process for work whose cost a stranger's input decides: it can be killed."""
        return self._services.children.texts

    @property
    def notes(self) -> FollowedVault:
        """The vault's notes: one index and the words of all of them, shared by who asks."""
        return self._services.notes

    @property
    def trust(self) -> VaultTrust:
        """What the vault may do; to be asked in a thread, each time anew."""
        return self._services.trust

    @property
    def user_roles(self) -> Path | None:
        """The folder of the user's own roles and templates, which may not exist."""
        return self._services.config.user_roles

    @property
    def models(self) -> Models:
        """The models in use now; they may change, so ask again each time."""
        return self._services.models

    @property
    def window(self) -> Window | None:
        """What the chat model takes at once, as set or known; `None` when it is neither."""
        return self._services.window

    @property
    def takes_tools(self) -> bool:
        """Whether tools may go with requests to the chat model, as far as is known.

        Where they may not, `turn.tools` are asked for and answered in plain text.
        """
        return not self._services.tool_support.is_refused_by(self._services.models.chat)

    def subscribe(
        self, event: Event[P] | str, handler: Handler[P], priority: int = 0
    ) -> Callable[[], None]:
        """Run an async function whenever the event is published; higher priority runs earlier.

        Events that go to clients, such as `memory.chat_changed`, can be subscribed to as well.

        Raises:
            TypeError: If the handler is not async.
        """
        bus = self._services.bus
        return self._undoing(bus.subscribe(event, handler, priority, owner=self.plugin_id))

    def register_command(self, name: str, handler: CommandHandler) -> Callable[[], None]:
        """Let clients call an async function; its annotated parameters are checked.

        Raises:
            NameTaken: If somebody has that name, or it does not begin with the plugin's id.
            TypeError: If the handler is not async.
        """
        if not name.startswith(f"{self.plugin_id}."):
            raise NameTaken(f"{name!r}: a plugin's commands begin with its id: {self.plugin_id}.…")
        if name not in self._manifest.commands:
            self.logger.warning("%s is not listed under commands in plugin.toml", name)
        return self._undoing(self._services.commands.register(name, handler, owner=self.plugin_id))

    def register_panel(
        self,
        *,
        html: str | Path | None = None,
        title: str | None = None,
        icon: str | None = None,
        position: str | None = None,
        url: str | None = None,
    ) -> Callable[[], None]:
        """Show a panel to every client; what is left out is taken from the manifest.

        Args:
            html: The page at `/panels/<id>`, or its file in the plugin's folder.
            title: What people read.
            icon: The name of an icon.
            position: `right`, `left` or `bottom`.
            url: The page's address, when it is not `/panels/<id>`.

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
        return self._undoing(self._services.panels.register(panel, page))

    def spawn(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Run work in the background; it is cancelled when the plugin stops.

        Raises:
            RuntimeError: If the plugin has stopped.
        """
        return self._tasks.spawn(work)

    def latest(self, key: Hashable, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Run work in the background in place of the former of the same key.

        The former is cancelled, and has ended before the new one begins.

        Raises:
            RuntimeError: If the plugin has stopped.
        """
        return self._tasks.latest(key, work)

    async def completed(self, request: Request) -> Request:
        """A request with all that a turn adds to it last, within the model's window.

        Raises:
            RequestTooLong: If it would not be sent.
        """
        return await self._services.completed(request)

    async def draft(
        self,
        text: str,
        files: Sequence[Mapping[str, Any]] = (),
        links: Sequence[Mapping[str, Any]] = (),
    ) -> Message:
        """A message as `chat.send` would send it, with its attachments written in; stores nothing.

        Raises:
            InvalidParams: If there are too many attachments, or one is not known.
        """
        services = self._services
        return await drafted(services.files, services.build_history, text, files, links)

    async def build_history(self, messages: Sequence[Message]) -> list[Message]:
        """The messages that a turn would send, from stored ones; the current one comes last."""
        return await self._services.build_history(messages)

    async def send(self, chat_id: str, message: str, *, stream: bool = True) -> list[str]:
        """Ask the model in a chat, as its user would: the turn goes through the whole pipeline.

        Args:
            chat_id: The chat; it begins when it does not exist yet.
            message: What to ask.
            stream: Whether clients get the answer piece by piece.

        Returns:
            The ids of question and answer, when the turn is over.

        Raises:
            SmartContextError: Why the turn failed; what there is of it is saved.
        """
        asked = {"chat_id": chat_id, "message": message, "stream": stream}
        result = await self._services.commands.call("chat.send", asked, Caller())
        return list(result["message_ids"])

    def emit(self, event: Event[Any] | str, payload: Mapping[str, Any]) -> None:
        """Send an event to every client; its name begins with the plugin's id, by custom.

        Raises:
            NameTaken: If it begins as the host's own events do.
        """
        if event_name(event).partition(".")[0] in RESERVED_IDS:
            raise NameTaken(f"{event_name(event)!r} is an event of the host; choose another name")
        self._services.emit(event, payload)

    async def close(self) -> None:
        """Undo all that was registered, the latest first, and end the background work."""
        while self._undo:
            self._undo.pop()()
        await self._tasks.close()

    def _page(self, path: Path) -> PanelFiles:
        if self._own_files is None:
            raise ValueError("only a vault's plugin has a page of its own as a file")
        return self._own_files.panel(path)

    def _undoing(self, undo: Callable[[], None]) -> Callable[[], None]:
        self._undo.append(undo)
        return undo

"""What a plugin registers with the host, and how all of it is undone."""

import logging
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from smart_context.base.errors import NameTaken
from smart_context.host.commands.registry import CommandHandler
from smart_context.host.events.bus import Handler
from smart_context.host.events.events import Event, Panel
from smart_context.host.panels import OwnFiles, PanelFiles
from smart_context.host.plugins.manifest import Manifest
from smart_context.host.services import Services

P = TypeVar("P")


class Registrations:
    """The handlers, commands and panels of one plugin.

    Args:
        manifest: The plugin.
        services: Where they are registered.
        own_files: The files of a vault's plugin.
    """

    def __init__(
        self, manifest: Manifest, services: Services, own_files: OwnFiles | None = None
    ) -> None:
        self._manifest = manifest
        self._services = services
        self._own_files = own_files
        self._logger = logging.getLogger(f"smart_context.plugins.{manifest.id}")
        self._undo: list[Callable[[], None]] = []

    def subscribe(
        self, event: Event[P] | str, handler: Handler[P], priority: int
    ) -> Callable[[], None]:
        """Run a handler whenever the event is published.

        Raises:
            TypeError: If the handler is not async.
        """
        bus = self._services.bus
        return self._undoing(bus.subscribe(event, handler, priority, owner=self._manifest.id))

    def command(self, name: str, handler: CommandHandler) -> Callable[[], None]:
        """Let clients call a handler.

        Raises:
            NameTaken: If the name is taken, or does not begin with the plugin's id.
            TypeError: If the handler is not async.
        """
        plugin_id = self._manifest.id
        if not name.startswith(f"{plugin_id}."):
            raise NameTaken(f"{name!r}: a plugin's commands begin with its id: {plugin_id}.…")
        if name not in self._manifest.commands:
            self._logger.warning("%s is not listed under commands in plugin.toml", name)
        return self._undoing(self._services.commands.register(name, handler, owner=plugin_id))

    def panel(self, panel: Panel, html: str | Path | None) -> Callable[[], None]:
        """Show a panel to every client.

        Raises:
            ValueError: If the page is a file that is not in a vault plugin's folder.
        """
        page = self._page(html) if isinstance(html, Path) else html
        return self._undoing(self._services.panels.register(panel, page))

    def undo_all(self) -> None:
        """Undo everything, the latest first."""
        while self._undo:
            self._undo.pop()()

    def _page(self, path: Path) -> PanelFiles:
        if self._own_files is None:
            raise ValueError("only a vault's plugin can have a file as its page")
        return self._own_files.panel(path)

    def _undoing(self, undo: Callable[[], None]) -> Callable[[], None]:
        self._undo.append(undo)
        return undo

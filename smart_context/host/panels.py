"""The panels that plugins show next to a chat."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from smart_context.host.access import EVERYBODY
from smart_context.host.events.events import PANEL_REGISTERED, PANEL_REMOVED, Emit, Panel
from smart_context.vault.trust.files import read_pinned

PAGE = ""
"""The name of a panel's page, among the names of the files that it loads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PanelFiles:
    """A panel's page as a file, with the files that it may load."""

    folder: Path  # the plugin's folder
    page: str  # the path of the page below the folder, with `/`
    pinned: Mapping[str, str]  # the digests of the files that the user trusts, by such paths

    def read(self, name: str) -> bytes:
        """The bytes of the page or of a file next to it, exactly as the user trusts them.

        Args:
            name: Relative to the page's folder; `PAGE` for the page itself.

        Raises:
            FileNotFoundError: If the plugin has no such file.
            OSError: If it has changed since it was trusted, or can't be read.
        """
        base = self.page.rpartition("/")
        path = self.page if name == PAGE else f"{base[0]}{base[1]}{name}"
        return read_pinned(self.folder, path, self.pinned)


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnFiles:
    """The files of a vault's plugin, as the user trusts them."""

    folder: Path  # the plugin's folder
    pinned: Mapping[str, str]  # the digest of each file, by its path below the folder, with `/`

    def panel(self, page: Path) -> PanelFiles:
        """The panel whose page is a file of the plugin.

        Raises:
            ValueError: If the file is not in its folder.
        """
        try:
            name = page.relative_to(self.folder).as_posix()
        except ValueError as error:
            raise ValueError(f"{page} is not in the plugin's folder {self.folder}") from error
        return PanelFiles(folder=self.folder, page=name, pinned=self.pinned)


class Panels:
    """The registered panels."""

    def __init__(self, emit: Emit) -> None:
        self._emit = emit
        self._panels: dict[str, Panel] = {}
        self._pages: dict[str, str | PanelFiles] = {}

    def register(self, panel: Panel, page: str | PanelFiles | None = None) -> Callable[[], None]:
        """Show a panel to all clients, now and when they connect.

        A panel of the same id is replaced; clients are told only if that changes it.

        Args:
            page: The HTML page at the panel's address, or its file; `None` if the web layer has
                its own page for it.

        Returns:
            A function that removes the panel.
        """
        if page is not None:
            self._pages[panel["id"]] = page
        if self._panels.get(panel["id"]) != panel:
            self._panels[panel["id"]] = panel
            self._emit(PANEL_REGISTERED, {**panel}, EVERYBODY)
        return lambda: self._remove(panel["id"])

    def all(self) -> tuple[Panel, ...]:
        """All panels, in the order of registration."""
        return tuple(self._panels.values())

    def has(self, panel_id: str) -> bool:
        """True if a panel of that id is registered."""
        return panel_id in self._panels

    def page(self, panel_id: str) -> str | PanelFiles | None:
        """The page of a panel, or its file; `None` if the web layer has the page."""
        return self._pages.get(panel_id)

    def close(self) -> None:
        """Send clients no more events, since a server that stops does not turn its plugins off."""
        self._emit = lambda _event, _payload, _audience=None, /: None

    def _remove(self, panel_id: str) -> None:
        self._pages.pop(panel_id, None)
        if self._panels.pop(panel_id, None) is not None:
            self._emit(PANEL_REMOVED, {"id": panel_id}, EVERYBODY)

"""The panels that plugins show beside a chat (contract A9, A11)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from smart_context.host.events import PANEL_REGISTERED, PANEL_REMOVED, Event, Panel
from smart_context.trust.files import read_pinned

PAGE = ""
"""The name of a panel's page itself, beside those of the files that it loads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PanelFiles:
    """A panel's page as a file, and what it may load from beside it.

    Attributes:
        folder: The plugin's folder.
        page: The page, by its path below the folder, with `/`.
        pinned: The digests of the plugin's files, which the user trusts, by such paths.
    """

    folder: Path
    page: str
    pinned: Mapping[str, str]

    def read(self, name: str) -> bytes:
        """The bytes of the page, or of a file beside it; never others than the trusted ones.

        Args:
            name: Relative to the page's folder; `PAGE` for the page itself.

        Raises:
            FileNotFoundError: If the plugin has no such file.
            OSError: If it changed since it was trusted, or can't be read.
        """
        base = self.page.rpartition("/")
        path = self.page if name == PAGE else f"{base[0]}{base[1]}{name}"
        return read_pinned(self.folder, path, self.pinned)


Emit = Callable[[Event[Any], Mapping[str, Any]], None]


class Panels:
    """Every panel that is there to be shown.

    Args:
        emit: Tells clients.
    """

    def __init__(self, emit: Emit) -> None:
        self._emit = emit
        self._panels: dict[str, Panel] = {}
        self._pages: dict[str, str | PanelFiles] = {}

    def register(self, panel: Panel, page: str | PanelFiles | None = None) -> Callable[[], None]:
        """Show a panel to all clients, now and when they connect.

        A panel that is there already is replaced; clients are told only if that changes it.

        Args:
            panel: What clients are told.
            page: The HTML page at the panel's address, or its file; `None`: the web layer has
                one of its own.

        Returns:
            A function that removes the panel.
        """
        if page is not None:
            self._pages[panel["id"]] = page
        if self._panels.get(panel["id"]) != panel:
            self._panels[panel["id"]] = panel
            self._emit(PANEL_REGISTERED, {**panel})
        return lambda: self._remove(panel["id"])

    def all(self) -> tuple[Panel, ...]:
        """Every panel, in the order in which they were registered."""
        return tuple(self._panels.values())

    def has(self, panel_id: str) -> bool:
        """Whether there is a panel of that id."""
        return panel_id in self._panels

    def page(self, panel_id: str) -> str | PanelFiles | None:
        """The page of a panel, or its file; `None` if it has none of its own."""
        return self._pages.get(panel_id)

    def _remove(self, panel_id: str) -> None:
        self._pages.pop(panel_id, None)
        if self._panels.pop(panel_id, None) is not None:
            self._emit(PANEL_REMOVED, {"id": panel_id})

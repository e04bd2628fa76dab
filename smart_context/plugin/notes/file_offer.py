"""The file tools that go with a request, as the settings and the model allow."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from smart_context.host.models import Models
from smart_context.host.request.tools import Tool
from smart_context.plugin.notes.file_tools import FileTools


@dataclass(frozen=True, slots=True, kw_only=True)
class FileOffer:
    """Offers a vault's files to the chat model.

    Attributes:
        files: The tools.
        mode: `off` offers none; `fenced` always uses plain text instead of tool calls.
        models: Gives the models in use; the embedded chat model takes no tools.
    """

    files: FileTools
    mode: Literal["auto", "fenced", "off"]
    models: Callable[[], Models]

    def tools(self) -> Sequence[Tool]:
        """The tools for one turn, which share its limits; none when files are not offered."""
        return self.files.for_turn() if self._is_on else ()

    @property
    def is_fenced(self) -> bool:
        """True if the settings want calls and results as plain text."""
        return self._is_on and self.mode == "fenced"

    @property
    def _is_on(self) -> bool:
        return self.mode != "off" and not self.models().chat_is_embedded

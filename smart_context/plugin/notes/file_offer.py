"""The file tools that go with a request, as the settings and the model allow."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from smart_context.host.models import Models
from smart_context.host.request.tools import Tool
from smart_context.plugin.choices.state import FilterState
from smart_context.plugin.notes.file_tools import FileTools


@dataclass(frozen=True, slots=True, kw_only=True)
class FileOffer:
    """Offers a vault's files to the chat model."""

    files: FileTools
    # `off` offers none; `fenced` always uses plain text instead of tool calls
    mode: Literal["auto", "fenced", "off"]
    models: Callable[[], Models]  # gives the models in use; the embedded chat model takes no tools

    def tools(self, state: FilterState) -> Sequence[Tool]:
        """The tools for one turn of a chat, which share its limits; none if files are off."""
        return self.files.for_turn() if self.is_open and state.file_tools else ()

    @property
    def is_fenced(self) -> bool:
        """True if the settings want calls and results as plain text."""
        return self.is_open and self.mode == "fenced"

    @property
    def is_open(self) -> bool:
        """True if settings and model allow tools; each chat can be without them."""
        return self.mode != "off" and not self.models().chat_is_embedded

"""Every error that a user can meet, in one tree.

SmartContextError
 ├─ ConfigInvalid        `.vault.toml`: every fault at once, each with its line
 ├─ ManifestInvalid      `plugin.toml`: every fault at once
 ├─ PathRefused          a path that would leave the vault: a request, not a bug
 ├─ ChatIdInvalid        a chat id that could not be a file name
 ├─ ChatUnreadable       a chat file that is damaged; it was set aside
 ├─ StoreFailed          the disk refused (full, read-only); the old file is intact
 │   └─ StorageAway      the database can't be reached now; it is tried again
 ├─ ModelFailed          a model's endpoint: what it said and what to do
 ├─ RequestTooLong       too long for the model's window, even after shortening
 ├─ UnknownCommand       no command of that name
 ├─ InvalidParams        a command was called with wrong parameters
 ├─ CommandFailed        a command could not do what was asked
 │   ├─ ChatBusy         a chat that is being answered takes no other turn
 │   └─ OwnerStopped     a plugin was stopped, or restarted, while it worked
 ├─ NameTaken            a name (command, panel) that somebody else registered
 └─ TrustRequired        a part of a vault that is not trusted, or can't be

A message says what happened, where, what was expected and found, and what to do next.
Programmers' mistakes are `ValueError` or `TypeError` and are not in the tree.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self


class SmartContextError(Exception):
    """Something went wrong that a user can understand and act on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A fault in a file."""

    message: str  # what was expected and what was found
    line: int | None = None  # the line, counted from 1; `None` if unknown
    key: str = ""  # the dotted key, such as `llm.timeout_s`; empty when there is none
    is_unknown: bool = False  # nothing reads that key, so it may as well go
    meant: str = ""  # the key that was probably meant by an unknown one; empty if none is close

    def __str__(self) -> str:
        """The fault as a line of a list."""
        where = f"line {self.line}: " if self.line else ""
        return f"{where}{self.key + ': ' if self.key else ''}{self.message}"


MOST_SHOWN = 20
"""The most faults of a file that are shown or sent."""


def shortened(faults: Sequence[Fault]) -> tuple[Fault, ...]:
    """The first faults, and one that says how many more there are."""
    more = len(faults) - MOST_SHOWN
    if more <= 0:
        return tuple(faults)
    return (*faults[:MOST_SHOWN], Fault(message=f"and {more:,} more"))


class _FileInvalid(SmartContextError):
    def __init__(self, path: Path, faults: Sequence[Fault]) -> None:
        self.path = path
        self.faults = tuple(faults)
        lines = "\n".join(f"  {fault}" for fault in shortened(self.faults))
        count = "1 fault" if len(self.faults) == 1 else f"{len(self.faults):,} faults"
        super().__init__(f"{path}: {count}\n{lines}")

    def seen_from(self, root: Path) -> Self:
        """The error with the file's path relative to a folder; only its name if it is elsewhere."""
        is_inside = self.path.is_relative_to(root)
        named = self.path.relative_to(root) if is_inside else Path(self.path.name)
        return type(self)(named, self.faults)


class ConfigInvalid(_FileInvalid):
    """A `.vault.toml` with faults; `faults` lists them all."""


class ManifestInvalid(_FileInvalid):
    """A `plugin.toml` with faults; `faults` lists them all."""


class PathRefused(SmartContextError):
    """A path from a client, model, template or note that would leave the vault."""


class ChatIdInvalid(SmartContextError):
    """A chat id that is not 1 to 128 ASCII letters, digits, `-` or `_`."""


class ChatUnreadable(SmartContextError):
    """A chat file that can't be read as a chat; it was set aside, not overwritten."""


class StoreFailed(SmartContextError):
    """A file could not be read or written; the old file is intact."""


class StorageAway(StoreFailed):
    """The database can't be reached or does not answer; a later try may succeed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TooLong:
    """An endpoint refused a request because it is too long for the model."""

    asked: int | None = None  # the tokens of the request, as the endpoint counted; `None` if unsaid
    window: int | None = None  # the most tokens that it takes; `None` if it did not say
    over: int | None = None  # the tokens beyond what it takes; `None` if it did not say


class ModelFailed(SmartContextError):
    """A model did not answer.

    Attributes:
        status: The HTTP status, or `None` when there was no answer at all.
        too_long: By how much the request was too long; `None` if it failed for another reason.
    """

    def __init__(
        self, message: str, *, status: int | None = None, too_long: TooLong | None = None
    ) -> None:
        self.status = status
        self.too_long = too_long
        super().__init__(message)


class RequestTooLong(SmartContextError):
    """A message that alone is too long for the model's window; nothing was sent."""


class UnknownCommand(SmartContextError):
    """No command has that name."""


class InvalidParams(SmartContextError):
    """A command's parameters are missing, unknown or of the wrong type."""


class CommandFailed(SmartContextError):
    """A command was understood but could not do what was asked."""


class ChatBusy(CommandFailed):
    """The chat is being answered; it takes the next turn when that is over."""


class OwnerStopped(CommandFailed, RuntimeError):
    """A plugin, or another owner of background work, has stopped."""


class NameTaken(SmartContextError):
    """The name is registered already; the first owner keeps it."""


class TrustRequired(SmartContextError):
    """A part of a vault that is not trusted, or that can't be."""

"""Slash commands of one's own: notes whose text begins a message."""

import re
from dataclasses import dataclass
from pathlib import PurePosixPath

from smart_context.base.values import JsonObject
from smart_context.contexts import SmartContexts
from smart_context.plugin.notes.vault_notes import VaultNotes
from smart_context.vault.markdown.front_matter import front_matter_end

FOLDER = "Commands"
MOST_COMMANDS = 100
MOST_CHARACTERS = 20_000
_LONGEST_HINT = 80
_NOT_IN_NAMES = re.compile(r"[^\w-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class SlashCommands:
    """The command that lists them."""

    notes: VaultNotes

    async def slash_commands(self) -> JsonObject:
        """List the texts that the notes in the folder `Commands` put into the message box."""
        tree = await self.notes.tree()
        prefix = f"{FOLDER}/"
        paths = [path for path in tree.paths if path.startswith(prefix) and path.endswith(".md")]
        return {"commands": await self.notes.ask(lambda found: _read(found, paths))}


def _read(contexts: SmartContexts, paths: list[str]) -> list[JsonObject]:
    found: dict[str, JsonObject] = {}
    for path in paths[:MOST_COMMANDS]:
        name = _NOT_IN_NAMES.sub("-", PurePosixPath(path).stem).strip("-").lower()
        note = contexts.index.read(path)
        text = note[0][front_matter_end(note[0]) :].strip() if note else ""
        if name and text and len(text) <= MOST_CHARACTERS:
            hint = text.partition("\n")[0][:_LONGEST_HINT]
            found.setdefault(name, {"name": name, "text": text, "hint": hint})
    return list(found.values())

"""The commands `system.commands` and `system.plugins`: what a host offers."""

from dataclasses import asdict

from smart_context.base.values import JsonObject
from smart_context.host.commands.registry import CommandRegistry
from smart_context.host.plugins.running import Plugins


class SystemCommands:
    """Lists commands and plugins.

    Args:
        commands: The commands.
        plugins: The plugins.
    """

    def __init__(self, commands: CommandRegistry, plugins: Plugins) -> None:
        self._commands = commands
        self._plugins = plugins

    def register(self) -> None:
        """Register the commands."""
        self._commands.register("system.commands", self.list_commands)
        self._commands.register("system.plugins", self.list_plugins)

    async def list_commands(self) -> JsonObject:
        """List every command with its parameters (JSON Schema)."""
        return {"commands": self._commands.describe()}

    async def list_plugins(self) -> JsonObject:
        """List every plugin and its state."""
        return {"plugins": [asdict(state) for state in self._plugins.states()]}

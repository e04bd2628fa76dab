"""The group of all verbs. A verb's module is imported when the verb is used."""

import importlib
from typing import Any

import click
from typing_extensions import override

from smart_context import __version__
from smart_context.cli.failures import reported

VERBS = {
    "demo": "smart_context.cli.serve:demo",
    "serve": "smart_context.cli.serve:serve",
    "init": "smart_context.cli.setup:init",
    "doctor": "smart_context.cli.setup:doctor",
    "trust": "smart_context.cli.setup:trust",
    "chats": "smart_context.cli.chats:chats",
    "topics": "smart_context.cli.steer:topics",
    "filter": "smart_context.cli.steer:filter_",
    "pack": "smart_context.cli.pack:pack",
    "read": "smart_context.cli.read:read",
    "plugins": "smart_context.cli.plugins:plugins",
}
_HELP = {
    "demo": "Try it: a vault with notes and chats, served at once.",
    "serve": "Serve a vault: the chat page and the Smart Context panel.",
    "init": "Write a commented .vault.toml into a folder of notes.",
    "doctor": "Check config, models, folders and plugins; say what to do.",
    "trust": "Let the plugins inside a vault run.",
    "chats": "List, show, search, import and export chats.",
    "topics": "Show what a chat is about.",
    "filter": "Show what would be sent to the model, and why.",
    "pack": "Pack files, changes and a task into one prompt.",
    "read": "Print files as assigns, guarded as for a model.",
    "plugins": "List, enable, disable and create plugins.",
}


class LazyGroup(click.Group):
    """A group that knows its verbs' names and imports only the one that is used."""

    @override
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    @override
    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        target = VERBS.get(cmd_name)
        if target is None:
            return None
        module, _, attribute = target.partition(":")
        command = getattr(importlib.import_module(module), attribute)
        if not isinstance(command, click.Command):
            raise TypeError(f"{target} is not a command")
        return command

    @override
    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(verb, _HELP[verb]) for verb in VERBS])

    @override
    def invoke(self, ctx: click.Context) -> Any:
        with reported():
            return super().invoke(ctx)


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, "-V", "--version", message="smart-context %(version)s")
def smart_context() -> None:
    """See and steer what a language model is given.

    Start with `smart-context demo`, or `smart-context serve FOLDER` for your own notes.
    """

"""The group of all verbs. A verb's module is imported when the verb is used."""

import importlib
from typing import Any

import click
from typing_extensions import override

from smart_context import __version__
from smart_context.cli.terminal.failures import reported, start_log

VERBS = {
    "demo": "smart_context.cli.server.serve:demo",
    "serve": "smart_context.cli.server.serve:serve",
    "init": "smart_context.cli.server.setup:init",
    "doctor": "smart_context.cli.server.setup:doctor",
    "models": "smart_context.cli.server.models:models",
    "trust": "smart_context.cli.server.trust:trust",
    "sessions": "smart_context.cli.server.access:sessions",
    "keys": "smart_context.cli.server.access:keys",
    "connect": "smart_context.cli.server.access:connect",
    "mcp": "smart_context.cli.server.serve:mcp",
    "storage": "smart_context.cli.server.storage:storage",
    "chats": "smart_context.cli.chats.chats:chats",
    "topics": "smart_context.cli.chats.steer:topics",
    "filter": "smart_context.cli.chats.steer:filter_",
    "role": "smart_context.cli.chats.steer:role",
    "compact": "smart_context.cli.chats.steer:compact",
    "split": "smart_context.cli.chats.steer:split",
    "recall": "smart_context.cli.chats.steer:recall",
    "receipt": "smart_context.cli.chats.receipt:receipt",
    "compare": "smart_context.cli.chats.receipt:compare",
    "costs": "smart_context.cli.chats.receipt:costs",
    "pack": "smart_context.cli.notes.pack:pack",
    "read": "smart_context.cli.notes.read:read",
    "contexts": "smart_context.cli.notes.contexts:contexts",
    "search": "smart_context.cli.notes.search:search",
    "links": "smart_context.cli.notes.notes:links",
    "backlinks": "smart_context.cli.notes.notes:backlinks",
    "unresolved": "smart_context.cli.notes.notes:unresolved",
    "orphans": "smart_context.cli.notes.notes:orphans",
    "deadends": "smart_context.cli.notes.notes:deadends",
    "outline": "smart_context.cli.notes.notes:outline",
    "tags": "smart_context.cli.notes.notes:tags",
    "aliases": "smart_context.cli.notes.notes:aliases",
    "plugins": "smart_context.cli.server.plugins:plugins",
    "eval": "smart_context.cli.chats.evaluate:evaluate",
    "calibrate": "smart_context.cli.chats.evaluate:calibrate",
}
_HELP = {
    "demo": "Try it: a vault with notes and chats, served at once.",
    "serve": "Serve a vault: the chat page and the Smart Context panel.",
    "init": "Write a commented .vault.toml into a folder of notes.",
    "doctor": "Check config, models, folders and plugins; say what to do.",
    "models": "Connect a model, test it, and choose which one does what.",
    "trust": "Review what a vault asks for (endpoints, plugins, roles, git), and allow it.",
    "sessions": "List and end browser sessions; let in another browser.",
    "keys": "Create, list and revoke the keys of programs that use the API.",
    "connect": "Print the settings that connect a client to Smart Context.",
    "mcp": "Give agents the chats and notes of a vault by MCP.",
    "storage": "Prepare and check a team's database; move chats in and out.",
    "chats": "List, show, search, import and export chats.",
    "topics": "Show what a chat is about.",
    "filter": "Show what would be sent to the model, and why.",
    "role": "Show the roles of a chat, or set its role.",
    "split": "Give topics of a chat a chat of their own.",
    "compact": "Sum up topics of a chat: what a summary replaces, and what it can't back.",
    "recall": "Send what other chats said with each message of a chat.",
    "receipt": "Show what a turn sent, and why; compare and replay turns.",
    "compare": "Ask a question twice, under two sets of choices; keep one of the answers.",
    "costs": "Sum up what requests cost, by day, model, chat or client.",
    "pack": "Pack files, changes and a task into one prompt.",
    "read": "Print files as assigns, with the same limits as for a model.",
    "contexts": "List, show, build and edit named contexts of notes.",
    "search": "Find the notes that contain all words.",
    "links": "List what a note links to.",
    "backlinks": "List the notes that link to a note.",
    "unresolved": "List links to files that don't exist.",
    "orphans": "List the notes that no other links to.",
    "deadends": "List the notes that link to no other.",
    "outline": "List the headings of a note.",
    "tags": "List the tags of all notes or of one.",
    "aliases": "List the aliases of notes.",
    "plugins": "List, enable, disable and create plugins.",
    "eval": "Measure the filter on dialogue files and on your own chats.",
    "calibrate": "Fit similarity scores to your own chats.",
}


class LazyGroup(click.Group):
    """A group that imports only the verb that is used."""

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
@click.option("--verbose", is_flag=True, help="Log more, and where errors come from.")
@click.option(
    "--log",
    "form",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    envvar="SMART_CONTEXT_LOG",
    help="How the log is written: for people, or an object a line for programs.",
)
def smart_context(verbose: bool, form: str) -> None:
    """See and steer what a language model is given.

    Start with `smart-context demo`, or `smart-context serve FOLDER` for your own notes.
    """
    start_log(verbose=verbose, as_json=form == "json")

"""The group of all verbs. A verb's module is imported when the verb is used."""

import importlib
from typing import Any

import click
from typing_extensions import override

from smart_context import __version__
from smart_context.cli.terminal.failures import reported, start_log

VERBS = {
    "demo": ("server.serve:demo", "Try it: a vault with notes and chats, served at once."),
    "serve": ("server.serve:serve", "Serve a vault: the chat page and the Smart Context panel."),
    "init": ("server.setup:init", "Write a commented .vault.toml into a folder of notes."),
    "doctor": ("server.setup:doctor", "Check config, models, folders and plugins; say what to do."),
    "models": ("server.models:models", "Connect a model, test it, and choose which one does what."),
    "trust": (
        "server.trust:trust",
        "Review what a vault asks for (endpoints, plugins, roles, git), and allow it.",
    ),
    "sessions": (
        "server.access:sessions",
        "List and end browser sessions; let in another browser.",
    ),
    "keys": (
        "server.access:keys",
        "Create, list and revoke the keys of programs that use the API.",
    ),
    "connect": (
        "server.access:connect",
        "Print the settings that connect a client to Smart Context.",
    ),
    "mcp": ("server.serve:mcp", "Give agents the chats and notes of a vault by MCP."),
    "storage": (
        "server.storage:storage",
        "Prepare and check a team's database; move chats in and out.",
    ),
    "chats": ("chats.chats:chats", "List, show, search, import and export chats."),
    "topics": ("chats.steer:topics", "Show what a chat is about."),
    "filter": ("chats.steer:filter_", "Show what would be sent to the model, and why."),
    "role": ("chats.steer:role", "Show the roles of a chat, or set its role."),
    "compact": (
        "chats.steer:compact",
        "Sum up topics of a chat: what a summary replaces, and what it can't back.",
    ),
    "split": ("chats.steer:split", "Give topics of a chat a chat of their own."),
    "recall": ("chats.steer:recall", "Send what other chats said with each message of a chat."),
    "receipt": (
        "chats.receipt:receipt",
        "Show what a turn sent, and why; compare and replay turns.",
    ),
    "compare": (
        "chats.receipt:compare",
        "Ask a question twice, under two sets of choices; keep one of the answers.",
    ),
    "costs": ("chats.receipt:costs", "Sum up what requests cost, by day, model, chat or client."),
    "pack": ("notes.pack:pack", "Pack files, changes and a task into one prompt."),
    "read": ("notes.read:read", "Print files as assigns, with the same limits as for a model."),
    "contexts": ("notes.contexts:contexts", "List, show, build and edit named contexts of notes."),
    "search": ("notes.read:search", "Find the notes that contain all words."),
    "links": ("notes.notes:links", "List what a note links to."),
    "backlinks": ("notes.notes:backlinks", "List the notes that link to a note."),
    "unresolved": ("notes.notes:unresolved", "List links to files that don't exist."),
    "orphans": ("notes.notes:orphans", "List the notes that no other links to."),
    "deadends": ("notes.notes:deadends", "List the notes that link to no other."),
    "outline": ("notes.notes:outline", "List the headings of a note."),
    "tags": ("notes.notes:tags", "List the tags of all notes or of one."),
    "aliases": ("notes.notes:aliases", "List the aliases of notes."),
    "plugins": ("server.plugins:plugins", "List, enable, disable and create plugins."),
    "eval": (
        "chats.evaluate:evaluate",
        "Measure the filter on dialogue files and on your own chats.",
    ),
    "calibrate": ("chats.evaluate:calibrate", "Fit similarity scores to your own chats."),
}
"""The module of each verb, below `smart_context.cli`, and its purpose."""


class LazyGroup(click.Group):
    """A group that imports only the verb that is used."""

    @override
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    @override
    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in VERBS:
            return None
        module, _, attribute = VERBS[cmd_name][0].partition(":")
        found = importlib.import_module(f"smart_context.cli.{module}")
        command: click.Command = getattr(found, attribute)
        return command

    @override
    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(verb, told) for verb, (_, told) in VERBS.items()])

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

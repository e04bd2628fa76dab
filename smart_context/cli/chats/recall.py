"""`smart-context recall`: what other chats said, sent with each message of a chat."""

from pathlib import Path
from typing import Any

import click

from smart_context.base.text.scores import counted
from smart_context.cli.chats.asking import ask_about_chat
from smart_context.cli.terminal.output import json_format, show, table
from smart_context.cli.terminal.vault import vault_option, vault_root


@click.command()
@click.argument("chat")
@click.option("--query", help="Find what was said about this, in all chats.")
@click.option("--from", "from_chat", metavar="CHAT", help="Recall this chat.")
@click.option(
    "--topic",
    "topics",
    multiple=True,
    metavar="TOPIC",
    help="With --from a topic of that chat, by label; repeat for several. Alone, a topic of all "
    "chats, by the id that `topics --all` shows.",
)
@click.option("--max-tokens", type=click.IntRange(1), help="The budget. Default: 2000.")
@click.option("--list", "is_listed", is_flag=True, help="List what CHAT recalls.")
@click.option("--forget", metavar="ID", help="No longer send a recall.")
@vault_option
@json_format
def recall(  # noqa: PLR0913, PLR0917 - click gives each option
    chat: str,
    query: str | None,
    from_chat: str | None,
    topics: tuple[str, ...],
    max_tokens: int | None,
    is_listed: bool,
    forget: str | None,
    vault: Path | None,
    output: str,
) -> None:
    """Send with each message of CHAT what was said in other chats.

    The best messages that fit the budget are sent as they are then: only references are kept.
    """
    source = _source(query, from_chat, topics)
    if bool(source) + is_listed + (forget is not None) != 1 or (max_tokens and not source):
        raise click.UsageError("Give --query, --from or --topic; or --list; or --forget ID.")
    root = vault_root(vault)
    if source:
        if max_tokens:
            source["max_tokens"] = max_tokens
        made = ask_about_chat(root, "smart_context.recall", chat, **source)
        show(made, output, lambda: _recalled_as_text(made))
        return
    if forget is not None:
        left = ask_about_chat(root, "smart_context.forget_recall", chat, recall_id=forget)
    else:
        left = ask_about_chat(root, "smart_context.recalls", chat)
    show(left, output, lambda: _listed_as_text(left))


def _source(query: str | None, from_chat: str | None, topics: tuple[str, ...]) -> dict[str, Any]:
    """What the command is asked to recall; empty for nothing."""
    alone = bool(topics) and from_chat is None
    if (query is not None) + (from_chat is not None) + alone > 1 or (alone and len(topics) > 1):
        raise click.UsageError("Give one of --query, --from CHAT [--topic LABEL] and --topic ID.")
    if query is not None:
        return {"query": query}
    if from_chat is not None:
        return {"from_chat": from_chat, **({"topics": list(topics)} if topics else {})}
    return {"topic_id": topics[0]} if topics else {}


def _recalled_as_text(result: dict[str, Any]) -> str:
    left_out = f"; {result['left_out']:,} left out" if result["left_out"] else ""
    return (
        f"{result['recall_id']}: {counted(result['messages'], 'message')} of "
        f"{counted(result['chats'], 'chat')}, {counted(result['tokens'], 'token')}{left_out}."
    )


def _listed_as_text(result: dict[str, Any]) -> str:
    rows = [
        (
            row["recall_id"],
            row["chats"],
            row["messages"],
            row["tokens"],
            row["left_out"],
            ", ".join(row["missing"]),
            row["label"],
        )
        for row in result["recalls"]
    ]
    if not rows:
        return "This chat recalls nothing."
    return table(
        ("RECALL", "CHATS", "MESSAGES", "TOKENS", "LEFT OUT", "MISSING CHATS", "ABOUT"), rows
    )

"""`smart-context topics` and `filter`: what a chat is about, and what would be sent."""

from pathlib import Path
from typing import Any

import click

from smart_context.cli.asking import ask_about_chat
from smart_context.cli.output import json_format, show, table
from smart_context.cli.vault import vault_option, vault_root


@click.command()
@click.argument("chat")
@click.option("--refresh", is_flag=True, help="Find the topics anew and store them.")
@vault_option
@json_format
def topics(chat: str, refresh: bool, vault: Path | None, output: str) -> None:
    """Show the topics of CHAT with the number of messages about each."""
    command = "smart_context.refresh_topics" if refresh else "smart_context.get_topics"
    params = {"wait": True} if refresh else {}
    result = ask_about_chat(vault_root(vault), command, chat, **params)
    show(result, output, lambda: _topics_as_text(result))


@click.command("filter")
@click.argument("chat")
@click.option("--topics", "-t", "labels", multiple=True, help="A topic; repeat for several.")
@click.option(
    "--threshold", type=click.FloatRange(-1, 1), help="Default: the vault's similarity_threshold."
)
@click.option("--message", "-m", default="", help="The message that would be sent.")
@click.option("--show-prompt", is_flag=True, help="Print the exact messages of the request.")
@vault_option
@json_format
def filter_(
    chat: str,
    labels: tuple[str, ...],
    threshold: float | None,
    message: str,
    show_prompt: bool,
    vault: Path | None,
    output: str,
) -> None:
    """Show what CHAT would send to the model, and why, without sending or changing anything.

    Without --topics the selection of the chat page holds.
    """
    wanted: dict[str, Any] = {"message": message}
    if labels:
        wanted["topics"] = list(labels)
    if threshold is not None:
        wanted["threshold"] = threshold
    result = ask_about_chat(
        vault_root(vault), "smart_context.preview", chat, may_be_new=bool(message), **wanted
    )
    if show_prompt:
        prompt = result["prompt"]
        show(
            prompt,
            output,
            lambda: "\n\n".join(f"[{entry['role']}]\n{entry.get('content')}" for entry in prompt),
        )
    else:
        show(result, output, lambda: _preview_as_text(result))


def _topics_as_text(result: dict[str, Any]) -> str:
    active = result["active_topics"]
    rows = [
        (
            "locked" if topic.get("sticky") else "●" if topic["label"] in active else "",
            topic.get("count", len(topic.get("message_ids", ()))),
            topic["label"],
        )
        for topic in result["topics"]
    ]
    if not rows:
        return "No topics yet. Find them with: smart-context topics CHAT --refresh"
    return table(("SELECTED", "MESSAGES", "TOPIC"), rows)


def _preview_as_text(result: dict[str, Any]) -> str:
    rows = [
        (entry["id"], entry["role"], entry["tokens"], entry["reason"], entry["text"])
        for entry in result["messages"]
    ]
    return (
        table(("MESSAGE", "ROLE", "TOKENS", "WHY", "TEXT"), rows)
        + f"\n\n{result['status']} · {result['tokens']} tokens"
    )

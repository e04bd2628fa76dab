"""`smart-context compact` and `split`: topics are summed up, or get a chat of their own."""

from pathlib import Path
from typing import Any

import click

from smart_context.base.errors import StoreFailed
from smart_context.base.text.names import lines_shown, one_line
from smart_context.base.text.scores import counted
from smart_context.cli.chats.asking import ask_about_chat, chat_made
from smart_context.cli.terminal.output import json_format, show, table
from smart_context.cli.terminal.vault import vault_option, vault_root


@click.command()
@click.argument("chat")
@click.option("--topic", "-t", "topics", multiple=True, help="A topic; repeat for several.")
@click.option(
    "--summary",
    "file",
    type=click.Path(path_type=Path, dir_okay=False, allow_dash=True),
    help="A file with the summary, `-` for standard input; without it, the fast model writes one.",
)
@click.option("--instructions", default="", help="What the summary should keep.")
@click.option("--apply", "applies", is_flag=True, help="Put the summary in their place.")
@vault_option
@json_format
def compact(
    chat: str,
    topics: tuple[str, ...],
    file: Path | None,
    instructions: str,
    applies: bool,
    vault: Path | None,
    output: str,
) -> None:
    """Show what a summary of topics of CHAT would replace; with --apply, put it in their place.

    Without --topic, all topics are summed up. The chat page's Undo takes the summary back.
    """
    root = vault_root(vault)
    asked: dict[str, Any] = {"instructions": instructions, "apply": applies}
    if file is not None:
        asked["summary"] = _text_of(file)
    labels = list(topics) or _labels(ask_about_chat(root, "smart_context.get_topics", chat))
    result = ask_about_chat(root, "smart_context.compact_topics", chat, topics=labels, **asked)
    show(result, output, lambda: _as_text(result))


@click.command()
@click.argument("chat")
@click.option("--topic", "-t", "topics", multiple=True, required=True, help="Repeat for several.")
@click.option("--title", default="", help="The new chat's title; by default the topics' labels.")
@click.option("--move", is_flag=True, help="Hide what was copied in CHAT, if of no other topic.")
@vault_option
@json_format
def split(
    chat: str,
    topics: tuple[str, ...],
    title: str,
    move: bool,
    vault: Path | None,
    output: str,
) -> None:
    """Copy the messages of topics of CHAT into a new chat."""
    params: dict[str, Any] = {"topics": list(topics), "title": title, "move": move}
    made = ask_about_chat(vault_root(vault), "smart_context.split", chat, **params)
    show(made, output, lambda: chat_made(made))


def _text_of(file: Path) -> str:
    try:
        with click.open_file(str(file), encoding="utf-8", errors="replace") as opened:
            return str(opened.read())
    except OSError as error:
        raise StoreFailed(f"{one_line(str(file))} can't be read: {error.strerror}") from error


def _labels(found: dict[str, Any]) -> list[str]:
    return [topic["label"] for topic in found["topics"] if not topic.get("sticky")]


def _as_text(result: dict[str, Any]) -> str:
    rows = [(kept["message_id"], kept["why"]) for kept in result["kept"]]
    blocks = [lines_shown(result["summary"]) if result["summary"] else "Nothing to sum up."]
    if result["unsupported"]:
        listed = "\n".join(f"  {one_line(claim)}" for claim in result["unsupported"])
        blocks.append(f"In no message:\n{listed}")
    if rows:
        blocks.append(table(("STAYS", "WHY"), rows))
    summed_up = counted(len(result["summed_up"]), "message")
    did = f"{summed_up} summed up" if "message_id" in result else f"{summed_up} to sum up"
    blocks.append(f"{did} · {result['tokens_before']:,} → {result['tokens_after']:,} tokens")
    if result.get("problem"):
        blocks.append(result["problem"])
    if "message_id" not in result and result["summed_up"]:
        blocks.append("Nothing was changed; --apply does it.")
    return "\n\n".join(blocks)

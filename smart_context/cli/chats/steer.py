"""`smart-context topics`, `filter` and `role`: what a chat is about, and what would be sent."""

from pathlib import Path
from typing import Any

import click

from smart_context.base.text.names import one_line, shown
from smart_context.base.text.scores import cut_in_words
from smart_context.cli.chats.asking import ask, ask_about_chat, body_as_text
from smart_context.cli.terminal.output import json_format, show, table
from smart_context.cli.terminal.vault import vault_option, vault_root


@click.command()
@click.argument("chat", required=False)
@click.option("--refresh", is_flag=True, help="Find the topics again and store them.")
@click.option("--all", "of_all", is_flag=True, help="The topics of all chats, by theme.")
@click.option("--query", help="With --all: the topics that fit it by words or meaning.")
@click.option("--since", help="With --all: count messages from this date or time on.")
@click.option("--until", help="With --all: count messages up to this date or time.")
@click.option("--limit", type=click.IntRange(min=0), help="With --all: the most topics to list.")
@vault_option
@json_format
def topics(  # noqa: PLR0913, PLR0917 - click gives each option
    chat: str | None,
    refresh: bool,
    of_all: bool,
    query: str | None,
    since: str | None,
    until: str | None,
    limit: int | None,
    vault: Path | None,
    output: str,
) -> None:
    """Show the topics of CHAT with the number of messages about each, or those of all chats."""
    narrowing = {"query": query, "since": since, "until": until, "limit": limit}
    asked = {name: value for name, value in narrowing.items() if value is not None}
    if of_all:
        if chat is not None or refresh:
            raise click.UsageError("Use --all without a CHAT and without --refresh.")
        found = ask(vault_root(vault), "smart_context.atlas", **asked, wait=True)
        show(found, output, lambda: _atlas_as_text(found))
        return
    if chat is None:
        raise click.UsageError("Name a CHAT, or use --all for the topics of all chats.")
    if asked:
        raise click.UsageError(f"--{next(iter(asked))} goes with --all.")
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
@click.option("--role", help="A role, as `smart-context role CHAT` lists them.")
@click.option("--message", "-m", default="", help="The message that would be sent.")
@click.option("--show-prompt", is_flag=True, help="Print the exact body of the request.")
@vault_option
@json_format
def filter_(  # noqa: PLR0913, PLR0917 - click gives each option
    chat: str,
    labels: tuple[str, ...],
    threshold: float | None,
    role: str | None,
    message: str,
    show_prompt: bool,
    vault: Path | None,
    output: str,
) -> None:
    """Show what CHAT would send to the model, and why, without sending or changing anything.

    Without --topics, the topics selected on the chat page are used; without --role, its role.
    """
    wanted: dict[str, Any] = {"message": message}
    if labels:
        wanted["topics"] = list(labels)
    if threshold is not None:
        wanted["threshold"] = threshold
    if role is not None:
        wanted["role"] = role
    result = ask_about_chat(
        vault_root(vault), "smart_context.preview", chat, may_be_new=bool(message), **wanted
    )
    if show_prompt:
        body = result["body"]
        show(body, output, lambda: body_as_text(body))
    else:
        show(result, output, lambda: _preview_as_text(result))


@click.command()
@click.argument("chat")
@click.argument("name", required=False)
@click.option(
    "--target",
    "targets",
    multiple=True,
    help="What the turns are about; repeat for several.",
)
@click.option("--none", "takes_away", is_flag=True, help="Remove the role.")
@vault_option
@json_format
def role(
    chat: str,
    name: str | None,
    targets: tuple[str, ...],
    takes_away: bool,
    vault: Path | None,
    output: str,
) -> None:
    """List the roles that CHAT can have, or give it the one called NAME.

    The role's system prompt, files and template are used in all later turns. Your own roles are
    in roles/<name>.toml.
    """
    root = vault_root(vault)
    if takes_away and (name or targets):
        raise click.UsageError(
            "Use --none without a name and without --target: it removes the role."
        )
    if targets and not name:
        raise click.UsageError("--target needs the NAME of a role.")
    if name or takes_away:
        chosen: dict[str, Any] = {"role": name or "", "targets": list(targets)}
        result = ask_about_chat(root, "smart_context.set_role", chat, **chosen)
    else:
        result = ask_about_chat(root, "smart_context.roles", chat)
    show(result, output, lambda: _roles_as_text(result))


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


def _atlas_as_text(found: dict[str, Any]) -> str:
    themes = {theme["id"]: one_line(theme["label"]) for theme in found["themes"]}
    rows = [
        (
            f"{topic['messages']:,}",
            len({chat["chat_id"] for chat in topic["chats"]}),
            (topic["last_at"] or "")[:10],
            one_line(topic["label"]),
            themes[topic["theme"]],
            topic["id"],
        )
        for topic in found["topics"]
    ]
    waiting = (
        f"{found['pending']:,} chats have no topics yet: they get them while this vault is served."
        if found["pending"]
        else ""
    )
    if not rows:
        return waiting or "No topics found."
    heads = ("MESSAGES", "CHATS", "LAST", "TOPIC", "THEME", "ID")
    return "\n\n".join(filter(None, (table(heads, rows), waiting)))


def _roles_as_text(result: dict[str, Any]) -> str:
    rows = [
        (
            "●" if role["name"] == result["current"] else "",
            role["name"],
            role["source"],
            role.get("problem", role["description"]),
        )
        for role in result["roles"]
    ]
    about = f"It is about {', '.join(map(shown, result['targets']))}." if result["targets"] else ""
    listed = table(("CHOSEN", "ROLE", "FROM", "WHAT IT DOES"), rows)
    return "\n\n".join(filter(None, (listed, about, result["problem"])))


def _preview_as_text(result: dict[str, Any]) -> str:
    rows = [
        (entry["id"], entry["role"], entry["tokens"], entry["reason"], entry["text"])
        for entry in result["messages"]
    ]
    role = shown(result["role"])
    return (
        table(("MESSAGE", "ROLE", "TOKENS", "WHY", "TEXT"), rows)
        + "\n\n"
        + " · ".join(
            filter(None, (result["status"], f"{result['tokens']} tokens", cut_in_words(result)))
        )
        + (f"\nRole {role}: {result['parts']['role']} tokens" if role else "")
        + (f"\n{result['problem']}" if result["problem"] else "")
    )

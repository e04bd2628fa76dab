"""Verbs on the topics and content of a chat: `topics`, `filter`, `role`, `compact` and so on."""

from pathlib import Path
from typing import Any

import click
from typing_extensions import override

from smart_context.base.errors import CommandFailed, InvalidParams, StoreFailed
from smart_context.base.text.names import lines_shown, one_line, shown
from smart_context.base.text.scores import counted
from smart_context.cli.chats.asking import VerbContext, body_as_text, chat_made, in_vault
from smart_context.cli.terminal.output import table


class TopicsGroup(click.Group):
    """Shows topics, unless the first word names one of its verbs."""

    @override
    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        is_named = bool(args) and args[0] in self.commands
        return super().parse_args(ctx, args if is_named else ["show", *args])


@click.group(cls=TopicsGroup)
def topics() -> None:
    """Show the topics of a chat or of all chats, or say what messages are about."""


@topics.command()
@click.argument("chat", required=False)
@click.option("--refresh", is_flag=True, help="Find the topics again and store them.")
@click.option("--all", "of_all", is_flag=True, help="The topics of all chats, by theme.")
@click.option("--query", help="With --all: the topics that fit it by words or meaning.")
@click.option("--since", help="With --all: count messages from this date or time on.")
@click.option("--until", help="With --all: count messages up to this date or time.")
@click.option("--limit", type=click.IntRange(min=0), help="With --all: the most topics to list.")
@in_vault
def show(  # noqa: PLR0913, PLR0917 - click gives each option
    chat: str | None,
    refresh: bool,
    of_all: bool,
    query: str | None,
    since: str | None,
    until: str | None,
    limit: int | None,
    here: VerbContext,
) -> None:
    """Show the topics of CHAT with the number of messages about each, or those of all chats.

    `topics assign CHAT MESSAGE --about TOPIC` says what messages are about.
    """
    narrowing: dict[str, Any] = {"query": query, "since": since, "until": until, "limit": limit}
    asked = {name: value for name, value in narrowing.items() if value is not None}
    if of_all:
        if chat is not None or refresh:
            raise click.UsageError("Use --all without a CHAT and without --refresh.")
        found = here.ask("smart_context.atlas", **asked, wait=True)
        here.show(found, _atlas_as_text)
        return
    if chat is None:
        raise click.UsageError("Name a CHAT, or use --all for the topics of all chats.")
    if asked:
        raise click.UsageError(f"--{next(iter(asked))} goes with --all.")
    command = "smart_context.refresh_topics" if refresh else "smart_context.get_topics"
    params = {"wait": True} if refresh else {}
    result = here.ask(command, chat_id=chat, **params)
    here.show(result, _topics_as_text)


@topics.command()
@click.argument("chat")
@click.argument("messages", nargs=-1, required=True)
@click.option("--about", metavar="TOPIC", help="They are about this topic, by label or id.")
@click.option("--not-about", metavar="TOPIC", help="They are not about this topic.")
@click.option("--none", "is_none", is_flag=True, help="They are about none of the topics.")
@in_vault
def assign(
    chat: str,
    messages: tuple[str, ...],
    about: str | None,
    not_about: str | None,
    is_none: bool,
    here: VerbContext,
) -> None:
    """Say what MESSAGES of CHAT are about, or not about; it is kept for good.

    MESSAGES are ids, as `smart-context filter CHAT` lists them.
    """
    if is_none == (about is not None or not_about is not None):
        raise click.UsageError("Give --about TOPIC or --not-about TOPIC, or both; or --none.")
    word: dict[str, Any] = {"topic_id": about, "not_topic_id": not_about}
    try:
        result = here.ask("smart_context.assign", chat_id=chat, message_ids=[*messages], **word)
    except InvalidParams as error:  # a message or a topic does not exist
        raise CommandFailed(str(error)) from error
    here.show(result, _topics_as_text)


@click.command("filter")
@click.argument("chat")
@click.option("--topics", "-t", "labels", multiple=True, help="A topic; repeat for several.")
@click.option(
    "--threshold", type=click.FloatRange(-1, 1), help="Default: the vault's similarity_threshold."
)
@click.option("--role", help="A role, as `smart-context role CHAT` lists them.")
@click.option("--message", "-m", default="", help="The message that would be sent.")
@click.option("--show-prompt", is_flag=True, help="Print the exact body of the request.")
@in_vault
def filter_(
    chat: str,
    labels: tuple[str, ...],
    threshold: float | None,
    role: str | None,
    message: str,
    show_prompt: bool,
    here: VerbContext,
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
    result = here.ask("smart_context.preview", chat_id=chat, may_be_new=bool(message), **wanted)
    if show_prompt:
        body = result["body"]
        here.show(body, body_as_text)
    else:
        here.show(result, _preview_as_text)


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
@in_vault
def role(
    chat: str,
    name: str | None,
    targets: tuple[str, ...],
    takes_away: bool,
    here: VerbContext,
) -> None:
    """List the roles that CHAT can have, or give it the one called NAME.

    The role's system prompt, files and template are used in all later turns. Your own roles are
    in roles/<name>.toml.
    """
    if takes_away and (name or targets):
        raise click.UsageError(
            "Use --none without a name and without --target: it removes the role."
        )
    if targets and not name:
        raise click.UsageError("--target needs the NAME of a role.")
    if name or takes_away:
        chosen: dict[str, Any] = {"role": name or "", "targets": list(targets)}
        try:
            result = here.ask("smart_context.set_role", chat_id=chat, **chosen)
        except InvalidParams as error:  # the role does not exist
            raise CommandFailed(str(error)) from error
    else:
        result = here.ask("smart_context.roles", chat_id=chat)
    here.show(result, _roles_as_text)


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
        + f"{result['status']} · {result['tokens']} tokens"
        + (f"\nRole {role}: {result['parts']['role']} tokens" if role else "")
        + (f"\n{result['problem']}" if result["problem"] else "")
    )


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
@in_vault
def compact(
    chat: str,
    topics: tuple[str, ...],
    file: Path | None,
    instructions: str,
    applies: bool,
    here: VerbContext,
) -> None:
    """Show what a summary of topics of CHAT would replace; with --apply, put it in their place.

    Without --topic, all topics are summed up. The chat page's Undo takes the summary back.
    """
    asked: dict[str, Any] = {"instructions": instructions, "apply": applies}
    if file is not None:
        asked["summary"] = _text_of(file)
    labels = list(topics) or _labels(here.ask("smart_context.get_topics", chat_id=chat))
    result = here.ask("smart_context.compact_topics", chat_id=chat, topics=labels, **asked)
    here.show(result, _compacted_as_text)


@click.command()
@click.argument("chat")
@click.option("--topic", "-t", "topics", multiple=True, required=True, help="Repeat for several.")
@click.option("--title", default="", help="The new chat's title; by default the topics' labels.")
@click.option("--move", is_flag=True, help="Hide what was copied in CHAT, if of no other topic.")
@in_vault
def split(
    chat: str,
    topics: tuple[str, ...],
    title: str,
    move: bool,
    here: VerbContext,
) -> None:
    """Copy the messages of topics of CHAT into a new chat."""
    params: dict[str, Any] = {"topics": list(topics), "title": title, "move": move}
    made = here.ask("smart_context.split", chat_id=chat, **params)
    here.show(made, chat_made)


def _text_of(file: Path) -> str:
    try:
        with click.open_file(str(file), encoding="utf-8", errors="replace") as opened:
            return str(opened.read())
    except OSError as error:
        raise StoreFailed(f"{one_line(str(file))} can't be read: {error.strerror}") from error


def _labels(found: dict[str, Any]) -> list[str]:
    return [topic["label"] for topic in found["topics"] if not topic.get("sticky")]


def _compacted_as_text(result: dict[str, Any]) -> str:
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
@in_vault
def recall(  # noqa: PLR0913, PLR0917 - click gives each option
    chat: str,
    query: str | None,
    from_chat: str | None,
    topics: tuple[str, ...],
    max_tokens: int | None,
    is_listed: bool,
    forget: str | None,
    here: VerbContext,
) -> None:
    """Send with each message of CHAT what was said in other chats.

    The best messages that fit the budget are sent as they are then: only references are kept.
    """
    source = _source(query, from_chat, topics)
    if bool(source) + is_listed + (forget is not None) != 1 or (max_tokens and not source):
        raise click.UsageError("Give --query, --from or --topic; or --list; or --forget ID.")
    if source:
        if max_tokens:
            source["max_tokens"] = max_tokens
        made = here.ask("smart_context.recall", chat_id=chat, **source)
        here.show(made, _recalled_as_text)
        return
    if forget is not None:
        left = here.ask("smart_context.forget_recall", chat_id=chat, recall_id=forget)
    else:
        left = here.ask("smart_context.recalls", chat_id=chat)
    here.show(left, _listed_as_text)


def _source(query: str | None, from_chat: str | None, topics: tuple[str, ...]) -> dict[str, Any]:
    """The parameters for the recall; empty if none are given."""
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

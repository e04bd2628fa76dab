"""`smart-context receipt`, `compare` and `costs`: the contents of turns, reasons and costs."""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from smart_context.base.text.names import one_line, shown
from smart_context.base.text.scores import amount_in_words, counted, cut_in_words
from smart_context.base.values import OWNER
from smart_context.cli.chats.asking import VerbContext, body_as_text, existing_chat, in_vault
from smart_context.cli.terminal.arguments import vault_argument
from smart_context.cli.terminal.output import json_format, say, table

_WORDS = {"on": True, "true": True, "yes": True, "off": False, "false": False, "no": False}
_TAKES: Mapping[str, str] = {
    "threshold": "number",
    "topics": "list",
    "recent_messages": "integer",
    "keep_pairs": "switch",
    "embedding_search": "switch",
    "relevance": "text",
    "context_budget_tokens": "integer",
    "contexts": "list",
    "role": "text",
    "pinned": "list",
    "hidden": "list",
    "model": "text",
}


@click.command()
@click.argument("chat")
@click.argument("turn", required=False)
@click.option("--list", "lists", is_flag=True, help="List the chat's turns, newest first.")
@click.option("--diff", metavar="TURN", help="Compare this turn with that one.")
@click.option(
    "--replay",
    "changes",
    multiple=True,
    metavar="KEY=VALUE",
    help="Show the turn with other settings: threshold=0.5, topics=A,B and so on; repeatable.",
)
@click.option("--show-prompt", is_flag=True, help="Print the exact body of the request.")
@in_vault
def receipt(
    chat: str,
    turn: str | None,
    lists: bool,
    diff: str | None,
    changes: tuple[str, ...],
    show_prompt: bool,
    here: VerbContext,
) -> None:
    """Show what a turn of CHAT sent to the model, and why.

    TURN is the id of a turn, of its question or of its answer. Default: the newest turn. Nothing
    is sent or changed, not even by --replay.
    """
    named: dict[str, Any] = {"turn": turn} if turn else {}
    if lists:
        found = here.ask("smart_context.receipts", chat_id=chat)["receipts"]
        here.show(found, _list_as_text)
        return
    if changes:
        if diff:
            raise click.UsageError(
                "Use either --replay or --diff; --replay shows its own differences."
            )
        result = here.ask("smart_context.replay", chat_id=chat, **named, **_settings(changes))
    else:
        compared: dict[str, Any] = {"diff": diff} if diff else {}
        result = here.ask("smart_context.receipt", chat_id=chat, **named, **compared)
    if show_prompt:
        body = result["body"] or result["prompt"]  # receipts of older versions have no body
        if body is None:
            raise click.ClickException(
                "This request was too long to store, and the chat or notes have changed since."
            )
        here.show(body, body_as_text)
    elif "diff" in result:
        here.show(result, lambda found: _difference_as_text(found["diff"]))
    else:
        here.show(result, _receipt_as_text)


def _settings(changes: Sequence[str]) -> dict[str, Any]:
    return dict(_setting(change) for change in changes)


def _setting(change: str) -> tuple[str, Any]:
    key, is_pair, value = change.partition("=")
    key = key.strip().replace("-", "_")
    kind = _TAKES.get(key)
    if not is_pair or kind is None:
        raise click.BadParameter(
            f"expected KEY=VALUE with one of {', '.join(_TAKES)}, found {change!r}",
            param_hint="--replay",
        )
    try:
        return key, _value(kind, value.strip())
    except (ValueError, KeyError) as error:
        raise click.BadParameter(
            f"{key}: expected a {kind}, found {value!r}", param_hint="--replay"
        ) from error


def _value(kind: str, text: str) -> Any:
    match kind:
        case "number":
            return float(text)
        case "integer":
            return int(text)
        case "switch":
            return _WORDS[text.lower()]
        case "list":
            return [entry.strip() for entry in text.split(",") if entry.strip()]
        case _:
            return text


def _list_as_text(found: Sequence[Mapping[str, Any]]) -> str:
    if not found:
        return "No receipts yet: each answer adds one."
    rows = [
        (
            entry["turn"],
            entry["at"].replace("T", " ").removesuffix("Z"),
            f"{entry['in']} of {entry['total']}",
            entry["tokens"],
            ", ".join(entry["topics"]) or "all",
            entry["text"],
        )
        for entry in found
    ]
    return table(("TURN", "WHEN (UTC)", "MESSAGES", "TOKENS", "TOPICS", "QUESTION"), rows)


def _receipt_as_text(result: Mapping[str, Any]) -> str:
    sections = [
        (entry["name"], "", entry["tokens"], f"{'in' if entry['in'] else 'out'}: {entry['why']}")
        for entry in result["sections"]
    ]
    messages = [
        (entry["id"], entry["role"], entry["tokens"], _with_numbers(entry))
        for entry in result["messages"]
    ]
    texts = [entry["text"] or "(no longer in the chat)" for entry in result["messages"]]
    rows = [(*row, "") for row in sections]
    rows += [(*row, text) for row, text in zip(messages, texts, strict=True)]
    return "\n\n".join(
        (
            _heading(result),
            table(("WHAT", "ROLE", "TOKENS", "WHY", "TEXT"), rows),
            _sum(result),
            *_notes(result),
        )
    )


def _with_numbers(entry: Mapping[str, Any]) -> str:
    return ", ".join(filter(None, (entry["reason"], entry["numbers"])))


def _heading(result: Mapping[str, Any]) -> str:
    told = (f"Turn {result['turn']}", result["at"], result["outcome"], result["model"])
    return f"{one_line(' · '.join(told))}\n{result['text']}"


def _sum(result: Mapping[str, Any]) -> str:
    parts = ", ".join(f"{name} {tokens}" for name, tokens in result["parts"].items() if tokens)
    prompt = result["usage"].get("prompt")
    said = f"; the endpoint counted {prompt}" if prompt else ""
    if result["unchanged"] is not None:
        same = f"first {result['unchanged']} tokens" if result["unchanged"] else "no tokens"
        said += f"; {same} unchanged (cacheable)"
    tokens = f"{result['tokens']} tokens ({parts}){said}"
    sent = f"{result['in']} of {result['total']} messages"
    return " · ".join(filter(None, (sent, tokens, cut_in_words(result))))


def _notes(result: Mapping[str, Any]) -> list[str]:
    notes = [f"{one_line(place['where'])}: {place['what']}" for place in result["unseen"]]
    return [note for note in (result["problem"], "\n".join(notes)) if note]


def _difference_as_text(difference: Mapping[str, Any]) -> str:
    rows = [
        (sign, entry["id"], entry["tokens"], entry["reason"], entry["text"] or "")
        for sign, name in (("+", "came_in"), ("-", "went_out"), ("~", "reasons_changed"))
        for entry in difference[name]
    ]
    changed = {**difference["settings"], **difference["models"]}
    lines = [
        one_line(f"{key}: {_shown(old)} → {_shown(new)}") for key, (old, new) in changed.items()
    ]
    lines += [
        f"{one_line(name)}: {_tokens_of(before)} → {_tokens_of(after)} tokens"
        for name, (before, after) in difference["sections"].items()
    ]
    told = [
        "\n".join(lines),
        table(("", "MESSAGE", "TOKENS", "WHY", "TEXT"), rows) if rows else "",
        f"{difference['tokens']:+d} tokens"
        + (" · the very same request" if difference["same_request"] else ""),
    ]
    return "\n\n".join(part for part in told if part)


def _shown(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    return "none" if value is None else str(value)


def _tokens_of(section: Sequence[Any] | None) -> int:
    return int(section[1]) if section else 0


_SIDES = {"left": "As chosen in the chat", "right": "Otherwise"}


@click.command()
@click.argument("chat")
@click.argument("turn", required=False)
@click.option("--message", "-m", help="Ask this, in place of the question of a turn.")
@click.option("--topics", "-t", "labels", multiple=True, help="A topic; repeat for several.")
@click.option("--threshold", type=click.FloatRange(-1, 1), help="Default: the chat's.")
@click.option("--role", help="A role, as `smart-context role CHAT` lists them.")
@click.option("--model", help="chat, fast, or a model of theirs, such as chat/gpt-4o.")
@click.option(
    "--keep",
    "side",
    type=click.Choice(["left", "right"]),
    help="Put that answer into the chat, as a version of the answer that is there.",
)
@in_vault
def compare(  # noqa: PLR0913, PLR0917 - click gives each option
    chat: str,
    turn: str | None,
    message: str | None,
    labels: tuple[str, ...],
    threshold: float | None,
    role: str | None,
    model: str | None,
    side: str | None,
    here: VerbContext,
) -> None:
    """Ask the model twice: under the choices of CHAT, and under others; by default, with all.

    TURN is the id of a turn, of its question or of its answer, which then is the left answer.
    Default: the newest turn. Nothing enters the chat without --keep.
    """
    given = {
        "turn": turn,
        "message": message,
        "topics": list(labels) or None,
        "threshold": threshold,
        "role": role,
        "model": model,
    }
    wanted = {name: value for name, value in given.items() if value is not None}
    found = asyncio.run(_asked(here.root, chat, wanted, side))
    here.show(found, _comparison_as_text)
    if side is not None:
        say(f"The {side} answer is in the chat.", err=True)


async def _asked(
    root: Path, chat: str, wanted: Mapping[str, Any], side: str | None
) -> dict[str, Any]:
    from smart_context.app.composition import running_host  # noqa: PLC0415 - slow
    from smart_context.host.commands.registry import Caller  # noqa: PLC0415 - slow

    async with running_host(root) as host:
        if "message" not in wanted:
            await existing_chat(host.own_storage, chat)
        caller, call = Caller(OWNER), host.commands.call
        found = await call("smart_context.compare", {"chat_id": chat, **wanted}, caller)
        if side is not None:
            kept = {"comparison_id": found["comparison_id"], "side": side}
            await call("smart_context.keep_answer", kept, caller)
        return found


def _comparison_as_text(found: Mapping[str, Any]) -> str:
    return "\n\n".join(_side_as_text(found, side) for side in _SIDES)


def _side_as_text(found: Mapping[str, Any], side: str) -> str:
    answer = found[side]
    only = len(found[f"only_{side}"])
    facts = [f"{answer['sent']:,} tokens sent"]
    if answer["seconds"] is not None:
        facts.append(f"{answer['seconds']:.1f} s")
    if price := ((answer["receipt"] or {}).get("spent") or {}).get("price"):
        facts.append(shown(amount_in_words(price, answer["receipt"]["cost"]["price"]["currency"])))
    if only:
        facts.append(f"{counted(only, 'message')} only here")
    ending = f"[failed] {answer['error']}" if "error" in answer else ""
    ending = ending or ("[stopped]" if "stopped" in answer else "")
    heading = f"== {_SIDES[side]}: {', '.join(facts)}"
    return "\n".join(filter(None, (heading, answer["text"], ending)))


@click.command()
@vault_argument
@click.option(
    "--by",
    type=click.Choice(["day", "model", "chat", "client"]),
    default="day",
    show_default=True,
    help="What to sum up by.",
)
@json_format
def costs(vault: Path | None, by: str, output: str) -> None:
    """Sum up what the chats of VAULT sent, what the filter saved, and the money.

    Money needs prices: [llm.prices] in your config.toml or the vault's file.
    """
    here = VerbContext(vault, output)
    found = here.ask("smart_context.costs", by=by)
    here.show(found, lambda sums: _costs_as_text(sums, by))


def _costs_as_text(found: Mapping[str, Any], by: str) -> str:
    if not found["total"]["turns"]:
        return "No costs yet: each answer adds some."
    listed = [
        *((_cost_name(row, by), row) for row in found[f"by_{by}"]),
        ("total", found["total"]),
    ]
    rows = [
        (
            f"{row['turns']:,}",
            f"{row['sent']:,}",
            f"{row['unchanged']:,}",
            f"{row['answered']:,}",
            f"{row['saved']:,}",
            _money(row, found["currency"]),
            name,
        )
        for name, row in listed
    ]
    heads = ("TURNS", "SENT", "UNCHANGED", "ANSWERED", "SAVED", "COST", by.upper())
    return "\n\n".join(filter(None, (table(heads, rows), *_notes_on_costs(found))))


def _cost_name(row: Mapping[str, Any], by: str) -> str:
    if by == "chat":
        return one_line(f"{row['title']} ({row['chat']})")
    return one_line(row[by]) or ("the page" if by == "client" else "unknown")


def _money(row: Mapping[str, Any], currency: str) -> str:
    if row["price"] is None:
        return "unknown"
    price = amount_in_words(row["price"], one_line(currency))
    return f"at least {price}" if row["unpriced"] else price


def _notes_on_costs(found: Mapping[str, Any]) -> list[str]:
    total = found["total"]
    notes = []
    if total["estimated"]:
        notes.append(
            f"In {total['estimated']:,} of {total['turns']:,} turns the endpoint did not count: "
            "SENT is estimated there, and ANSWERED left out."
        )
    if not found["has_prices"]:
        notes.append("For money, set prices under [llm.prices] in your config.toml.")
    return notes

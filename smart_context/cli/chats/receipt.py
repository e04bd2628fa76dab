"""`smart-context receipt`: what a turn sent, and why; compared, and replayed."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from smart_context.base.text.names import one_line
from smart_context.base.text.scores import cut_in_words
from smart_context.cli.chats.asking import ask_about_chat, body_as_text
from smart_context.cli.terminal.output import json_format, show, table
from smart_context.cli.terminal.vault import vault_option, vault_root

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
@vault_option
@json_format
def receipt(  # noqa: PLR0913, PLR0917 - click gives each option
    chat: str,
    turn: str | None,
    lists: bool,
    diff: str | None,
    changes: tuple[str, ...],
    show_prompt: bool,
    vault: Path | None,
    output: str,
) -> None:
    """Show what a turn of CHAT sent to the model, and why.

    TURN is the id of a turn, of its question or of its answer. Default: the newest turn. Nothing
    is sent or changed, not even by --replay.
    """
    root = vault_root(vault)
    named: dict[str, Any] = {"turn": turn} if turn else {}
    if lists:
        found = ask_about_chat(root, "smart_context.receipts", chat)["receipts"]
        show(found, output, lambda: _list_as_text(found))
        return
    if changes:
        if diff:
            raise click.UsageError(
                "Use either --replay or --diff; --replay shows its own differences."
            )
        result = ask_about_chat(root, "smart_context.replay", chat, **named, **_settings(changes))
    else:
        compared: dict[str, Any] = {"diff": diff} if diff else {}
        result = ask_about_chat(root, "smart_context.receipt", chat, **named, **compared)
    if show_prompt:
        body = result["body"] or result["prompt"]  # receipts of older versions have no body
        if body is None:
            raise click.ClickException(
                "This request was too long to store, and the chat or notes have changed since."
            )
        show(body, output, lambda: body_as_text(body))
    elif "diff" in result:
        show(result, output, lambda: _difference_as_text(result["diff"]))
    else:
        show(result, output, lambda: _receipt_as_text(result))


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
        (entry["id"], entry["role"], entry["tokens"], entry["reason"])
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


def _heading(result: Mapping[str, Any]) -> str:
    told = (f"Turn {result['turn']}", result["at"], result["outcome"], result["model"])
    return f"{one_line(' · '.join(told))}\n{result['text']}"


def _sum(result: Mapping[str, Any]) -> str:
    parts = ", ".join(f"{name} {tokens}" for name, tokens in result["parts"].items() if tokens)
    counted = result["usage"].get("prompt")
    said = f"; the endpoint counted {counted}" if counted else ""
    if result["unchanged"] is not None:
        same = f"first {result['unchanged']} tokens" if result["unchanged"] else "no tokens"
        said += f"; {same} unchanged (cacheable)"
    tokens = f"{result['tokens']} tokens ({parts}){said}"
    counted = f"{result['in']} of {result['total']} messages"
    return " · ".join(filter(None, (counted, tokens, cut_in_words(result))))


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

"""`smart-context compare`: a question asked twice, under two sets of choices."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from smart_context.base.text.names import shown
from smart_context.base.text.scores import counted
from smart_context.base.values import OWNER
from smart_context.cli.chats.asking import existing_chat
from smart_context.cli.terminal.output import json_format, say, show
from smart_context.cli.terminal.vault import vault_option, vault_root

_NAMES = {"left": "As chosen in the chat", "right": "Otherwise"}


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
@vault_option
@json_format
def compare(  # noqa: PLR0913, PLR0917 - click gives each option
    chat: str,
    turn: str | None,
    message: str | None,
    labels: tuple[str, ...],
    threshold: float | None,
    role: str | None,
    model: str | None,
    side: str | None,
    vault: Path | None,
    output: str,
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
    found = asyncio.run(_asked(vault_root(vault), chat, wanted, side))
    show(found, output, lambda: _as_text(found))
    if side is not None:
        say(f"The {side} answer is in the chat.", err=True)


async def _asked(
    root: Path, chat: str, wanted: Mapping[str, Any], side: str | None
) -> dict[str, Any]:
    from smart_context.app.composition import running_host  # noqa: PLC0415 - slow
    from smart_context.host.commands.registry import Caller  # noqa: PLC0415 - slow

    async with running_host(root) as host:
        if "message" not in wanted:
            await existing_chat(host.store, chat)
        caller, call = Caller(OWNER), host.commands.call
        found = await call("smart_context.compare", {"chat_id": chat, **wanted}, caller)
        if side is not None:
            kept = {"comparison_id": found["comparison_id"], "side": side}
            await call("smart_context.keep_answer", kept, caller)
        return found


def _as_text(found: Mapping[str, Any]) -> str:
    return "\n\n".join(_side_as_text(found, side) for side in _NAMES)


def _side_as_text(found: Mapping[str, Any], side: str) -> str:
    answer = found[side]
    only = len(found[f"only_{side}"])
    facts = [f"{answer['sent']:,} tokens sent"]
    if answer["seconds"] is not None:
        facts.append(f"{answer['seconds']:.1f} s")
    if price := ((answer["receipt"] or {}).get("spent") or {}).get("price"):
        facts.append(f"{price:,.4f} {shown(answer['receipt']['cost']['price']['currency'])}")
    if only:
        facts.append(f"{counted(only, 'message')} only here")
    ending = f"[failed] {answer['error']}" if "error" in answer else ""
    ending = ending or ("[stopped]" if "stopped" in answer else "")
    heading = f"== {_NAMES[side]}: {', '.join(facts)}"
    return "\n".join(filter(None, (heading, answer["text"], ending)))

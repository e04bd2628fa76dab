"""`smart-context models`: lists, connects, uses and removes models and their connections."""

import asyncio
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from smart_context.base.config import CATEGORIES, EndpointSettings
from smart_context.base.errors import CommandFailed
from smart_context.cli.terminal.arguments import vault_option, vault_root
from smart_context.cli.terminal.output import answer_to, json_format, say, show, table

_SHOWN = 20
_CATEGORY = click.Choice(CATEGORIES)


@click.group(invoke_without_command=True)
@vault_option
@json_format
@click.pass_context
def models(context: click.Context, vault: Path | None, output: str) -> None:
    """List the connections; connect models, and choose which one does what.

    Settings go to your config.toml, for all vaults; keys to the system's key store, or to a file
    that only you can read.
    """
    if context.invoked_subcommand is None:
        from smart_context.app.model_commands import connections_now  # noqa: PLC0415 - slow

        rows = asyncio.run(connections_now(vault_root(vault)))
        show(rows, output, lambda: _listed(rows))


def _listed(rows: list[dict[str, Any]]) -> str:
    if not rows:
        return "No model is connected. Connect one with: smart-context models add"
    return table(
        ("CONNECTION", "NAME", "ADDRESS", "STATE", "MODELS"),
        [
            (row["id"], row["name"], row["base_url"], row["state"], ", ".join(row["models"]))
            for row in rows
        ],
    )


@models.command()
@click.argument("base_url", required=False)
@click.option("--key", "asks_key", is_flag=True, help="Ask for the key, without showing it.")
@click.option("--key-env", default="", metavar="NAME", help="The variable that holds the key.")
@click.option("--model", default="", help="The model that answers; asked for if left out.")
@click.option("--name", default="", help="What the connection is called.")
@vault_option
def add(
    base_url: str | None,
    asks_key: bool,
    key_env: str,
    model: str,
    name: str,
    vault: Path | None,
) -> None:
    """Connect the server at BASE_URL; without one, look for servers on this machine.

    Connections from before stay.
    """
    from smart_context.app.connecting import connect  # noqa: PLC0415 - slow
    from smart_context.app.model_commands import models_at  # noqa: PLC0415 - slow

    root = vault_root(vault)
    endpoint = _endpoint(base_url or _found_here(), key_env)
    key = answer_to("Key", is_secret=True) if asks_key else ""
    asked = replace(endpoint, api_key=key or endpoint.api_key)
    known = asyncio.run(models_at(asked))
    chosen = model or _chosen(known)
    connect(root, replace(endpoint, model=chosen), key, name=name)
    say(f"{chosen} at {endpoint.base_url} answers from now on, in running servers, too.")
    say("Try it: smart-context models test")


@models.command("list")
@vault_option
@json_format
def list_(vault: Path | None, output: str) -> None:
    """List the models in use, and those of each endpoint."""
    from smart_context.app.composition import read_vault  # noqa: PLC0415 - slow

    config = read_vault(vault_root(vault))
    rows = [_row(category, getattr(config, category)) for category in CATEGORIES]
    show(
        rows,
        output,
        lambda: table(
            ("FOR", "MODEL", "ENDPOINT", "KEY"),
            [(row["category"], row["model"], row["base_url"], row["key"]) for row in rows],
        ),
    )


@models.command()
@click.argument("category", type=_CATEGORY, default="chat")
@vault_option
@json_format
def test(category: str, vault: Path | None, output: str) -> None:
    """Ask a model for a few words: does it answer, how fast, what can it do?"""
    from smart_context.app.composition import read_vault  # noqa: PLC0415 - slow
    from smart_context.app.model_commands import tried  # noqa: PLC0415 - slow

    endpoint: EndpointSettings | None = getattr(read_vault(vault_root(vault)), category)
    if endpoint is None:
        raise CommandFailed(
            "No endpoint is connected for this; the embedded model does it. Connect one with: "
            "smart-context models add"
        )
    done = asyncio.run(tried(endpoint, category))
    if not done.ok:
        raise CommandFailed(done.problem)
    show(done.row(), output, lambda: _told(done.row()))


@models.command()
@click.argument("model")
@click.option("--for", "category", type=_CATEGORY, default="chat", help="What it is for.")
@vault_option
def use(model: str, category: str, vault: Path | None) -> None:
    """Use MODEL, `CONNECTION/MODEL` or a model of the default connection.

    `embedded` is the one of the package.
    """
    from smart_context.app.connecting import use_model  # noqa: PLC0415 - slow
    from smart_context.app.settings import settings_of  # noqa: PLC0415 - slow

    root = vault_root(vault)
    use_model(root, model, category)
    if not _says_that_the_vault_wins(settings_of(root), category):
        say(f"{model} is used for {category}.")


@models.command()
@click.argument("what", default="chat", metavar="[CONNECTION|CATEGORY]")
@vault_option
def remove(what: str, vault: Path | None) -> None:
    """Disconnect CONNECTION, or the model of a category: chat, fast or embedding.

    A connection goes with the last category that uses it, and its key is forgotten.
    """
    from smart_context.app.connecting import disconnect, remove_model  # noqa: PLC0415 - slow
    from smart_context.app.settings import settings_of  # noqa: PLC0415 - slow

    root = vault_root(vault)
    if what not in CATEGORIES:
        disconnect(root, what)
        say(f"{what} is disconnected; the other connections stay.")
        return
    settings = settings_of(root)
    remove_model(root, what)
    if not _says_that_the_vault_wins(settings, what):
        say(f"No endpoint is used for {what} any more.")


def _says_that_the_vault_wins(settings: Mapping[str, Any], category: str) -> bool:
    """True if the vault's file sets a category's model and so wins; tells the user."""
    name = f"llm.categories.{category}"
    if settings["sources"][name] != "vault":
        return False
    say(
        f"Your config.toml is changed, but {settings['files']['vault']} sets {name}, which goes "
        "first in this vault. Change it there, or on the page's Settings."
    )
    return True


def _found_here() -> str:
    """The address of the only server on this machine."""
    from smart_context.app.model_commands import servers_here  # noqa: PLC0415 - slow

    found = asyncio.run(servers_here())
    if not found:
        raise CommandFailed(
            "No server answers at the usual ports of this machine (Ollama, LM Studio, llama.cpp, "
            "vLLM). Give its address: smart-context models add http://127.0.0.1:PORT/v1"
        )
    if len(found) == 1:
        say(f"Found {found[0]['name']} at {found[0]['base_url']}.")
        return str(found[0]["base_url"])
    names = ", ".join(str(server["name"]) for server in found)
    wanted = answer_to(f"Which ({names})", default=str(found[0]["name"])).casefold()
    for server in found:
        if str(server["name"]).casefold() == wanted:
            return str(server["base_url"])
    raise CommandFailed(f"No server is called that; expected one of: {names}.")


def _chosen(known: list[str]) -> str:
    """The model that the user chooses from those of an endpoint."""
    more = f" and {len(known) - _SHOWN} more" if len(known) > _SHOWN else ""
    say(f"Models: {', '.join(known[:_SHOWN]) or 'none listed'}{more}")
    try:
        return answer_to("Model", default=known[0] if known else "")
    except click.Abort:
        if sys.stdin.isatty():
            raise
        raise CommandFailed("Nobody is here to choose one; add --model NAME.") from None


def _endpoint(base_url: str, key_env: str) -> EndpointSettings:
    from smart_context.app.model_commands import endpoint_of  # noqa: PLC0415 - slow

    return endpoint_of({"base_url": base_url, "api_key_env": key_env})


def _row(category: str, endpoint: EndpointSettings | None) -> dict[str, str]:
    if endpoint is None:
        return {"category": category, "model": "embedded", "base_url": "", "key": ""}
    key = endpoint.api_key_env or ("stored" if endpoint.api_key else "none")
    return {
        "category": category,
        "model": endpoint.model,
        "base_url": endpoint.base_url,
        "key": key,
    }


def _told(row: dict[str, Any]) -> str:
    if row["dimensions"]:
        return f"{row['model']} gives vectors of {row['dimensions']:,} numbers."
    can = [name for name in ("streaming", "tools", "images") if row[name]]
    window = f", a window of {row['window']:,} tokens" if row["window"] else ""
    return (
        f"{row['model']} at {row['base_url']} said: {row['text']}\n"
        f"First word after {row['first_s']:g} s, the last after {row['total_s']:g} s; "
        f"{', '.join(can) or 'no streaming, no tools, no images'}{window}."
    )

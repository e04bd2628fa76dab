"""`smart-context plugins`: list, enable, disable, new."""

import asyncio
import re
from pathlib import Path
from typing import Any

import click
import tomlkit
from tomlkit.exceptions import TOMLKitError

from smart_context.base.config.document import MAX_BYTES
from smart_context.base.disk.files import atomic_write
from smart_context.base.disk.folders import read_inside
from smart_context.base.disk.places import place_of
from smart_context.base.errors import CommandFailed
from smart_context.base.text.names import names_device, shown
from smart_context.cli.terminal.arguments import CONFIG_NAME, vault_option, vault_root
from smart_context.cli.terminal.output import json_format, say, show, table

TEMPLATES = Path(__file__).with_name("new_plugin")
"""The files of a new plugin; its code is not a module of this package, so it ends in `.txt`."""

PLUGIN_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")


@click.group()
def plugins() -> None:
    """List, enable, disable and create plugins."""


@plugins.command("list")
@vault_option
@json_format
def list_(vault: Path | None, output: str) -> None:
    """List the plugins of a vault and their states."""
    from smart_context.app.composition import plugin_states  # noqa: PLC0415 - keeps --help fast

    rows = asyncio.run(plugin_states(vault_root(vault)))
    show(
        rows,
        output,
        lambda: table(
            ("PLUGIN", "STATE", "NAME", "REASON"),
            [(r["id"], r["state"], r["name"], r["reason"]) for r in rows],
        ),
    )


@plugins.command()
@click.argument("name")
@vault_option
def enable(name: str, vault: Path | None) -> None:
    """Enable a plugin: sets `enabled = true` in .vault.toml."""
    _set_enabled(vault_root(vault), name, enabled=True)


@plugins.command()
@click.argument("name")
@vault_option
def disable(name: str, vault: Path | None) -> None:
    """Disable a plugin: sets `enabled = false` in .vault.toml."""
    _set_enabled(vault_root(vault), name, enabled=False)


@plugins.command()
@click.argument("name")
@vault_option
def new(name: str, vault: Path | None) -> None:
    """Create a small working plugin in <vault>/plugins/NAME."""
    _check_name(name)
    if names_device(name):
        raise click.BadParameter(
            f"Windows keeps the name {name!r} for a device; choose another.", param_hint="NAME"
        )
    folder = vault_root(vault) / "plugins" / name
    if folder.exists():
        raise CommandFailed(f"{shown(folder)} exists already; choose another name.")
    folder.mkdir(parents=True)
    title = name.replace("_", " ").capitalize()
    for file in TEMPLATES.iterdir():
        text = file.read_text(encoding="utf-8").replace("NAME", name).replace("TITLE", title)
        (folder / file.name.removesuffix(".txt")).write_text(text, encoding="utf-8")
    say(
        f"Made {shown(folder)}\n\nNext:\n"
        f"  smart-context trust       # plugins are code: trust this vault first\n"
        f"  smart-context plugins enable {name}\n"
        f"  smart-context serve"
    )


def _check_name(name: str) -> None:
    if not PLUGIN_NAME.fullmatch(name):
        raise click.BadParameter(
            f"{name!r}: expected lower-case letters, digits and _, a letter first (64 at most).",
            param_hint="NAME",
        )


def _set_enabled(root: Path, name: str, *, enabled: bool) -> None:
    _check_name(name)
    if name != "smart_context" and not (root / "plugins" / name / "plugin.toml").is_file():
        raise CommandFailed(
            f"There is no plugin {name} in {shown(root / 'plugins')}. "
            f"Make one with: smart-context plugins new {name}"
        )
    path = root / CONFIG_NAME
    document = _read_toml(path)
    section: Any = document.setdefault("plugins", tomlkit.table(is_super_table=True))
    section.setdefault(name, tomlkit.table())["enabled"] = enabled
    atomic_write(path, tomlkit.dumps(document).encode())
    say(f"{name} is {'enabled' if enabled else 'disabled'} in {shown(path)}.")


def _read_toml(path: Path) -> Any:
    try:
        return tomlkit.parse(read_inside(place_of(path), max_bytes=MAX_BYTES).decode())
    except FileNotFoundError:
        return tomlkit.document()
    except OSError as error:
        raise CommandFailed(f"{shown(path)} can't be read: {error}") from error
    except (TOMLKitError, UnicodeDecodeError) as error:
        words = f"{shown(path)}: not changed, since it is not valid TOML: {error}"
        raise CommandFailed(words) from error

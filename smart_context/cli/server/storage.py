"""`smart-context storage`: migrate, check, copy."""

import importlib.util
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from smart_context.base.config.storage import is_database, no_driver, without_password
from smart_context.base.errors import CommandFailed
from smart_context.base.text.names import shown
from smart_context.base.text.scores import counted
from smart_context.cli.terminal.arguments import vault_option, vault_root
from smart_context.cli.terminal.failures import BadUsage
from smart_context.cli.terminal.output import ProgressBar, json_format, say, show

if TYPE_CHECKING:
    from smart_context.app.storage_verbs import DatabaseReport

_NO_DATABASE = "The chats are kept in the memory folder, which needs no migration."
_NOUNS = {"vectors": "vector file", "added vectors": "added vector file", "other": "other file"}

_url = click.argument("url", required=False)


@click.group()
def storage() -> None:
    """Prepare and check the database of a team, and move chats into it and out of it."""


@storage.command()
@_url
@vault_option
def migrate(url: str | None, vault: Path | None) -> None:
    """Bring the schema of a database up to date: URL, or what the settings name."""
    if not (address := _database(url, vault)):
        say(_NO_DATABASE)
        return
    from smart_context.app.storage_verbs import migrated  # noqa: PLC0415 - keeps --help fast

    say("\n".join(f"Applied {name}." for name in migrated(address)) or "Nothing to apply.")


@storage.command()
@_url
@vault_option
def check(url: str | None, vault: Path | None) -> None:
    """Look at a database, and change nothing: can it be reached, is its schema up to date."""
    if not (address := _database(url, vault)):
        say(_NO_DATABASE)
        return
    from smart_context.app.storage_verbs import examined  # noqa: PLC0415 - keeps --help fast

    report = examined(address)
    say(_report(report))
    if report.state.pending:
        raise CommandFailed(
            f"{counted(len(report.state.pending), 'migration')} to apply: "
            "smart-context storage migrate"
        )


@storage.command()
@click.option("--from", "source", required=True, metavar="URL", help="A vault, or a database.")
@click.option("--to", "target", required=True, metavar="URL", help="A vault, or a database.")
@json_format
def copy(source: str, target: str, output: str) -> None:
    """Copy all chats, with what stands beside them, files and trash; overwrite nothing.

    An address is a vault's folder or postgresql://user@host/name. Stop servers that use it.
    """
    for address in (source, target):
        if not is_database(address) and "://" in address.removeprefix("file://"):
            raise BadUsage(
                f"{without_password(address)!r} can't keep chats: expected a vault's folder, or "
                "postgresql://user@host/name"
            )
    if not is_database(source) and not Path(source.removeprefix("file://")).expanduser().is_dir():
        raise BadUsage(
            f"--from: {shown(without_password(source))} is not a folder; nothing was copied"
        )
    _check_driver(source, target)
    from smart_context.app.storage_verbs import copied  # noqa: PLC0415 - keeps --help fast
    from smart_context.storage.layout import SameStorage  # noqa: PLC0415 - as above

    bar = ProgressBar("Copying")
    try:
        account = copied(source, target, bar)
    except SameStorage as error:
        raise BadUsage(str(error)) from error
    finally:
        bar.wipe()
    show(account.row(), output, lambda: _words(account.copied, account.unchanged))
    lines = [*_named("Not copied:", account.refused)]
    lines += _named("Kept as files only:", account.as_files)
    if lines:
        raise CommandFailed("\n".join(lines))


def _named(heading: str, reasons: Mapping[str, str]) -> Iterator[str]:
    if reasons:
        yield heading
    yield from (f"  {shown(path)}: {why}" for path, why in reasons.items())


def _database(url: str | None, vault: Path | None) -> str:
    """The given database, else that of the settings; empty for the memory folder."""
    if url is not None and not is_database(url):
        raise BadUsage(f"{without_password(url)!r} is no database: expected postgresql://…")
    from smart_context.app.composition import read_vault  # noqa: PLC0415 - keeps --help fast

    address = url or read_vault(vault_root(vault)).storage.url
    _check_driver(address)
    return address


def _check_driver(*addresses: str) -> None:
    if any(map(is_database, addresses)) and importlib.util.find_spec("psycopg") is None:
        raise CommandFailed(no_driver())


def _report(report: "DatabaseReport") -> str:
    newest = max(report.state.applied, default=0)
    return (
        f"The {report.where} answers: PostgreSQL {report.version}.\n"
        f"Schema: {newest} ({report.state.applied.get(newest, 'empty')})."
    )


def _words(copied: Mapping[str, int], unchanged: int) -> str:
    kinds = [counted(number, _NOUNS.get(kind, kind)) for kind, number in copied.items()]
    return f"Copied: {', '.join(kinds) or 'nothing'}. Unchanged: {unchanged}."

"""`smart-context contexts`: list, show, build, edit and delete named contexts."""

import json
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from smart_context.base.config import read_memory_dir
from smart_context.base.config.storage import may_name_storage
from smart_context.base.errors import CommandFailed, StoreFailed
from smart_context.base.text.names import encodable, one_line, shown
from smart_context.base.text.scores import counted
from smart_context.cli.notes.notes import found_as_link, opened_index
from smart_context.cli.terminal.arguments import (
    WordCommand,
    vault_option,
    vault_root,
    with_options,
)
from smart_context.cli.terminal.failures import BadUsage
from smart_context.cli.terminal.output import (
    ask,
    deliver,
    json_format,
    print_rows,
    rows_format,
    say,
    show,
    table,
    write_to,
)
from smart_context.contexts import Compiled, ContextOptions, SmartContext, SmartContexts, Snapshot
from smart_context.llm.tokens import count_tokens
from smart_context.storage.ports import VaultDocuments
from smart_context.vault.guarded.paths import as_typed

MAX_NAMED = 50
"""The most names of a kind that are shown; for the others, only their number."""


_OPTIONS = (
    click.option(
        "--depth", "link_depth", type=click.IntRange(0), help="Follow links this many steps."
    ),
    click.option("--inlinks/--no-inlinks", default=None, help="Also follow links to a note."),
    click.option(
        "--exclude-heading",
        "excluded_headings",
        multiple=True,
        metavar="PATTERN",
        help="Leave out sections with this heading; * is any text. Repeat.",
    ),
    click.option("--max-len", type=click.IntRange(0), help="The most characters; 0 is no limit."),
    click.option(
        "--order", type=click.Choice(["shortest", "listed"]), help="The order within a depth."
    ),
    click.option(
        "--expand-embeds/--no-expand-embeds",
        default=None,
        help="Put the text of ![[embeds]] in their place.",
    ),
    click.option(
        "--max-links",
        "max_links_per_item",
        type=click.IntRange(0),
        help="The most links followed from one note.",
    ),
    click.option(
        "--follow-excluded/--no-follow-excluded",
        "follow_links_in_excluded",
        default=None,
        help="Follow links in sections left out by --exclude-heading. Default: yes.",
    ),
    click.option(
        "--template-file",
        type=click.Path(path_type=Path, exists=True, dir_okay=False),
        metavar="FILE",
        help='JSON by depth, as {"0": {"before": "…", "after": "…"}}; -1 wraps the whole.',
    ),
)
NAMES = (
    "link_depth",
    "inlinks",
    "excluded_headings",
    "max_len",
    "order",
    "expand_embeds",
    "max_links_per_item",
    "follow_links_in_excluded",
)
TEMPLATES = "templates"


context_options = with_options(_OPTIONS)
"""Adds the options of a named context to a verb; options not given are not set."""


def options_given(options: Mapping[str, Any]) -> dict[str, Any]:
    """The given options of a context, as it takes them.

    Raises:
        BadUsage: If the file of templates can't be used.
    """
    given = {name: options[name] for name in NAMES if options[name] not in {None, ()}}
    if options["template_file"] is not None:
        given[TEMPLATES] = _templates(options["template_file"])
    return given


def _templates(path: Path) -> Any:
    from smart_context.contexts.options import stored_options  # noqa: PLC0415  only for a file

    try:
        return stored_options({TEMPLATES: json.loads(path.read_bytes())})[TEMPLATES]
    except (ValueError, RecursionError) as error:
        raise BadUsage(
            f'{path}: expected {{"0": {{"before": "…", "after": "…"}}}}, found {error}.'
        ) from error


LARGE_CHARACTERS = 400_000
"""About 100,000 tokens: copying more needs a confirmation."""

_NEW: dict[str, Any] = {"context_items": {"Folder/Note.md": True}, "context_opts": {}}


def _name(_context: click.Context, _argument: click.Parameter, given: str) -> str:
    if not given.strip():
        raise click.BadParameter("expected the name of a context, found nothing")
    return encodable(given)


_key = click.argument("key", callback=_name)


@click.group()
def contexts() -> None:
    """List, show, build, edit and delete named contexts.

    A named context is a list of notes, folders, headings and blocks, with options such as how
    far links are followed; building it gives the text to hand to a model.
    """


@contexts.command("list")
@vault_option
@rows_format
def list_(vault: Path | None, form: str) -> None:
    """List the named contexts of a vault."""
    found = _closed(vault)
    rows, faults = [], []
    for key in found.keys():  # noqa: SIM118  it is not a dict
        try:
            if context := found.get(key):
                rows.append((key, len(context.context_items)))
        except StoreFailed as error:
            faults.append(str(error))
    print_rows(("context", "items"), rows, form)
    if faults:
        raise CommandFailed("\n".join(faults))
    if not rows:
        say("This vault has no named contexts. Make one: contexts edit NAME", err=True)


@contexts.command("show", short_help="Show the items and options of a context.")
@_key
@vault_option
@json_format
def show_(key: str, vault: Path | None, output: str) -> None:
    """Show the items and options of a context; `contexts build` prints its text."""
    context = _existing(_closed(vault), key)
    document = {
        "key": context.key,
        "context_items": context.context_items,
        "context_opts": context.context_opts,
    }
    show(document, output, lambda: _as_text(context))


@contexts.command(cls=WordCommand, short_help="Print the text of a context, or of items.")
@click.argument("items", nargs=-1, metavar="KEY | ITEM...")
@click.option(
    "--file",
    "files",
    multiple=True,
    metavar="NAME",
    help="An item, found like the target of a link.",
)
@click.option("--path", "paths", multiple=True, metavar="PATH", help="An item by its exact path.")
@context_options
@click.option("--dry-run", is_flag=True, help="Print a report instead of the text.")
@click.option("--model", default="", help="Count tokens as this model; else they are estimated.")
@click.option(
    "-o",
    "--output",
    "target",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the text there, not to stdout.",
)
@click.option("--copy", "to_clipboard", is_flag=True, help="Copy to the clipboard, not to stdout.")
@click.option("--yes", is_flag=True, help="Copy without asking, even if it is large.")
@vault_option
@json_format
def build(items: tuple[str, ...], **options: Any) -> None:
    """Print the text of a named context, or of ITEMs without storing them.

    An ITEM is a note, a folder, `note#Heading` or `note#^block`, relative to the vault. Left-out
    items are reported on stderr, with reason and size.
    """
    with _opened(options["vault"]) as found:
        context = _wanted(found, items, options)
        compiled_options = context.options(options_given(options))
        snapshot = found.snapshot_of(context.context_items, compiled_options)
        compiled = context.compile(snapshot, **options_given(options))
    account = account_of(snapshot, compiled, compiled_options, options["model"])
    if options["dry_run"]:
        show(account, options["output"], lambda: account_as_text(account))
        return
    if options["output"] == "text":
        say("\n".join([*remarks_on(account), sum_of(account)]), err=True)
    if not account["items"]:
        raise CommandFailed("This context is empty, so nothing was written.")
    _deliver(compiled.context, account, options)


@contexts.command(short_help="Change a context.")
@_key
@click.option("--add", multiple=True, metavar="ITEM", help="Add an item; repeat.")
@click.option("--remove", multiple=True, metavar="ITEM", help="Remove an item; repeat.")
@context_options
@click.option(
    "--unset", multiple=True, metavar="OPTION", help="Reset an option to its default; repeat."
)
@vault_option
def edit(key: str, add: tuple[str, ...], remove: tuple[str, ...], **options: Any) -> None:
    """Change a named context by options, or without any in your editor ($EDITOR).

    A missing context is created. Reset an option with, for example, --unset max_len.
    """
    found = _closed(options["vault"])
    context = found.get(key)
    given = options_given(options)
    if not (add or remove or given or options["unset"]):
        _edit_by_hand(found, key, context)
        return
    items = dict(context.context_items) if context else {}
    for item in map(as_typed, remove):
        if items.pop(item, None) is None:
            raise CommandFailed(f"'{shown(item)}' is not listed in '{shown(key)}'.")
    items |= dict.fromkeys(map(as_typed, add), True)
    opts = {**(context.context_opts if context else {}), **given}
    for name in options["unset"]:
        if opts.pop(_option_called(name, opts), None) is None:
            raise CommandFailed(f"The option {name!r} is not set in '{shown(key)}'.")
    _store(found, key, items, opts)


@contexts.command()
@_key
@vault_option
def delete(key: str, vault: Path | None) -> None:
    """Delete a named context, but not its notes."""
    found = _closed(vault)
    _existing(found, key)
    found.delete(key)
    say(f"Deleted the context {shown(key)}.", err=True)


def _closed(vault: Path | None) -> SmartContexts:
    """The contexts, without an index: no notes are read."""
    root = vault_root(vault).resolve()
    return SmartContexts(root, None, read_memory_dir(root), documents=_documents(root))


@contextmanager
def _opened(vault: Path | None) -> Iterator[SmartContexts]:
    with opened_index(vault) as index:
        memory, documents = read_memory_dir(index.root), _documents(index.root)
        yield SmartContexts(index.root, None, memory, index=index, documents=documents)


def _documents(root: Path) -> VaultDocuments | None:
    """The storage of contexts if it is a database, for which all settings are read; else `None`."""
    if not may_name_storage(root):
        return None
    from smart_context.app.composition import open_storage  # noqa: PLC0415 - takes 0.3 s

    return open_storage(root).vault_documents


def _existing(found: SmartContexts, key: str) -> SmartContext:
    context = found.get(key)
    if context is None:
        known = ", ".join(map(shown, found.keys()[:10]))
        raise CommandFailed(
            f"There is no context '{shown(key)}' in this vault."
            + (f" There are: {known}." if known else " Make it with: contexts edit NAME")
        )
    return context


def _wanted(found: SmartContexts, items: Sequence[str], options: dict[str, Any]) -> SmartContext:
    """The stored context of that key, or else an unstored one of the items."""
    named = [found_as_link(found.index, file) + _part(file) for file in options["files"]]
    listed = [encodable(as_typed(item)) for item in (*items, *named, *options["paths"])]
    if not listed:
        raise click.UsageError("Name a context, or the notes and folders to build one from.")
    if len(listed) == 1 and items and (context := found.get(listed[0])):
        return context
    return SmartContext(found, "", dict.fromkeys(listed, True), {})


def _part(name: str) -> str:
    _, sign, fragment = name.partition("#")
    return sign + fragment


def _as_text(context: SmartContext) -> str:
    items = [f"{'' if flag else '(off) '}{name}" for name, flag in context.context_items.items()]
    opts = [f"{name} = {json.dumps(value)}" for name, value in context.context_opts.items()]
    lines = [context.key, *(f"  {line}" for line in items), *(f"  {line}" for line in opts)]
    return "\n".join(map(one_line, lines))


def _edit_by_hand(found: SmartContexts, key: str, context: SmartContext | None) -> None:
    document = (
        _NEW
        if context is None
        else {
            "context_items": context.context_items,
            "context_opts": context.context_opts,
        }
    )
    text = json.dumps(document, ensure_ascii=False, indent=2) + "\n"
    while True:
        edited = click.edit(text, extension=".json")
        if edited is None:
            say("Nothing was changed.", err=True)
            return
        text = edited
        try:
            items, opts = _parsed(text)
            _store(found, key, items, opts)
        except BadUsage as error:
            words = f"Nothing was stored: {error.message}"
            if not sys.stdin.isatty():
                raise BadUsage(words) from error
            say(words, err=True)
            ask("Edit it again?", default=True)
        else:
            return


def _option_called(text: str, set_: Collection[str]) -> str:
    """A context's name for an option that is given by its stored name or by this verb's.

    Raises:
        BadParameter: If there is no such option.
    """
    known = {name: name for name in (*NAMES, TEMPLATES, *set_)}
    for option in click.get_current_context().command.params:
        name = TEMPLATES if option.name == "template_file" else option.name
        if name in known:
            known |= {_as_name(written): name for written in option.opts}
    if (found := known.get(_as_name(text))) is None:
        listed = ", ".join(sorted(known))
        told = f"there is no option {text!r}; choose one of {listed}"
        raise click.BadParameter(told, param_hint="--unset")
    return found


def _as_name(option: str) -> str:
    return option.lstrip("-").replace("-", "_")


def _parsed(text: str) -> tuple[dict[str, Any], dict[str, Any] | None]:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadUsage(f"expected JSON, found {error}") from error
    items = document.get("context_items") if isinstance(document, dict) else None
    if not isinstance(items, dict) or not isinstance(document.get("context_opts", {}), dict):
        raise BadUsage('expected {"context_items": {…}, "context_opts": {…}}, found something else')
    return items, document.get("context_opts")


def _store(
    found: SmartContexts, key: str, items: dict[str, Any], opts: dict[str, Any] | None
) -> None:
    try:
        context = found.create({encodable(name): flag for name, flag in items.items()}, key, opts)
    except (TypeError, ValueError) as error:
        raise BadUsage(str(error)) from error
    count = len(context.context_items)
    say(f"Stored {shown(key)}: {counted(count, 'item')}.", err=True)


def _deliver(text: str, account: dict[str, Any], options: dict[str, Any]) -> None:
    target: Path | None = options["target"]
    if target is not None:
        write_to(target, text)
    if options["to_clipboard"]:
        _copy(text, is_sure=options["yes"])
    is_elsewhere = target is not None or options["to_clipboard"]
    if options["output"] == "json":
        whole = account if is_elsewhere else {"context": text, **account}
        show(whole, "json", str)
    elif not is_elsewhere:
        deliver(text)


def _copy(text: str, *, is_sure: bool) -> None:
    from smart_context.cli.terminal.clipboard import copy  # noqa: PLC0415  only for --copy

    if len(text) > LARGE_CHARACTERS and not is_sure:
        if not sys.stdin.isatty():
            raise CommandFailed(f"To copy {len(text):,} characters, repeat with --yes.")
        ask(f"Copy {len(text):,} characters?")
    say(f"Copied by {copy(text)}.", err=True)


def account_of(
    snapshot: Snapshot, compiled: Compiled, options: ContextOptions, model: str
) -> dict[str, Any]:
    """The report as JSON; sizes in characters, and in tokens as `model` counts them."""
    skipped, truncated = set(compiled.stats.skipped_items), set(compiled.stats.truncated_items)
    return {
        "items": [
            {
                "depth": depth,
                "item": key,
                "characters": len(text),
                "of_characters": snapshot.lengths.get(key, len(text)),
                "tokens": count_tokens(text, model or None),
                "truncated": key in truncated,
            }
            for depth, texts in sorted(snapshot.items.items())
            for key, text in texts.items()
            if key not in skipped
        ],
        "skipped": [
            {"item": key, "characters": snapshot.lengths.get(key)}
            for key in compiled.stats.skipped_items
        ],
        "missing": list(snapshot.missing_items),
        "ambiguous": [
            {"item": source, "link": link, "taken": found[0], "or": found[1:]}
            for source, link, found in snapshot.ambiguous_links
        ],
        "excluded_headings": dict(snapshot.exclusions),
        "characters": compiled.stats.final_length,
        "max_len": options.max_len or None,
        "tokens": count_tokens(compiled.context, model or None),
    }


def account_as_text(account: dict[str, Any]) -> str:
    """The report as a table with remarks."""
    rows = [
        (row["depth"], row["characters"], row["tokens"], _state(row), shown(row["item"]))
        for row in account["items"]
    ]
    blocks = [table(("DEPTH", "CHARACTERS", "TOKENS", "IN", "ITEM"), rows)] if rows else []
    if remarks := remarks_on(account):
        blocks.append("\n".join(remarks))
    return "\n\n".join([*blocks, sum_of(account)])


def remarks_on(account: dict[str, Any]) -> list[str]:
    """The items left out and why, and ambiguous links; one line each."""
    limit = account["max_len"]
    return [
        *_named([f"missing: {shown(name)}: not found, or not text" for name in account["missing"]]),
        *_named([_skipped(row, limit) for row in account["skipped"]]),
        *_named(
            [
                f"ambiguous: [[{shown(row['link'])}]] in {shown(row['item'])} was read as "
                f"{shown(row['taken'])}, not {', '.join(map(shown, row['or']))}"
                for row in account["ambiguous"]
            ]
        ),
        *(
            f"excluded: {counted(count, 'section')} headed '{shown(pattern)}'"
            for pattern, count in account["excluded_headings"].items()
        ),
    ]


def sum_of(account: dict[str, Any]) -> str:
    """The total, in one line."""
    count, out = len(account["items"]), len(account["skipped"])
    limit = f" of {account['max_len']:,}" if account["max_len"] else ""
    left = f", {out:,} skipped" if out else ""
    return (
        f"{counted(count, 'item')}{left} · "
        f"{account['characters']:,}{limit} characters · {account['tokens']:,} tokens"
    )


def _state(row: dict[str, Any]) -> str:
    return f"cut from {row['of_characters']:,}" if row["truncated"] else "whole"


def _skipped(row: dict[str, Any], limit: int | None) -> str:
    length = "" if row["characters"] is None else f"{row['characters']:,} characters "
    room = "" if limit is None else f" of --max-len {limit:,}"
    return f"skipped: {shown(row['item'])}: {length}exceed the rest{room}"


def _named(lines: Sequence[str]) -> Iterator[str]:
    yield from lines[:MAX_NAMED]
    if len(lines) > MAX_NAMED:
        kind = lines[0].partition(":")[0]
        yield f"{kind}: and {len(lines) - MAX_NAMED:,} more"

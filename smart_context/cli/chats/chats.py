"""`smart-context chats`: list, show, search, import and export, and the trash."""

import asyncio
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from itertools import count
from pathlib import Path
from typing import Any

import click

from smart_context.app.composition import open_storage
from smart_context.base.errors import ChatIdInvalid, CommandFailed, SmartContextError, StoreFailed
from smart_context.base.text.names import shown, storable_value
from smart_context.base.text.scores import counted
from smart_context.base.values import JsonObject
from smart_context.chat.documents.branches import show_version, versions_of
from smart_context.chat.documents.lineage import NEVER_SAVES
from smart_context.chat.exported import (
    ATTACHED_FOLDER,
    ENDINGS,
    Attached,
    Form,
    as_markdown,
    attached_in,
    attached_name,
    embedded,
    exported,
    file_name,
    unmarked,
)
from smart_context.chat.ids import check_chat_id, new_chat_id
from smart_context.chat.messages import ChatId, messages_of
from smart_context.cli.chats.asking import VerbContext, chat_made, existing_chat, in_vault
from smart_context.cli.terminal.arguments import vault_option, vault_root
from smart_context.cli.terminal.output import (
    ProgressBar,
    ask,
    deliver,
    say,
    table,
    write_to,
    write_under,
)
from smart_context.importing.found import NotReadable
from smart_context.importing.own_export import own_chat
from smart_context.importing.programs import FORMATS
from smart_context.importing.taking_in import Importer, ImportOptions
from smart_context.storage.chosen import choices_of, choose
from smart_context.storage.ports import Blobs, Storage

MAX_IMPORT_BYTES = 64 * 1024 * 1024


@click.group()
def chats() -> None:
    """List, show, search, import and export chats; see the trash and restore from it."""


@chats.command("list")
@in_vault
def list_(here: VerbContext) -> None:
    """List the chats of a vault, newest first."""
    storage = open_storage(here.root)
    summaries = asyncio.run(storage.chats.listing.rows(storage.person))
    rows: list[dict[str, Any]] = [
        {
            "chat_id": summary.id,
            "title": summary.title,
            "messages": summary.message_count,
            "updated_at": summary.updated_at,
        }
        for summary in summaries
    ]
    here.show(
        rows,
        lambda rows: (
            table(
                ("CHAT", "MESSAGES", "UPDATED", "TITLE"),
                [(r["chat_id"], r["messages"], r["updated_at"][:16], r["title"]) for r in rows],
            )
            if rows
            else "This vault has no chats yet. Start one with: smart-context serve"
        ),
    )


@chats.command("show", short_help="Print the messages of a chat.")
@click.argument("chat")
@click.option("--at", "message", help="Print the version with this message; it changes nothing.")
@in_vault
def show_(chat: str, message: str | None, here: VerbContext) -> None:
    """Print the messages of a chat; with --format json, the whole document.

    Where answering again has left other versions, the ids of their first messages are listed.
    """
    document = asyncio.run(_existing(open_storage(here.root), chat))
    if message is not None:
        show_version(document, message, new_id=new_chat_id, now="")  # in the copy that was read
    here.show(document, lambda found: as_markdown(found, versions_of(found)))


@chats.command()
@click.argument("chat")
@click.argument("message")
@click.option("--topic", "-t", "topics", multiple=True, help="Pick it; repeat for several.")
@in_vault
def fork(chat: str, message: str, topics: tuple[str, ...], here: VerbContext) -> None:
    """Go on from a MESSAGE of CHAT in a new chat, which has all up to it."""
    params: dict[str, Any] = {"message_id": message, "topics": list(topics)}
    made = here.ask("memory.fork", chat_id=chat, **params)
    here.show(made, chat_made)


@chats.command()
@click.argument("query")
@in_vault
def search(query: str, here: VerbContext) -> None:
    """Find messages that contain all words of QUERY, in all chats."""
    storage = open_storage(here.root)
    hits = asyncio.run(storage.chats.listing.search(storage.person, query))
    rows = [
        {"chat_id": hit.chat_id, "message_id": hit.message_id, "snippet": hit.snippet}
        for hit in hits
    ]
    here.show(
        rows,
        lambda rows: (
            table(
                ("CHAT", "MESSAGE", "TEXT"),
                [(r["chat_id"], r["message_id"], r["snippet"]) for r in rows],
            )
            if rows
            else f"No message contains {query!r}."
        ),
    )


@chats.command()
@click.argument("chats", nargs=-1, metavar="CHAT...")
@click.option("--all", "is_all", is_flag=True, help="Export every chat.")
@click.option(
    "-o",
    "--output",
    "target",
    type=click.Path(path_type=Path),
    help="A folder, or a file: FILE.md.",
)
@click.option(
    "--as",
    "--format",
    "form",
    type=click.Choice(list(ENDINGS)),
    default="markdown",
    help="Markdown for Obsidian, JSON as stored, OpenAI messages, or one HTML page.",
)
@vault_option
def export(
    chats: tuple[str, ...], is_all: bool, target: Path | None, form: Form, vault: Path | None
) -> None:
    """Write chats for other programs; one goes to stdout, or to the file or folder of -o.

    Attached files go into the folder `files` next to Markdown and JSON; a page holds them itself.
    """
    if is_all == bool(chats):
        raise click.UsageError("Name the chats to export, or give --all.")
    storage = open_storage(vault_root(vault))
    names = asyncio.run(_all_ids(storage)) if is_all else [*chats]
    render = _rendering(form)
    is_file = target is None or not (target.is_dir() or _is_new_folder(target))
    if len(names) == 1 and not is_all and is_file:
        document = asyncio.run(_existing(storage, names[0]))
        attached = asyncio.run(_embedded(storage, document, form))
        chosen = asyncio.run(_chosen(storage, names[0], form))
        text = exported(names[0], document, form, render, attached, chosen)
        if target is None:
            deliver(text)
        else:
            write_to(target, text)
        return
    folder = target or Path()
    folder.mkdir(parents=True, exist_ok=True)
    written = asyncio.run(_export_to(folder, names, storage, form, render))
    files = f" and {counted(written.files, 'file')}" if written.files else ""
    say(f"Wrote {counted(written.chats, 'chat')}{files} to {shown(folder)}.")
    if written.problems:
        raise CommandFailed("\n".join(("Not written:", *written.problems)))


@dataclass(frozen=True, slots=True, kw_only=True)
class _ExportedFiles:
    """The result of an export."""

    chats: int
    files: int  # the number of attached files
    problems: Sequence[str]  # the chats that could not be written, each with the reason


async def _export_to(
    folder: Path, names: list[str], storage: Storage, form: Form, render: Callable[[str], str]
) -> _ExportedFiles:
    """Write chats and their attached files into a folder; a failing one stops no other."""
    files: set[str] = set()
    problems: list[str] = []
    for name in names:
        try:
            document = await _existing(storage, name)
            attached = await _embedded(storage, document, form)
            if form in {"markdown", "json"}:
                attached = await _files_to(folder / ATTACHED_FOLDER, storage.blobs, document)
                files.update(attached.values())
            chosen = await _chosen(storage, name, form)
            text = exported(name, document, form, render, attached, chosen)
            write_under(folder / file_name(name, document, form), text)
        except SmartContextError as error:
            problems.append(f"  {shown(name)}: {error}")
    return _ExportedFiles(chats=len(names) - len(problems), files=len(files), problems=problems)


async def _embedded(storage: Storage, document: JsonObject, form: Form) -> Attached:
    """The files that an HTML page embeds; none for the other forms."""
    return await embedded(document, storage.blobs.content) if form == "html" else {}


async def _chosen(storage: Storage, chat: str, form: Form) -> JsonObject:
    """The choices of the current person, which only the JSON form has."""
    return await choices_of(storage, chat) if form == "json" else {}


async def _files_to(folder: Path, blobs: Blobs, document: JsonObject) -> dict[str, str]:
    """Write a chat's attached files into a folder; returns their paths from the folder above.

    Raises:
        StoreFailed: If one can't be written, or the folder is a link.
    """
    _refuse_link(folder)
    attached: dict[str, str] = {}
    for key, name in attached_in(document).items():
        content = await blobs.content(key)
        if content is None:
            continue
        file = folder / attached_name(key, name)
        _write_once(file, content)
        attached[key] = f"{folder.name}/{file.name}"
    return attached


def _refuse_link(folder: Path) -> None:
    if folder.is_symlink():
        raise StoreFailed(f"{shown(folder)} is a link. Put the folder itself there.")


def _write_once(file: Path, content: bytes) -> None:
    """Write a file whose name identifies its content, unless it is there."""
    if file.is_symlink() or not file.is_file() or file.stat().st_size != len(content):
        write_under(file, content)


def _rendering(form: Form) -> Callable[[str], str]:
    """The function that renders messages as HTML, if the form needs it."""
    if form != "html":
        return str
    from smart_context.web.pages.markup.footnotes import with_ids  # noqa: PLC0415  slow to load
    from smart_context.web.pages.markup.markdown import Markdown  # noqa: PLC0415  slow to load

    markdown, numbers = Markdown(), count(1)
    return lambda text: with_ids(markdown.render(text), str(next(numbers)))


def _is_new_folder(target: Path) -> bool:
    """True for a path where nothing exists, and whose name has no ending like that of a file."""
    return not target.exists() and not target.suffix


async def _all_ids(storage: Storage) -> list[str]:
    return [str(row.id) for row in await storage.chats.listing.rows(storage.person)]


@chats.command("import", short_help="Bring in chats of other programs.")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True))
@click.option("--from", "client", type=click.Choice(FORMATS), help="Default: by the content.")
@click.option("--dry-run", "is_dry", is_flag=True, help="Only say what would be done.")
@click.option("--into", "folder", default="", help="The folder of the list of chats for new ones.")
@click.option("--chat-id", help="The id of a single chat document or list of messages.")
@in_vault
def import_(
    files: tuple[Path, ...],
    client: str | None,
    is_dry: bool,
    folder: str,
    chat_id: str | None,
    here: VerbContext,
) -> None:
    """Bring in the chats of FILE...: files, folders or ZIP archives.

    Known are the exports of ChatGPT, Claude, Gemini, DeepSeek, Open WebUI, LibreChat, LobeChat,
    SillyTavern and Chatbox, the sessions of Claude Code, Codex, Gemini CLI, Qwen Code, Continue,
    aider, opencode and llm, messages as OpenAI's API takes them, and chats exported from here.
    Importing again adds only what is new.
    """
    storage = open_storage(here.root)
    if chat_id:
        _import_one(storage, files, _new_id(chat_id))
        return
    wishes = ImportOptions(client=client or "", folder=folder, is_dry=is_dry)
    bar = ProgressBar("Importing")
    importer = Importer(
        storage,
        wishes,
        lambda name, done, share: bar.show(share, f"{done:,} chats · {name}"),
    )
    try:
        account = asyncio.run(importer.run(files))
    except KeyboardInterrupt:
        say(f"\nStopped. {importer.account.words()} Import again to go on.", err=True)
        raise
    finally:
        bar.wipe()
    here.show(account.row(), lambda _: account.words())
    if account.failed:
        if here.output != "json":
            say(account.problems(), err=True)
        raise click.exceptions.Exit(1)


def _new_id(text: str) -> ChatId:
    try:
        return check_chat_id(text)
    except ChatIdInvalid as error:
        raise click.BadParameter(str(error), param_hint="--chat-id") from error


def _import_one(storage: Storage, files: tuple[Path, ...], chat_id: ChatId) -> None:
    """Import a single document under an id of the user's."""
    if len(files) != 1 or files[0].is_dir():
        raise click.UsageError("--chat-id takes exactly one file.")
    document = _imported(files[0])
    if not document["messages"]:
        raise CommandFailed(f"{shown(files[0])}: holds no messages, so nothing was imported.")
    asyncio.run(_store_new(storage, chat_id, document))
    messages = counted(len(document["messages"]), "message")
    say(f"Imported {messages} as chat {chat_id}.")


@chats.command(short_help="Keep other chats from recalling a chat.")
@click.argument("chat")
@click.option("--off", is_flag=True, help="Let other chats recall it again.")
@vault_option
def private(chat: str, off: bool, vault: Path | None) -> None:
    """Keep other chats from recalling the messages of CHAT."""
    VerbContext(vault, "text").ask("chat.set_private", chat_id=chat, private=not off)
    say(f"Other chats can {'recall' if off else 'no longer recall'} the chat {chat}.")


@chats.command()
@in_vault
def trash(here: VerbContext) -> None:
    """List the deleted chats, newest first: at most 200."""
    storage = open_storage(here.root)
    found, total = asyncio.run(storage.chats.trash.listed(storage.person))
    rows = [
        (deleted.id, deleted.message_count, deleted.deleted_at[:16], deleted.title)
        for deleted in found
    ]
    here.show(
        {"chats": [asdict(deleted) for deleted in found], "total": total},
        lambda _: (
            table(("CHAT", "MESSAGES", "DELETED", "TITLE"), rows) if rows else "The trash is empty."
        ),
    )


@chats.command(short_help="Bring a deleted chat back.")
@click.argument("chat")
@click.option("--deletion", default="", help="Which one, as `chats trash --format json` has it.")
@vault_option
def restore(chat: str, deletion: str, vault: Path | None) -> None:
    """Bring a deleted chat back from the trash: by default as it was last deleted."""
    store = open_storage(vault_root(vault)).chats
    asyncio.run(store.restore(check_chat_id(chat), deletion))
    say(f"The chat {chat} is back.")


@chats.command(short_help="Remove a deleted chat for ever.")
@click.argument("chat")
@click.option("--deletion", default="", help="Which one, as `chats trash --format json` has it.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@vault_option
def purge(chat: str, deletion: str, yes: bool, vault: Path | None) -> None:
    """Remove a chat that is in the trash for ever, with all its deletions or one of them."""
    checked = check_chat_id(chat)
    store = open_storage(vault_root(vault)).chats
    if not yes:
        ask(f"Remove the deleted chat {checked} for ever?")
    removed = asyncio.run(store.trash.purge(checked, deletion))
    say(f"Removed for ever: {counted(removed, 'deleted chat')}.")


async def _existing(storage: Storage, chat: str) -> dict[str, Any]:
    return await storage.chats.load(await existing_chat(storage, chat), reader=NEVER_SAVES)


async def _store_new(storage: Storage, chat_id: ChatId, document: dict[str, Any]) -> None:
    if await storage.chats.exists(chat_id):
        raise CommandFailed(f"The vault already has a chat {chat_id}; choose another --chat-id.")
    try:
        own = own_chat(document, "")
    except NotReadable as error:
        raise CommandFailed(f"The file can't be imported: {error}.") from error
    await choose(storage, chat_id, hidden=own.hidden, pinned=own.pinned)
    await storage.chats.save(chat_id, unmarked(document))


def _imported(file: Path) -> dict[str, Any]:
    if file.stat().st_size > MAX_IMPORT_BYTES:
        raise CommandFailed(f"{shown(file)}: larger than {MAX_IMPORT_BYTES} bytes; split it first.")
    try:
        content = storable_value(json.loads(file.read_bytes()))
    except (ValueError, RecursionError) as error:
        found = f"{shown(file)}: expected JSON, found something else ({error})."
        raise CommandFailed(found) from error
    document = {"messages": content} if isinstance(content, list) else content
    messages = document.get("messages") if isinstance(document, dict) else None
    if not isinstance(messages, list) or not all(isinstance(m, dict) for m in messages):
        raise CommandFailed(
            f'{shown(file)}: expected {{"messages": [...]}} or a list of messages, found neither.'
        )
    return {
        **document,
        "messages": [message.to_dict() for message in messages_of(document)],
    }

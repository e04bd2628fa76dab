"""`smart-context doctor`: checks everything that a vault needs, and changes nothing."""

import asyncio
import operator
import os
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from smart_context.app.composition import composed, plugin_states, read_vault, trust_of
from smart_context.base.config import EndpointSettings, VaultConfig
from smart_context.base.environment import environment
from smart_context.base.errors import ConfigInvalid, ModelFailed, SmartContextError
from smart_context.base.processes.child import START_S, Child, ChildFailed
from smart_context.base.processes.confinement import confinement_words, reachable
from smart_context.base.text.scores import counted
from smart_context.base.values import OWNER
from smart_context.llm.models import ChatModel, Embedder
from smart_context.vault.guarded.walk import cut_words, file_stamps
from smart_context.vault.trust.views import STATE_WORDS, review_view

_HOW_TO_CHAT = "To chat with a model, set [llm] in .vault.toml (smart-context init)."

PROBE = [{"role": "user", "content": "Answer with the word OK."}]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The result of one check."""

    what: str  # what was checked
    state: Literal["ok", "note", "failed"]  # `note`: worth knowing, nothing to do
    found: str  # the result
    next_step: str = ""  # what to do; empty if nothing


async def examine(root: Path) -> list[Finding]:
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
        *[finding async for finding in _models(config)],
        *[finding async for finding in _chats(config)],
        *await _plugins(root),
    ]


def _settings(config: VaultConfig) -> Finding:
    if config.path is None:
        return Finding(
            what="settings",
            state="note",
            found=f"{config.root} has no .vault.toml; defaults are in use",
            next_step="To change them: smart-context init",
        )
    return Finding(what="settings", state="ok", found=f"{config.path} is right")


def _effective(config: VaultConfig) -> list[Finding]:
    lines = [
        ("vault", f"{config.name} in {config.root}"),
        ("chats are kept in", config.storage.shown or str(config.memory_dir)),
    ]
    lines += [
        (f"plugins.{plugin_id}", ", ".join(f"{key} = {value!r}" for key, value in values.items()))
        for plugin_id, values in config.plugins.items()
    ]
    return [Finding(what=what, state="note", found=found) for what, found in lines]


def _trust(config: VaultConfig) -> list[Finding]:
    """What is off until the user trusts the vault, and how to turn it on."""
    review = trust_of(config.root).review(config)
    view = review_view(review, config.root)
    in_use = {part.id for part in review.missed}
    return [
        Finding(
            what=part["title"],
            state="failed" if part["id"] in in_use else "note",
            found=f"{_off(part['state'])}, {STATE_WORDS[part['state']]}. {part['does']}",
            next_step=f"Review it and turn it on: smart-context trust {view['vault']}",
        )
        for part in view["parts"]
        if part["state"] != "trusted"
    ]


def _off(state: str) -> str:
    return "partly off" if state == "partly" else "off"


def _write_access(config: VaultConfig) -> Finding:
    folder = config.memory_dir
    while not folder.exists():
        folder = folder.parent
    if os.access(folder, os.W_OK | os.X_OK):
        return Finding(what="write access", state="ok", found=f"{folder} can be written")
    return Finding(
        what="write access",
        state="failed",
        found=f"{folder} can't be written, so chats can't be saved",
        next_step="Change its permissions, or set vault.memory_dir to another folder.",
    )


def _ignore_files(config: VaultConfig) -> list[Finding]:
    found: list[Finding] = []

    def cut(folder: str, lines: int) -> None:
        found.append(Finding(what="ignore files", state="note", found=cut_words(folder, lines)))

    file_stamps(config.root, on_cut=cut)
    return found


def _readers() -> Finding:
    """What a hostile file could reach from the process that reads it, as that process says."""
    what = "readers of files and code"
    with Child(environ=environment()) as child:
        try:
            child.run(operator.neg, 1, deadline_s=START_S)
        except ChildFailed as failure:
            return Finding(what=what, state="failed", found=f"their process fails: {failure}")
        holds = child.holds
    left = bool(reachable(holds))
    return Finding(
        what=what,
        state="note" if left else "ok",
        found=confinement_words(holds),
        next_step="What that means: docs/security.md, Costs" if left else "",
    )


async def _models(config: VaultConfig) -> AsyncIterator[Finding]:
    async with composed(config) as parts:
        yield await _chat_model(
            "chat model", parts.models.chat, config.chat, is_restricted="chat" in config.restricted
        )
        if parts.models.fast is None:
            yield Finding(what="fast model", state="ok", found="embedded topic extractor")
        else:
            yield await _chat_model("fast model", parts.models.fast, config.fast)
        yield await _embedder(parts.models.embedder)


async def _chat_model(
    what: str,
    model: ChatModel,
    endpoint: EndpointSettings | None,
    *,
    is_restricted: bool = False,
) -> Finding:
    if endpoint is None:
        return Finding(
            what=what,
            state="note",
            found="none in use; answers quote the closest passages",
            next_step="" if is_restricted else _HOW_TO_CHAT,
        )
    try:
        completion = await model.complete(PROBE)
    except ModelFailed as failure:
        return Finding(what=what, state="failed", found=str(failure))
    return Finding(
        what=what,
        state="ok",
        found=f"{model.name} at {endpoint.base_url} answers {completion.text.strip()[:40]!r}",
    )


async def _embedder(embedder: Embedder) -> Finding:
    try:
        vectors = await embedder.embed(["A short text."])
    except ModelFailed as failure:
        return Finding(what="embedding model", state="failed", found=str(failure))
    return Finding(
        what="embedding model",
        state="ok",
        found=f"{embedder.name} gives vectors of {vectors.shape[1]} dimensions",
    )


async def _chats(config: VaultConfig) -> AsyncIterator[Finding]:
    async with composed(config) as parts:
        listing = parts.storage.chats.listing
        count, faults = len(await listing.rows(OWNER)), await listing.faults()
    for chat_id, reason in faults.unreadable:
        yield Finding(what="chats", state="failed", found=f"{chat_id}: {reason}")
    yield Finding(what="chats", state="ok", found=counted(count, "chat"))
    for name in faults.set_aside:
        yield Finding(
            what="chats",
            state="note",
            found=f"{name} was set aside because it could not be read",
            next_step="Repair it by hand and rename it to .json, or delete it.",
        )


async def _plugins(root: Path) -> list[Finding]:
    try:
        states = await plugin_states(root)
    except (ConfigInvalid, SmartContextError) as error:
        return [Finding(what="plugins", state="failed", found=str(error))]
    return [
        Finding(
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

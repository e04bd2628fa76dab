"""The tools about notes: search, read, links, contexts, and prompts of files.

They see the files that `readable_files` gives, without those that hold keys or passwords.
"""

import asyncio
import posixpath
from collections.abc import Mapping
from dataclasses import KW_ONLY, InitVar, dataclass, replace
from typing import Annotated, Any

from pydantic import Field

from smart_context.base.errors import CommandFailed, ConfigInvalid, InvalidParams
from smart_context.base.values import CountTokens, JsonObject
from smart_context.contexts import SmartContext, SmartContexts
from smart_context.contexts.render import path_of
from smart_context.host.commands.registry import Caller, CommandRegistry
from smart_context.mcp_server.chat_tools import Cursor, MaxTokens
from smart_context.mcp_server.paging import (
    DEFAULT_TOKENS,
    asked_for,
    page_of_rows,
    page_of_text,
)
from smart_context.packing.files.secret_scan import find_secret
from smart_context.packing.packer import ContextPacker
from smart_context.packing.plan import PackPlan
from smart_context.packing.role_sources import RoleSources, UsableRole
from smart_context.packing.roles import RoleConfig
from smart_context.storage.ports import VaultDocuments
from smart_context.vault.followed import FollowedVault
from smart_context.vault.guarded.files import FileText, VaultFiles
from smart_context.vault.guarded.paths import as_typed, confine
from smart_context.vault.guarded.walk import stamp_of
from smart_context.vault.index.vault_index import VaultIndex
from smart_context.vault.markdown.links import similar_paths
from smart_context.vault.markdown.sections import section_of
from smart_context.vault.search import by_closeness, may_be_searched, query_of, search_notes

MOST_CHARACTERS = 2_000_000
MOST_DEPTH = 10
_LINE_CHARACTERS = 300

NotePath = Annotated[
    str, Field(description="The note's path in the vault, or its name as in a link.")
]


@dataclass(eq=False)
class NoteTools:
    """Tools about the vault's files."""

    commands: CommandRegistry  # the host's commands, which check the owners of contexts
    notes: FollowedVault  # the vault's notes
    documents: InitVar[VaultDocuments]  # keeps the named contexts
    _: KW_ONLY
    roles: RoleSources  # finds the roles that may be used
    count: CountTokens  # counts tokens for the chat model

    def __post_init__(self, documents: VaultDocuments) -> None:
        self._contexts = SmartContexts(
            self.notes.root,
            None,
            self.notes.memory_dir,
            index=self.notes.index,
            documents=documents,
        )

    async def search_notes(
        self,
        query: Annotated[
            str, Field(description='Words that all must occur; "a phrase"; -word must not.')
        ],
        cursor: Cursor = "",
        max_tokens: MaxTokens = DEFAULT_TOKENS,
    ) -> JsonObject:
        """Find the notes that contain all words, the closest first, each with its best line."""
        wanted = query_of(query)
        if not wanted.wanted:
            raise InvalidParams("query: expected words to look for, found none")
        root = self.notes.root

        def found(index: VaultIndex) -> list[JsonObject]:
            paths = [path for path in index.files_below("") if may_be_searched(path)]
            hits = search_notes(root, paths, wanted, is_withheld=find_secret)
            return [
                {"path": hit.path, "line": hit.line, "text": hit.text[:_LINE_CHARACTERS]}
                for hit in sorted(hits, key=by_closeness)
            ]

        asked = asked_for("search_notes", cursor, max_tokens, query=query)
        rows = await self.notes.ask(found)
        return await asyncio.to_thread(
            page_of_rows, asked, {"total": len(rows)}, "notes", rows, self.count
        )

    async def read_note(
        self,
        path: NotePath,
        heading: Annotated[
            str, Field(description="Only the section below this heading; Heading#Sub heading.")
        ] = "",
        block: Annotated[str, Field(description="Only the block ^name.")] = "",
        cursor: Cursor = "",
        max_tokens: MaxTokens = DEFAULT_TOKENS,
    ) -> JsonObject:
        """Read a note, a section or a block of it, in pages."""
        if heading and block:
            raise InvalidParams("heading, block: expected one of them, found both")
        fragment = f"^{block.removeprefix('^')}" if block else heading

        def read(index: VaultIndex) -> tuple[str, str]:
            found = self._readable(index, path)
            plain = _plain(as_typed(path))
            linked = path.partition("#")[2] if found not in {plain, f"{plain}.md"} else ""
            return found, _part_of(index, found, fragment or linked)

        found, text = await self.notes.ask(read)
        asked = asked_for("read_note", cursor, max_tokens, path=found, part=fragment)
        head = {"path": found, "characters": len(text)}
        return await asyncio.to_thread(page_of_text, asked, head, text, self.count)

    async def links(
        self, path: NotePath, cursor: Cursor = "", max_tokens: MaxTokens = DEFAULT_TOKENS
    ) -> JsonObject:
        """List what a note links to, and where that leads, and the notes that link to it."""

        def listed(index: VaultIndex) -> tuple[str, list[JsonObject]]:
            found = self._readable(index, path)
            with VaultFiles(self.notes.root) as files:
                _check_no_secret(found, _text_of(files, found))
                sources = [
                    source
                    for source in index.backlinks(found)
                    if not find_secret(source, _text_of(files, source))
                ]
            outgoing = dict.fromkeys((link.target, to) for link, to in index.links(found))
            rows: list[JsonObject] = [
                {"link": target, "path": to.path or "", "or": [*to.candidates[1:]]}
                for target, to in outgoing
            ]
            return found, rows + [{"backlink": source} for source in sources]

        found, rows = await self.notes.ask(listed)
        asked = asked_for("links", cursor, max_tokens, path=found)
        head = {"path": found, "total": len(rows)}
        return await asyncio.to_thread(page_of_rows, asked, head, "links", rows, self.count)

    async def build_context(
        self,
        caller: Caller,
        name: Annotated[str | None, Field(description="A named context.")] = None,
        items: Annotated[
            list[str] | None,
            Field(description="In place of a name: notes, folders, note#Heading, note#^block."),
        ] = None,
        depth: Annotated[
            int | None, Field(description="How many links to follow; left out: the context's own.")
        ] = None,
        cursor: Cursor = "",
        max_tokens: MaxTokens = DEFAULT_TOKENS,
    ) -> JsonObject:
        """Build the text of a named context, or of items, with its notes and what is left out."""
        if (name is None) == (items is None):
            raise InvalidParams("name, items: expected one of them")
        if depth is not None and not 0 <= depth <= MOST_DEPTH:
            raise InvalidParams(f"depth: expected 0 to {MOST_DEPTH}, found {depth}")
        options: dict[str, Any] = {}
        wanted = items or []
        if name is not None:
            try:
                call = self.commands.call("smart_context.get_context", {"key": name}, caller)
                stored = await call
            except CommandFailed as error:
                told = f"{error} The resources context://… are those there are; or give items."
                raise CommandFailed(told) from error
            wanted, options = stored["items"], stored["options"]
        if depth is not None:
            options = {**options, "link_depth": depth}
        head, text = await self.notes.ask(lambda _index: self._built(wanted, options))
        asked = asked_for("build_context", cursor, max_tokens, name=name, items=items, depth=depth)
        counted = {"tokens": self.count(text), **head}
        return await asyncio.to_thread(page_of_text, asked, counted, text, self.count)

    async def pack(
        self,
        role: Annotated[str, Field(description="A role of the vault's roles folder.")] = "",
        task: Annotated[str, Field(description="The task, in words.")] = "",
        target: Annotated[str, Field(description="The file or folder that it is about.")] = "",
        cursor: Cursor = "",
        max_tokens: MaxTokens = DEFAULT_TOKENS,
    ) -> JsonObject:
        """Pack the files of a role and a task into one prompt that fits, and say what is out."""
        asked = asked_for("pack", cursor, max_tokens, role=role, task=task, target=target)
        if not (role or task.strip() or target):
            raise InvalidParams("role, task, target: expected at least one of them")
        if target:
            await self.notes.ask(lambda index: self._check_target(index, target))
        usable, plan = await asyncio.to_thread(self._packed, role, task, target, asked.budget)
        head = {
            "tokens": plan.tokens,
            "is_whole": plan.is_whole,
            "dropped": [s.heading for s in plan.sections if not s.is_kept],
            "warnings": [*usable.problems, *plan.warnings],
        }
        return await asyncio.to_thread(page_of_text, asked, head, plan.render(), self.count)

    def _packed(
        self, role: str, task: str, target: str, budget: int
    ) -> tuple[UsableRole, PackPlan]:
        """The prompt, and the usable part of the role; no role gives keys to agents.

        Raises:
            CommandFailed: If the role is the vault's, and the vault isn't trusted.
            ConfigInvalid: If there is no such role, or its file has faults.
        """
        try:
            usable = self.roles.role(role) if role else UsableRole(config=RoleConfig(name=""))
        except ConfigInvalid as error:
            raise error.seen_from(self.notes.root) from error  # agents get no absolute path
        if usable.config is None:
            told = " ".join(usable.problems)
            raise CommandFailed(f"{told} Trust it on the page, or with smart-context trust.")
        context = usable.config.context
        folders = (f"/{folder}/" for folder in self.notes.without)
        limited = replace(
            usable.config,
            token_budget=budget,
            context=replace(context, exclude=(*context.exclude, *folders), allow_secrets=False),
        )
        packer = ContextPacker(self.notes.root, git=usable.git)
        return usable, packer.plan(limited, task, [target] if target else [])

    def _readable(self, index: VaultIndex, request: str) -> str:
        """The path of the readable file that is requested by its path, or by a name as in a link.

        Raises:
            CommandFailed: If there is none; suggests similar names.
            PathRefused: If the request leads out of the vault.
        """
        typed = as_typed(request)
        confine(self.notes.root, typed)
        plain = _plain(typed)
        for path in (plain, f"{plain}.md", index.names.resolve(typed, "").path):
            if path and self._may_read(path):
                return path
        near = ", ".join(similar_paths(request, index.names.all(), 3))
        hint = f"Similar: {near}." if near else "search_notes finds notes by their words."
        raise CommandFailed(f"There is no note {request[:200]!r} that may be read. {hint}")

    def _check_target(self, index: VaultIndex, request: str) -> None:
        """Refuse a target that is not readable, since the packer takes even ignored files by name.

        Raises:
            CommandFailed: If it is neither a readable file nor a folder with one.
            PathRefused: If the request leads out of the vault.
        """
        confine(self.notes.root, request)
        path = _plain(request)
        below = index.files_below("" if path == "." else path)
        if not (self._may_read(path) or any(True for _ in below)):
            raise CommandFailed(
                f"There is no file or folder {request[:200]!r} that may be read; "
                "search_notes finds notes by their words."
            )

    def _may_read(self, path: str) -> bool:
        return stamp_of(self.notes.root, path, without=self.notes.without) is not None

    def _built(self, items: list[str], options: Mapping[str, Any]) -> tuple[JsonObject, str]:
        for item in items:
            confine(self.notes.root, path_of(item))
        try:
            context = SmartContext(self._contexts, "", dict.fromkeys(items, True), options)
            chosen = context.options()
        except (TypeError, ValueError) as error:
            raise InvalidParams(f"options: {error}") from error
        most = min(chosen.max_len or MOST_CHARACTERS, MOST_CHARACTERS)
        snapshot = self._contexts.snapshot_of(
            context.context_items, chosen.override({"max_len": most})
        )
        refused: list[str] = []
        for texts in snapshot.items.values():
            for key in [*texts]:
                path = path_of(key)
                if not self._may_read(path) or find_secret(path, texts[key]):
                    refused.append(key)
                    del texts[key]
        compiled = context.compile(snapshot, max_len=most)
        kept = [key for texts in snapshot.items.values() for key in texts]
        left_out = [*snapshot.missing_items, *refused, *compiled.stats.skipped_items]
        return {"items": kept, "not_included": left_out}, compiled.context


def _plain(request: str) -> str:
    """A path in the form that the vault uses."""
    return posixpath.normpath(request.strip("/") or ".")


def _part_of(index: VaultIndex, path: str, fragment: str) -> str:
    found = index.read(path)
    if found is None:
        raise CommandFailed(f"{path!r} is not a text file.")
    text, outline = found
    _check_no_secret(path, text)
    if not fragment:
        return text
    section = section_of(outline, fragment)
    if section is None:
        known = ", ".join(repr(heading.text) for heading in outline.headings[:20])
        raise CommandFailed(f"{path!r} has no part {fragment!r}. Its headings: {known or 'none'}.")
    return text[section[0] : section[1]]


def _text_of(files: VaultFiles, path: str) -> str:
    """The text of a file; empty if it has none."""
    found = files.read(path)
    return found.text if isinstance(found, FileText) else ""


def _check_no_secret(path: str, text: str) -> None:
    if secret := find_secret(path, text):
        raise CommandFailed(f"{path!r} is not given out, since it holds {secret}.")

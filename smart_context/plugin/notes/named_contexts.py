"""Commands to build named contexts: browse the vault, preview, save, delete."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from smart_context.base.errors import CommandFailed, InvalidParams, StoreFailed
from smart_context.base.results import ContextResult
from smart_context.base.values import CountTokens, JsonObject, PersonId
from smart_context.contexts import SmartContext, SmartContexts
from smart_context.contexts.options import stored_options
from smart_context.host.access import Access
from smart_context.host.commands.memory import NOBODY_ELSE
from smart_context.host.commands.registry import Caller
from smart_context.plugin.notes.context_documents import (
    ContextChanges,
    NamesContext,
    NamesOwnContext,
    chat_of,
    context_document,
    outline_document,
    owner_of,
    preview_document,
)
from smart_context.plugin.notes.context_prompt import bounded
from smart_context.plugin.notes.vault_notes import VaultNotes
from smart_context.plugin.settings import FilterSettings
from smart_context.storage.guarded.storage import PersonalContexts
from smart_context.vault.guarded.paths import confine
from smart_context.vault.markdown.notes import Outline

PAGE_ROWS = 200
MAX_PAGE_ROWS = 1_000
MAX_ITEMS = 5_000
MAX_KEY_LENGTH = 120

_JOINERS = {0x200C: None, 0x200D: None}  # invisible, but words and emoji are written with them


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedContexts:
    """The commands of the page that builds one person's named contexts."""

    person: PersonId
    notes: VaultNotes
    changes: ContextChanges
    access: Access
    count_tokens: CountTokens
    settings: FilterSettings
    # shares contexts between people; `None`: all are one person's
    sharing: PersonalContexts | None = None

    async def list_notes(
        self, query: str = "", folder: str = "", offset: int = 0, limit: int = PAGE_ROWS
    ) -> JsonObject:
        """List a folder of the vault, or the paths that match a query, page by page."""
        tree = await self.notes.tree()
        start, count = max(offset, 0), min(max(limit, 1), MAX_PAGE_ROWS)
        if query.strip():
            rows, total = tree.search(query, start, count)
        else:
            prefix = f"{folder.rstrip('/')}/" if folder.strip("/") else ""
            rows, total = tree.listing(prefix, start, count)
        after = start + len(rows)
        return {
            "entries": [row.to_dict() for row in rows],
            "total": total,
            "next_offset": after if after < total and rows else None,
            "files": len(tree.paths),
        }

    async def find_files(self, query: str, offset: int = 0, limit: int = PAGE_ROWS) -> JsonObject:
        """Find files by their path that can be attached to a message, page by page."""
        tree = await self.notes.tree()
        start, count = max(offset, 0), min(max(limit, 1), MAX_PAGE_ROWS)
        rows, total = tree.find_files(query, start, count)
        return {"entries": [row.to_dict() for row in rows], "total": total}

    async def outline(self, path: str) -> JsonObject:
        """The headings and blocks of a note."""
        tree = await self.notes.tree()

        def read(contexts: SmartContexts) -> Outline | None:
            confine(contexts.root, path)
            return contexts.index.outline(path)

        found = await self.notes.ask(read) if tree.holds(path) else None
        if found is None:
            raise CommandFailed(
                f"There is no note {path!r} in the vault, or it is not a text file."
            )
        return outline_document(path, found)

    async def list_contexts(self, caller: Caller) -> JsonObject:
        """List all contexts with their number of items and the chat they were made for."""

        def listed(contexts: SmartContexts) -> list[ContextResult]:
            return [self._listed(contexts, key) for key in contexts.keys()]  # noqa: SIM118 - no mapping

        found = await self.notes.ask(listed)
        may_use = self.access.may_use
        own = [each for each in found if await may_use(caller.person, owner_of(each["key"]))]
        return {"contexts": own}

    async def get_context(self, key: Annotated[str, NamesContext]) -> JsonObject:
        """One context: its items and its own options."""
        return context_document(await self._stored(key))

    async def save_context(
        self,
        key: Annotated[str, NamesContext],
        items: list[str],
        options: dict[str, Any] | None = None,
        replace: bool = True,
    ) -> JsonObject:
        """Store a context under a name; without `replace`, fail if the name is taken."""
        name = checked_key(key)
        draft = self._checked(items, options)

        def save(contexts: SmartContexts) -> SmartContext:
            if not replace and contexts.get(name) is not None:
                raise CommandFailed(f"There is already a context {name!r}; choose another name.")
            try:
                return contexts.create(draft, name, options)
            except ValueError as error:
                raise InvalidParams(str(error)) from error

        saved = await self.notes.ask(save)
        self.changes.context_changed(name, self.person)
        return context_document(saved)

    async def share_context(self, key: Annotated[str, NamesOwnContext], shared: bool) -> JsonObject:
        """Let all people use a context and change it, or only its own person."""
        sharing = self.sharing
        if sharing is None:
            raise CommandFailed(NOBODY_ELSE)
        name = checked_key(key)
        if not shared:
            # while the people it was shared with are still told
            self.changes.context_changed(name, self.person)
        await self.notes.ask(lambda _: sharing.share(name, shared=shared))
        self.changes.context_changed(name, self.person)
        return {"key": name, "shared": shared}

    async def delete_context(self, key: Annotated[str, NamesOwnContext]) -> JsonObject:
        """Delete a context; chats that use it go on without it."""
        was_there = await self.notes.ask(lambda contexts: contexts.delete(key))
        if was_there:
            self.changes.context_changed(key, self.person)
        return {"deleted": was_there}

    async def preview_context(
        self, items: list[str], options: dict[str, Any] | None = None, key: str = "draft"
    ) -> JsonObject:
        """Show what goes in at each depth, what is cut, skipped or missing, and the tokens.

        The name is sent with the notes, so it counts as well.
        """
        draft = self._checked(items, options)

        def preview(contexts: SmartContexts) -> JsonObject:
            context = SmartContext(contexts, " ".join(key.split()), draft, stored_options(options))
            document = preview_document(contexts, context, self.count_tokens)
            return document | {"budget": self.settings.context_budget_tokens}

        return await self.notes.ask(preview)

    async def compile_context(
        self, items: list[str], options: dict[str, Any] | None = None
    ) -> JsonObject:
        """The whole text of a context, for copying: at most two million characters."""
        draft = self._checked(items, options)

        def compiled(contexts: SmartContexts) -> str:
            context = SmartContext(contexts, "draft", draft, stored_options(options))
            return context.compile(max_len=bounded(context.options()).max_len).context

        text = await self.notes.ask(compiled)
        return {
            "text": text,
            "tokens": self.count_tokens(text),
            "ask_above": self.settings.ask_above_tokens,
        }

    def _listed(self, contexts: SmartContexts, key: str) -> ContextResult:
        row = _listed(contexts, key)
        person = self.sharing.shared_by(key) if self.sharing else None
        if person is not None:
            row["shared"], row["person"] = True, person
        return row

    async def _stored(self, key: str) -> SmartContext:
        found = await self.notes.ask(lambda contexts: contexts.get(key))
        if found is None:
            raise CommandFailed(f"There is no context {key!r}.")
        return found

    @staticmethod
    def _checked(items: list[str], options: Mapping[str, Any] | None) -> dict[str, bool]:
        if len(items) > MAX_ITEMS:
            raise InvalidParams(
                f"items: expected at most {MAX_ITEMS} names, found {len(items)}; name a folder"
            )
        try:
            stored_options(options)
        except (TypeError, ValueError) as error:
            raise InvalidParams(f"options: {error}") from error
        return dict.fromkeys((name for name in items if name.strip()), True)


def checked_key(key: str) -> str:
    """A context's name with its spaces normalised.

    Raises:
        InvalidParams: If it is blank, too long, or has control characters.
    """
    name = " ".join(key.split())
    if not 0 < len(name) <= MAX_KEY_LENGTH:
        raise InvalidParams(f"key: expected 1 to {MAX_KEY_LENGTH} characters, found {len(name)}")
    if not name.translate(_JOINERS).isprintable():
        raise InvalidParams("key: expected a name of visible characters")
    return name


def _listed(contexts: SmartContexts, key: str) -> ContextResult:
    try:
        found = contexts.get(key)
    except StoreFailed as failure:
        return {"key": key, "chat_id": chat_of(key), "items": 0, "problem": str(failure)}
    listed = found.context_items.values() if found else ()
    return {"key": key, "chat_id": chat_of(key), "items": sum(listed), "problem": ""}

"""The briefing of a turn: instructions, role, named contexts, recalls and the role's template.

Turns, previews and replays all use it, so that previews show exactly what is sent. The parts that
change least come first (system prompt, instructions, role, contexts, recalls), so that providers
can reuse their prompt caches.
"""

import asyncio
import logging
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Literal

from smart_context.base.errors import CommandFailed, InvalidParams, SmartContextError
from smart_context.base.processes.child import Child
from smart_context.base.threads import in_daemon_thread
from smart_context.base.values import CountTokens, JsonObject
from smart_context.chat.messages import INSTRUCTIONS, ChatId, instructions_in
from smart_context.contexts import SmartContexts
from smart_context.host.request.tokens import system_tokens
from smart_context.plugin.briefing.chat_recalls import ChatRecalls
from smart_context.plugin.briefing.chat_roles import NO_ROLE, ChatRoles, RolePart
from smart_context.plugin.briefing.recall_prompt import RecallsPrompt
from smart_context.plugin.choices.sidecars import Sidecars
from smart_context.plugin.choices.state import FilterState
from smart_context.plugin.choices.undo import UndoSteps
from smart_context.plugin.notes.context_documents import (
    ContextChanges,
    NamesContext,
    own_context,
    share_document,
)
from smart_context.plugin.notes.context_prompt import (
    NOTHING,
    ContextContent,
    ContextShare,
    ContextsPrompt,
    appended,
    contexts_prompt,
    gather,
)
from smart_context.plugin.notes.vault_notes import VaultNotes
from smart_context.plugin.selection.chat_filter import ChatFilter
from smart_context.plugin.settings import ModelInUse
from smart_context.storage.ports import Chats

PATIENCE_S = 20.0
"""Time that a turn waits for its notes before it goes on without them."""


@dataclass(frozen=True, slots=True)
class ContextsToSend:
    """The contexts of a chat as a prompt, with its tokens, and the problems by context."""

    prompt: ContextsPrompt = NOTHING
    problems: tuple[tuple[str, str], ...] = ()
    tokens: int = 0

    def left_out(self) -> "ContextsToSend":
        """The result without any context in it, since none fits."""
        shares = tuple(
            replace(
                share, tokens=0, sent=(), costs=(), cut=(), left_out=(*share.sent, *share.left_out)
            )
            for share in self.prompt.shares
        )
        return ContextsToSend(ContextsPrompt("", shares), self.problems)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatContexts:
    """The named contexts that go with a chat's messages."""

    notes: VaultNotes
    chat_filter: ChatFilter
    sidecars: Sidecars
    changes: ContextChanges
    budget: int  # the maximum tokens of all contexts of one chat; 0 is no limit
    within: Callable[[int], int]  # caps a budget of tokens by the model's window
    model: ModelInUse
    logger: logging.Logger
    steps: UndoSteps

    async def attach_context(
        self, chat_id: ChatId, key: Annotated[str, NamesContext]
    ) -> JsonObject:
        """Send a named context with each message of a chat."""
        if await self.notes.ask(lambda contexts: contexts.get(key)) is None:
            raise CommandFailed(f"There is no context {key!r}; save it before you attach it.")
        return await self._change(chat_id, lambda state: state.attach(key))

    async def detach_context(
        self, chat_id: ChatId, key: Annotated[str, NamesContext]
    ) -> JsonObject:
        """No longer send a named context."""
        return await self._change(chat_id, lambda state: state.detach(key))

    async def chat_contexts(self, chat_id: ChatId) -> JsonObject:
        """The contexts of a chat, and the parts of each that go with the next message."""
        return self._chips(chat_id, await self.assemble(chat_id))

    async def add_notes(self, chat_id: ChatId, paths: list[str]) -> JsonObject:
        """Add notes to the chat's own context, which is made and attached if necessary.

        Notes of an own context that was detached don't come back with them.
        """
        key = own_context(chat_id)
        before = await self.sidecars.of(chat_id)
        is_sent = key in before.state.contexts

        def add(contexts: SmartContexts) -> tuple[tuple[str, ...], tuple[str, ...]]:
            known = contexts.get(key)
            before = known.context_items if known else {}
            had = before if is_sent else {}
            items = {**had, **dict.fromkeys(paths, True)}
            contexts.create(items, key, known.context_opts if known else {})
            return tuple(path for path in items if path not in had), tuple(before)

        if not paths:
            raise InvalidParams("paths: expected at least one note")
        added, had = await self.notes.ask(add)
        if added and is_sent:
            self.steps.add_notes(chat_id, before, added)
        shown = await self._change(chat_id, lambda state: state.attach(key))
        if added and not is_sent:
            self.steps.amend(chat_id, notes=added, replaced=had)
        return shown

    async def take_out(
        self, chat_id: ChatId, notes: Collection[str], back: Sequence[str] = ()
    ) -> None:
        """Take notes out of the chat's own context; one without any is deleted.

        Args:
            back: Notes that come back in their place.
        """
        key = own_context(chat_id)

        def take(contexts: SmartContexts) -> None:
            if known := contexts.get(key):
                left = {n: flag for n, flag in known.context_items.items() if n not in notes}
                items = left | dict.fromkeys(back, True)
                if items:
                    contexts.create(items, key, known.context_opts)
                else:
                    contexts.delete(key)

        await self.notes.ask(take)

    async def assemble(
        self,
        chat_id: ChatId,
        keys: Sequence[str] | None = None,
        *,
        budget: int | None = None,
        count_tokens: CountTokens | None = None,
    ) -> ContextsToSend:
        """The part of the system prompt that holds a chat's contexts; never fails.

        Args:
            keys: The contexts to use instead of the attached ones.
            budget: The maximum tokens, instead of the setting.
            count_tokens: The token counter, instead of the chat model's.
        """
        if keys is None:
            keys = (await self.sidecars.of(chat_id)).state.contexts
        limit = self.within(self.budget if budget is None else budget)
        count = count_tokens or self.model.count_tokens
        if not keys:
            return ContextsToSend()
        problem = ""
        try:
            async with asyncio.timeout(PATIENCE_S):
                found = await self.notes.ask(
                    lambda contexts: [_content(contexts, key, limit) for key in keys]
                )
                return await asyncio.to_thread(_assembled, found, limit, count)
        except TimeoutError:
            problem = f"The notes could not be read within {PATIENCE_S:.0f} s; they are not sent."
        except Exception:
            self.logger.exception("the contexts of the chat %s can't be read", chat_id)
            problem = "The notes can't be read, so they are not sent; see the log."
        lost = ContextsPrompt("", tuple(ContextShare(key=key) for key in keys))
        return ContextsToSend(lost, tuple((key, problem) for key in keys))

    async def _change(
        self, chat_id: ChatId, change: Callable[[FilterState], FilterState]
    ) -> JsonObject:
        await self.chat_filter.change_state(chat_id, change)
        self.changes.chat_changed(chat_id)
        return await self.chat_contexts(chat_id)

    def _chips(self, chat_id: ChatId, assembled: ContextsToSend) -> JsonObject:
        problems = dict(assembled.problems)
        chips = [share_document(s, problems.get(s.key, "")) for s in assembled.prompt.shares]
        own = own_context(chat_id)
        return {
            "chat_id": chat_id,
            "contexts": [{**chip, "is_own": chip["key"] == own} for chip in chips],
            "tokens": assembled.tokens,
            "budget": self.within(self.budget),
        }


def _content(contexts: SmartContexts, key: str, budget: int) -> tuple[ContextContent, str]:
    """A context's content, and the problem if it can't be read."""
    try:
        context = contexts.get(key)
        if context is None:
            return ContextContent(key=key), "This context was deleted."
        return gather(contexts, context, budget=budget), ""
    except SmartContextError as failure:
        return ContextContent(key=key), str(failure)


def _assembled(
    found: Sequence[tuple[ContextContent, str]], budget: int, count_tokens: CountTokens
) -> ContextsToSend:
    prompt = contexts_prompt(
        (content for content, _ in found), budget=budget, count_tokens=count_tokens
    )
    problems = tuple((content.key, problem) for content, problem in found if problem)
    return ContextsToSend(prompt, problems, sum(share.tokens for share in prompt.shares))


TEMPLATE_PATIENCE_S = 15.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Instructions:
    """The user's instructions to the model in a chat."""

    text: str = ""  # that of the vault, then that of the chat; empty for none
    tokens: int = 0


NO_INSTRUCTIONS = Instructions()


def _instructions(text: str, count_tokens: CountTokens) -> Instructions:
    return Instructions(text=text, tokens=system_tokens(text, count_tokens))


@dataclass(frozen=True, slots=True, kw_only=True)
class Briefing:
    """The instructions, role, contexts and recalls that go with one message."""

    message: str = ""  # the message, as the role's template words it
    instructions: Instructions = NO_INSTRUCTIONS
    role: RolePart = NO_ROLE
    contexts: ContextsToSend = field(default_factory=ContextsToSend)
    recalls: RecallsPrompt = field(default_factory=RecallsPrompt)
    problem: str = ""  # why the template was not used; empty if it was used or there is none
    # the chat whose stored instructions it has; empty for other instructions
    chat_id: ChatId | Literal[""] = ""

    @property
    def problems(self) -> str:
        """The problems with role, recalls and template, for people."""
        return "\n".join(filter(None, (self.role.problem, self.recalls.problem, self.problem)))

    @property
    def attached(self) -> str:
        """The text of contexts and recalls, which is left out if a request is too long."""
        return appended(self.contexts.prompt.text, self.recalls.text)

    @property
    def texts(self) -> tuple[str, ...]:
        """The briefing's parts of the system prompt, in order; empty ones are not sent."""
        parts = self.instructions.text, self.role.text
        return *parts, self.contexts.prompt.text, self.recalls.text

    def parts(
        self, count_tokens: CountTokens, before: str = "", after: str = ""
    ) -> tuple[tuple[str, int], ...]:
        """The parts of the system prompt, each with the tokens that it adds; they sum up to all.

        Args:
            before: The system prompt before the first of `texts`.
            after: The system prompt after the last of them.
        """
        texts = (before, *self.texts, after)
        return tuple((text, system_tokens(text, count_tokens)) for text in texts)

    def with_tokens(self, *, instructions: int, role: int) -> "Briefing":
        """The briefing with the tokens that its parts add to a request."""
        return replace(
            self,
            instructions=replace(self.instructions, tokens=instructions),
            role=replace(self.role, tokens=role),
        )

    def without_attached(self) -> "Briefing":
        """The briefing without contexts and recalls, which do not fit."""
        return replace(self, contexts=self.contexts.left_out(), recalls=self.recalls.left_out())

    def system_prompt(self, before: str) -> str:
        """A system prompt, followed by instructions, role, contexts and recalls."""
        told = appended(before, self.instructions.text)
        return appended(appended(told, self.role.text), self.attached)


@dataclass(frozen=True, slots=True, kw_only=True)
class Briefings:
    """Makes the briefings of a vault's chats."""

    chats: Chats
    general: Callable[[], str]  # gives the instructions for every chat
    model: ModelInUse
    roles: ChatRoles
    contexts: ChatContexts
    recalls: ChatRecalls
    child: Child  # where the vault's own templates are rendered

    async def of(
        self,
        chat_id: ChatId,
        message: str,
        state: FilterState,
        *,
        told: str | None = None,
        budget: int | None = None,
        model: str | None = None,
    ) -> Briefing:
        """The briefing of a chat's next message; never fails.

        Args:
            told: The instructions to use instead of the stored ones.
            budget: The maximum tokens of the contexts, instead of the setting.
            model: The model to count tokens for, instead of the chat model.
        """
        count = self.model.counter(model)
        text = await self._instructions(chat_id) if told is None else told
        part, contexts, recalls = await asyncio.gather(
            self.roles.part(state, count),
            self.contexts.assemble(chat_id, state.contexts, budget=budget, count_tokens=count),
            self.recalls.assemble(chat_id, state.recalls, count_tokens=count),
        )
        briefing = Briefing(
            chat_id=chat_id if told is None else "",
            instructions=_instructions(text, count),
            role=part,
            contexts=contexts,
            recalls=recalls,
        )
        return await self._worded(briefing, message)

    async def _instructions(self, chat_id: ChatId) -> str:
        """The vault's instructions, followed by the chat's if they can be read."""
        try:
            own = instructions_in({INSTRUCTIONS: await self.chats.value(chat_id, INSTRUCTIONS)})
        except SmartContextError:
            own = ""
        return "\n\n".join(filter(None, (self.general(), own)))

    async def with_message(self, briefing: Briefing, message: str) -> Briefing:
        """The same briefing for another message, with the instructions as they are now."""
        if briefing.chat_id:
            text = await self._instructions(briefing.chat_id)
            if text != briefing.instructions.text:
                told = _instructions(text, self.model.count_tokens)
                briefing = replace(briefing, instructions=told)
        return await self._worded(briefing, message)

    async def _worded(self, briefing: Briefing, message: str) -> Briefing:
        role = briefing.role
        if role.config is None or not role.config.template:
            return replace(briefing, message=message, problem="")
        try:
            async with asyncio.timeout(TEMPLATE_PATIENCE_S):
                words, problem = await in_daemon_thread(
                    lambda: role.shaped(message, self.child), name="template"
                )
        except TimeoutError:
            words = message
            problem = (
                f"The template of the role {role.name!r} took too long. "
                "Your message is sent as it is."
            )
        return replace(briefing, message=words, problem=problem)

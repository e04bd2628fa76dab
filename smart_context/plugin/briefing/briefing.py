"""What a turn sends besides the chat itself: role, named contexts, recalls, the role's template.

Turns, previews and replays all use it, so that what is shown is what is sent. What changes least
comes first (system prompt, role, contexts, recalls), so that providers can reuse their prompt
caches.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from smart_context.base.errors import SmartContextError
from smart_context.base.processes.child import Child
from smart_context.base.threads import in_daemon_thread
from smart_context.chat.messages import INSTRUCTIONS, ChatId, instructions_in
from smart_context.plugin.briefing.chat_contexts import Assembled, ChatContexts
from smart_context.plugin.briefing.chat_recalls import ChatRecalls
from smart_context.plugin.briefing.chat_roles import ChatRoles
from smart_context.plugin.briefing.recall_prompt import RecallsPrompt
from smart_context.plugin.briefing.role_part import NO_ROLE, RolePart
from smart_context.plugin.choices.state import FilterState
from smart_context.plugin.notes.context_prompt import appended
from smart_context.storage.ports import Chats

TEMPLATE_PATIENCE_S = 15.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Instructions:
    """What the user wants the model to be told in a chat."""

    text: str = ""  # that of the vault, then that of the chat; empty for none
    tokens: int = 0


NO_INSTRUCTIONS = Instructions()


@dataclass(frozen=True, slots=True, kw_only=True)
class Briefing:
    """What goes with one message."""

    message: str = ""  # the message, as the role's template words it
    instructions: Instructions = NO_INSTRUCTIONS
    role: RolePart = NO_ROLE
    contexts: Assembled = field(default_factory=Assembled)
    recalls: RecallsPrompt = field(default_factory=RecallsPrompt)
    problem: str = ""  # why the template was not used; empty when it was, or there is none

    @property
    def problems(self) -> str:
        """The problems with role, recalls and template, for people."""
        return "\n".join(filter(None, (self.role.problem, self.recalls.problem, self.problem)))

    @property
    def attached(self) -> str:
        """The text of contexts and recalls, which goes if a request is too long."""
        return appended(self.contexts.prompt.text, self.recalls.text)

    @property
    def texts(self) -> tuple[str, ...]:
        """Its parts of the system prompt, in order; empty ones are not sent."""
        parts = self.instructions.text, self.role.text
        return *parts, self.contexts.prompt.text, self.recalls.text

    def without_attached(self) -> "Briefing":
        """The briefing when contexts and recalls do not fit."""
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
    count_tokens: Callable[[str], int]
    roles: ChatRoles
    contexts: ChatContexts
    recalls: ChatRecalls
    child: Child  # where the vault's own templates are rendered

    async def of(
        self, chat_id: ChatId, message: str, state: FilterState, role: str | None = None
    ) -> Briefing:
        """What goes with a chat's next message; never fails.

        Args:
            role: Overrides the role chosen in `state`; empty removes it.
        """
        if role is not None and role != state.role:
            state = state.take_role(role)
        told, part, contexts, recalls = await asyncio.gather(
            self.instructions(chat_id),
            self.roles.part(state),
            self.contexts.assemble(chat_id, state.contexts),
            self.recalls.assemble(chat_id, state.recalls),
        )
        briefing = Briefing(instructions=told, role=part, contexts=contexts, recalls=recalls)
        return await self.with_message(briefing, message)

    async def instructions(self, chat_id: ChatId) -> Instructions:
        """The instructions of the vault and of a chat; none if the chat can't be read."""
        try:
            own = instructions_in({INSTRUCTIONS: await self.chats.value(chat_id, INSTRUCTIONS)})
        except SmartContextError:
            own = ""
        text = "\n\n".join(filter(None, (self.general(), own)))
        return Instructions(text=text, tokens=self.count_tokens(text) if text else 0)

    async def under(
        self,
        chat_id: ChatId,
        message: str,
        state: FilterState,
        *,
        told: str,
        budget: int,
        model: str,
        count_tokens: Callable[[str], int],
    ) -> Briefing:
        """What would go with a message under other choices and with another model.

        Args:
            told: The instructions.
            budget: The maximum tokens of the contexts.
        """
        contexts = await self.contexts.assemble(
            chat_id, state.contexts, budget=budget, count_tokens=count_tokens
        )
        recalls = await self.recalls.assemble(chat_id, state.recalls, count_tokens=count_tokens)
        role = await self.roles.part(state, model=model, count_tokens=count_tokens)
        instructions = Instructions(text=told, tokens=count_tokens(told) if told else 0)
        briefing = Briefing(
            instructions=instructions, role=role, contexts=contexts, recalls=recalls
        )
        return await self.with_message(briefing, message)

    async def with_message(self, briefing: Briefing, message: str) -> Briefing:
        """The same briefing for another message."""
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

"""What a turn sends besides the chat itself: role, named contexts, the role's template.

Turns, previews and replays all use it, so that what is shown is what is sent. What changes least
comes first (system prompt, role, contexts), so that providers can reuse their prompt caches.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from smart_context.base.processes.child import Child
from smart_context.base.threads import in_daemon_thread
from smart_context.chat.messages import ChatId
from smart_context.plugin.briefing.chat_contexts import Assembled, ChatContexts
from smart_context.plugin.briefing.chat_roles import ChatRoles
from smart_context.plugin.briefing.role_part import NO_ROLE, RolePart
from smart_context.plugin.choices.sidecars import Sidecars
from smart_context.plugin.choices.state import FilterState
from smart_context.plugin.notes.context_prompt import appended

TEMPLATE_PATIENCE_S = 15.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Briefing:
    """What goes with one message.

    Attributes:
        message: The message, as the role's template words it.
        role: What the role adds to the system prompt.
        contexts: The named contexts.
        problem: Why the template was not used; empty when it was, or there is none.
    """

    message: str = ""
    role: RolePart = NO_ROLE
    contexts: Assembled = field(default_factory=Assembled)
    problem: str = ""

    @property
    def problems(self) -> str:
        """The problems with role and template, for people."""
        return "\n".join(filter(None, (self.role.problem, self.problem)))

    def without_contexts(self) -> "Briefing":
        """The briefing when the named contexts do not fit."""
        return replace(self, contexts=self.contexts.left_out())

    def system_prompt(self, before: str) -> str:
        """A system prompt, followed by role and contexts."""
        return self.contexts.prompt.after(appended(before, self.role.text))


@dataclass(frozen=True, slots=True, kw_only=True)
class Briefings:
    """Makes the briefings of a vault's chats.

    Attributes:
        sidecars: What the user chose for each chat.
        roles: The chats' roles.
        contexts: The chats' named contexts.
        child: Where the vault's own templates are rendered.
    """

    sidecars: Sidecars
    roles: ChatRoles
    contexts: ChatContexts
    child: Child

    async def of(self, chat_id: ChatId, message: str, role: str | None = None) -> Briefing:
        """What goes with a chat's next message; never fails.

        Args:
            chat_id: The chat.
            message: The message.
            role: Overrides the chat's role; empty removes it.
        """
        state = (await self.sidecars.of(chat_id)).state
        if role is not None and role != state.role:
            state = state.take_role(role)
        part, contexts = await asyncio.gather(
            self.roles.part(state), self.contexts.assemble(chat_id, state.contexts)
        )
        return await self.with_message(Briefing(role=part, contexts=contexts), message)

    async def under(
        self,
        chat_id: ChatId,
        message: str,
        state: FilterState,
        *,
        budget: int,
        model: str,
        count_tokens: Callable[[str], int],
    ) -> Briefing:
        """What would go with a message under other choices and with another model.

        Args:
            chat_id: The chat.
            message: The message.
            state: The choices.
            budget: The maximum tokens of the contexts.
            model: The model's name.
            count_tokens: Counts for that model.
        """
        contexts = await self.contexts.assemble(
            chat_id, state.contexts, budget=budget, count_tokens=count_tokens
        )
        role = await self.roles.part(state, model=model, count_tokens=count_tokens)
        return await self.with_message(Briefing(role=role, contexts=contexts), message)

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

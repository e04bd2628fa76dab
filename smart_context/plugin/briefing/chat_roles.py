"""Roles of chats: the list, the chosen one, and what it adds to a turn."""

import asyncio
import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from smart_context.base.errors import ConfigInvalid, InvalidParams, SmartContextError
from smart_context.base.threads import in_daemon_thread
from smart_context.base.values import CountTokens, JsonObject
from smart_context.chat.ids import check_chat_id
from smart_context.packing import RoleLoader
from smart_context.packing.role_sources import RoleSources
from smart_context.plugin.briefing.role_part import NO_ROLE, RolePacking, RolePart
from smart_context.plugin.choices.sidecars import Sidecars
from smart_context.plugin.choices.state import FilterState
from smart_context.plugin.model_in_use import ModelInUse
from smart_context.plugin.selection.chat_filter import ChatFilter

PATIENCE_S = 20.0
"""How long a turn waits for the files of its role before it goes on without them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatRoles:
    """The roles that shape the turns of chats."""

    sources: RoleSources
    packing: RolePacking
    sidecars: Sidecars
    chat_filter: ChatFilter
    within: Callable[[int], int]
    model: ModelInUse
    logger: logging.Logger

    async def roles(self, chat_id: str | None = None) -> JsonObject:
        """List the roles that a chat can have, and its current one."""
        listed = await in_daemon_thread(lambda: [*_listed(self.sources.loader())], name="roles")
        if chat_id is None:
            return {"roles": listed, "current": "", "targets": [], "problem": ""}
        state = (await self.sidecars.of(check_chat_id(chat_id))).state
        return {"roles": listed, **await self._current(state)}

    async def set_role(
        self, chat_id: str, role: str, targets: list[str] | None = None
    ) -> JsonObject:
        """Give a chat a role, which shapes its turns from now on; an empty name removes it.

        Args:
            targets: Files and folders of the vault that the turns are about.
        """
        checked = check_chat_id(chat_id)
        await self.check(role)
        await self.chat_filter.change(checked, lambda state: state.take_role(role, targets or ()))
        return {"chat_id": checked, **await self.roles(checked)}

    async def check(self, role: str) -> None:
        """Refuse a role that does not exist or is off; an empty name is none.

        Raises:
            SmartContextError: It does not exist, is off, or its file has faults.
        """
        if role:
            await in_daemon_thread(lambda: _check(self.sources, role), name="roles")

    async def part(
        self,
        state: FilterState,
        *,
        model: str | None = None,
        count_tokens: CountTokens | None = None,
    ) -> RolePart:
        """What a chat's role adds to a turn; never fails.

        Args:
            model: Another model than the chat model.
        """
        if not state.role:
            return NO_ROLE
        try:
            async with asyncio.timeout(PATIENCE_S):
                return await in_daemon_thread(
                    lambda: self.packing.part(
                        state.role,
                        state.role_targets,
                        budget=self.within,
                        model=model or self.model.name(),
                        count_tokens=count_tokens or self.model.count_tokens,
                    ),
                    name="roles",
                )
        except TimeoutError:
            problem = f"could not be read within {PATIENCE_S:.0f} s"
        except Exception:
            self.logger.exception("the role %r can't be packed", state.role)
            problem = "can't be packed; see the log"
        problem = f"The files of the role {state.role!r} {problem}. This turn goes on without it."
        return RolePart(name=state.role, problems=(problem,))

    async def _current(self, state: FilterState) -> JsonObject:
        return {
            "current": state.role,
            "targets": list(state.role_targets),
            "problem": await role_problem(self.sources, state),
        }


async def role_problem(sources: RoleSources, state: FilterState) -> str:
    """Why a chat's role can't be used in full, for people; empty if it can."""
    if not state.role:
        return ""
    try:
        usable = await in_daemon_thread(lambda: sources.role(state.role), name="roles")
    except SmartContextError as failure:
        return f"The role {state.role!r} is not used: {failure}"
    return "\n".join(usable.problems)


def _listed(loader: RoleLoader) -> Iterator[JsonObject]:
    for name in loader.names():
        described: JsonObject = {
            "name": name,
            "description": "",
            "source": loader.source(name),
        }
        try:
            described["description"] = loader.load_role(name).description
        except ConfigInvalid as invalid:
            described["problem"] = str(invalid)
        yield described


def _check(sources: RoleSources, name: str) -> None:
    """Refuse a role that does not exist or is off.

    Raises:
        InvalidParams: If there is none of that name, or it is off.
        ConfigInvalid: If its file has faults.
    """
    if sources.is_off(name):
        raise InvalidParams(f"role: this vault's role {name!r} is off until you trust the vault")
    loader = sources.loader()
    names = loader.names()
    if name not in names:
        raise InvalidParams(f"role: there is no role {name!r}; choose one of {', '.join(names)}")
    loader.load_role(name)

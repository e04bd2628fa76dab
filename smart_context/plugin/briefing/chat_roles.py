"""Roles of chats: the list, the chosen role, and its part of a turn."""

import asyncio
import hashlib
import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import KW_ONLY, InitVar, dataclass, field, replace
from functools import partial
from pathlib import Path

from cachetools import LRUCache

from smart_context.base.errors import ConfigInvalid, InvalidParams, PathRefused, SmartContextError
from smart_context.base.processes.child import Child
from smart_context.base.threads import in_daemon_thread
from smart_context.base.values import CountTokens, JsonObject
from smart_context.chat.messages import ChatId
from smart_context.host.request.tokens import system_tokens
from smart_context.packing import ContextPacker, RoleConfig, RoleLoader
from smart_context.packing.files.patterns import PatternSet
from smart_context.packing.git import GitChanges
from smart_context.packing.plan import PackPlan, SectionOutcome
from smart_context.packing.role_sources import RoleSources, asks_git
from smart_context.packing.sections.sections import STAGED_DIFF, UNSTAGED_DIFF, GitUse
from smart_context.packing.templates.templates import OwnTemplates, failure_of
from smart_context.plugin.choices.sidecars import Sidecars
from smart_context.plugin.choices.state import FilterState
from smart_context.plugin.selection.chat_filter import ChatFilter
from smart_context.plugin.settings import ModelInUse
from smart_context.vault.guarded.paths import status_of
from smart_context.vault.guarded.repository import work_tree_of
from smart_context.vault.guarded.walk import file_stamps, rest_after


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleSection:
    """One section of a role's part."""

    heading: str
    tokens: int  # the tokens of its text, even if it is left out
    why_not: str  # why it is not sent; empty if it is
    sent: tuple[str, ...]
    left_out: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RolePart:
    """The part that a chat's role adds to a turn."""

    name: str = ""  # the role; empty if the chat has none
    text: str = ""
    tokens: int = 0
    config: RoleConfig | None = None  # the role itself; `None` if it can't be read
    targets: tuple[str, ...] = ()
    sections: tuple[RoleSection, ...] = ()  # the sections of the text, and those that were left out
    problems: tuple[str, ...] = ()
    root: Path = Path()
    # the user's own templates, which override the shipped ones
    templates: OwnTemplates = field(default_factory=OwnTemplates)

    @property
    def problem(self) -> str:
        """The problems, one per line."""
        return "\n".join(self.problems)

    def shaped(self, message: str, child: Child) -> tuple[str, str]:
        """The message as the role's template words it, and the problem if the template fails."""
        if self.config is None or not self.config.template or not message.strip():
            return message, ""
        template = self.config.template
        packer = ContextPacker(self.root, template_dir=self.templates, child=child)
        bare = replace(self.config, system_prompt="")
        try:
            text = packer.render_prompt(
                template, bare, message, target_files=self.targets, for_chat=True
            ).strip()
        except Exception as error:  # noqa: BLE001 - a template is code: it may fail in any way
            problem = f"Role {self.name!r}: {failure_of(template, error)}"
            return message, f"{problem}. Your message is sent as it is."
        return text or message, ""


NO_ROLE = RolePart()


def pack_role(  # noqa: PLR0913 - the parts of a role's text, each by name
    root: Path,
    name: str,
    role: RoleConfig,
    *,
    targets: Sequence[str],
    budget: int,
    without: Sequence[str],
    count_tokens: CountTokens,
    git: GitUse = "guarded",
) -> RolePart:
    """Pack a role from the current files.

    Args:
        budget: A token limit on top of the role's own budget.
        without: Folders to leave out, relative to the vault.
    """
    count = partial(system_tokens, count=count_tokens)
    packer = ContextPacker(root, tokenizer=count, git=git)
    excluded = (*role.context.exclude, *(f"/{folder}/" for folder in without))
    limited = replace(
        role,
        token_budget=min(role.token_budget, budget),
        context=replace(role.context, exclude=excluded),
    )
    plan = packer.plan(limited, "", targets)
    text = plan.render()
    return RolePart(
        name=name,
        text=text,
        tokens=count(text),
        config=role,
        targets=tuple(targets),
        sections=tuple(_section(each) for each in plan.sections if each.key != "system_prompt"),
        problems=_problems(name, plan),
        root=root,
    )


def _section(outcome: SectionOutcome) -> RoleSection:
    has_text = {file.path: outcome.is_kept and file.text is not None for file in outcome.files}
    return RoleSection(
        heading=outcome.heading,
        tokens=outcome.tokens,
        why_not=outcome.reason,
        sent=tuple(path for path, is_sent in has_text.items() if is_sent),
        left_out=tuple(path for path, is_sent in has_text.items() if not is_sent),
    )


def _problems(name: str, plan: PackPlan) -> tuple[str, ...]:
    if not plan.is_cut:
        return plan.warnings
    cut = (
        f"What the role {name!r} always includes is over its {plan.token_budget:,} tokens; "
        "the end is left out."
    )
    return (cut, *plan.warnings)


MAX_PACKED = 8
"""The maximum number of packed roles that are remembered."""

_DIFFS = (STAGED_DIFF, UNSTAGED_DIFF)

State = tuple[object, ...]
"""The state that a packed role depends on; the role is packed again when it differs."""


@dataclass(frozen=True, slots=True)
class _Packed:
    state: State
    used: State
    part: RolePart


@dataclass(frozen=True, slots=True)
class _Walked:
    state: int
    good_until: float


@dataclass(eq=False)
class RolePacking:
    """The packed roles of one vault; used in worker threads.

    Each turn checks the stamps of the vault's files, and packs a role again only if one has
    changed. In a vault so large that this takes long, each turn checks only files in the text.
    """

    root: Path
    without: InitVar[Sequence[str]]  # folders to leave out, relative to `root`
    sources: RoleSources
    _: KW_ONLY
    clock: Callable[[], float] = time.monotonic  # a monotonic clock, in seconds
    _walked: dict[bool, _Walked] = field(default_factory=dict, init=False)
    _one_at_a_time: threading.Lock = field(default_factory=threading.Lock, init=False)

    def __post_init__(self, without: Sequence[str]) -> None:
        self._packed: LRUCache[State, _Packed] = LRUCache(MAX_PACKED)
        self._without = tuple(without)

    def part(
        self,
        name: str,
        targets: tuple[str, ...] = (),
        *,
        budget: Callable[[int], int],
        count_tokens: CountTokens,
    ) -> RolePart:
        """The part that a role adds to a turn; a faulty role adds only a problem.

        Args:
            name: The role; empty is none.
            budget: Caps the role's token budget by the window.
        """
        if not name:
            return NO_ROLE
        try:
            usable = self.sources.role(name)
        except ConfigInvalid as invalid:
            problem = f"The role {name!r} is not used: {invalid}"
            return RolePart(name=name, problems=(problem,))
        role = usable.config
        if role is None:
            return RolePart(name=name, problems=usable.problems)
        limit = budget(role.token_budget)
        key = (name, repr(usable), targets, limit, count_tokens)
        with self._one_at_a_time:
            state = self._state(role, targets)
            known = self._packed.get(key)
            if known is None or known.state != state or known.used != self._used(known.part):
                part = pack_role(
                    self.root,
                    name,
                    role,
                    targets=targets,
                    budget=limit,
                    without=self._without,
                    count_tokens=count_tokens,
                    git=usable.git,
                )
                problems = (*usable.problems, *part.problems)
                part = replace(part, templates=usable.templates, problems=problems)
                known = _Packed(state, self._used(part), part)
            self._packed[key] = known
            return known.part

    def _state(self, role: RoleConfig, targets: Sequence[str]) -> State:
        context = role.context
        names = (*context.include, *context.always_include)
        patterns = tuple(name for name in names if not name.startswith("$") and name not in _DIFFS)
        changes = self._changes(unstaged=UNSTAGED_DIFF in names) if asks_git(role) else ""
        if not (patterns or targets or context.tree):
            return (changes,)
        return (changes, self._files(hidden=PatternSet(patterns).wants_hidden))

    def _changes(self, *, unstaged: bool) -> str:
        """A digest of git's diffs."""
        if work_tree_of(self.root) is None:
            return ""
        changes = GitChanges(self.root)
        digest = hashlib.sha256(changes.diff(staged=True).encode("utf-8", "replace"))
        if unstaged:
            digest.update(changes.diff(staged=False).encode("utf-8", "replace"))
        return digest.hexdigest()

    def _files(self, *, hidden: bool) -> int:
        """A hash of the stamps of the vault's files."""
        known = self._walked.get(hidden)
        if known is not None and self.clock() < known.good_until:
            return known.state
        began = time.thread_time()
        stamps = file_stamps(self.root, without=self._without, hidden=hidden)
        work = time.thread_time() - began
        state = hash(frozenset(stamps))
        self._walked[hidden] = _Walked(state, self.clock() + rest_after(work, work))
        return state

    def _used(self, part: RolePart) -> State:
        """The stamps of the files in a role's text."""
        paths = (path for section in part.sections for path in section.sent)
        return tuple(_stamps(self.root, paths))


def _stamps(root: Path, paths: Iterable[str]) -> Iterable[tuple[int, int, int] | None]:
    for path in paths:
        try:
            status = status_of(root, path)
        except (PathRefused, OSError, ValueError):
            yield None
        else:
            yield status.st_mtime_ns, status.st_size, status.st_ino


PATIENCE_S = 20.0
"""Time that a turn waits for the files of its role before it goes on without them."""


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

    async def roles(self, chat_id: ChatId | None = None) -> JsonObject:
        """List the roles that a chat can have, and its current one."""
        listed = await in_daemon_thread(lambda: [*_listed(self.sources.loader())], name="roles")
        if chat_id is None:
            return {"roles": listed, "current": "", "targets": [], "problem": ""}
        state = (await self.sidecars.of(chat_id)).state
        return {"roles": listed, **await self._current(state)}

    async def set_role(
        self, chat_id: ChatId, role: str, targets: list[str] | None = None
    ) -> JsonObject:
        """Give a chat a role, which shapes its turns from now on; an empty name removes it.

        Args:
            targets: Files and folders of the vault that the turns are about.
        """
        await self.check(role)
        await self.chat_filter.change(chat_id, lambda state: state.take_role(role, targets or ()))
        return {"chat_id": chat_id, **await self.roles(chat_id)}

    async def check(self, role: str) -> None:
        """Refuse a role that does not exist or is off; an empty name is none.

        Raises:
            SmartContextError: If it does not exist, is off, or its file has faults.
        """
        if role:
            await in_daemon_thread(lambda: _check(self.sources, role), name="roles")

    async def part(self, state: FilterState, count_tokens: CountTokens) -> RolePart:
        """The part that a chat's role adds to a turn; never fails."""
        if not state.role:
            return NO_ROLE
        try:
            async with asyncio.timeout(PATIENCE_S):
                return await in_daemon_thread(
                    lambda: self.packing.part(
                        state.role,
                        state.role_targets,
                        budget=self.within,
                        count_tokens=count_tokens,
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
    """The reason why a chat's role can't be used in full, for people; empty if it can."""
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

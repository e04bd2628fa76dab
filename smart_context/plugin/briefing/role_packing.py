"""Packs the roles of chats, again only when something in them has changed."""

import hashlib
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from cachetools import LRUCache

from smart_context.base.errors import ConfigInvalid, PathRefused
from smart_context.base.values import CountTokens
from smart_context.packing import RoleConfig
from smart_context.packing.files.patterns import PatternSet
from smart_context.packing.git import GitChanges, work_tree_of
from smart_context.packing.role_sources import RoleSources, asks_git
from smart_context.packing.sections.sections import STAGED_DIFF, UNSTAGED_DIFF
from smart_context.plugin.briefing.role_part import NO_ROLE, RolePart, pack_role
from smart_context.vault.guarded.paths import status_of
from smart_context.vault.guarded.walk import file_stamps, rest_after

MAX_PACKED = 8
"""The maximum number of packed roles that are remembered."""

_DIFFS = (STAGED_DIFF, UNSTAGED_DIFF)

State = tuple[object, ...]
"""What a packed role depends on; if it differs, the role is packed again."""


@dataclass(frozen=True, slots=True)
class _Packed:
    state: State
    used: State
    part: RolePart


@dataclass(frozen=True, slots=True)
class _Walked:
    state: int
    good_until: float


class RolePacking:
    """The packed roles of one vault; used in worker threads.

    Each turn checks the stamps of the vault's files, and reads only what has changed. In a vault
    so large that this takes long, only files that are in the text are checked at each turn.

    Args:
        without: Folders to leave out, relative to it.
        clock: A monotonic clock, in seconds.
    """

    def __init__(
        self,
        root: Path,
        without: Sequence[str],
        sources: RoleSources,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._root = root
        self._sources = sources
        self._without = tuple(without)
        self._clock = clock
        self._packed: LRUCache[State, _Packed] = LRUCache(MAX_PACKED)
        self._walked: dict[bool, _Walked] = {}
        self._one_at_a_time = threading.Lock()

    def part(
        self,
        name: str,
        targets: tuple[str, ...] = (),
        *,
        budget: Callable[[int], int],
        model: str,
        count_tokens: CountTokens,
    ) -> RolePart:
        """What a role adds to a turn; a faulty role adds only a problem.

        Args:
            name: The role; empty is none.
            budget: Caps the role's token budget by the window.
        """
        if not name:
            return NO_ROLE
        try:
            usable = self._sources.role(name)
        except ConfigInvalid as invalid:
            problem = f"The role {name!r} is not used: {invalid}"
            return RolePart(name=name, problems=(problem,))
        role = usable.config
        if role is None:
            return RolePart(name=name, problems=usable.problems)
        limit = budget(role.token_budget)
        key = (name, repr(usable), targets, limit, model)
        with self._one_at_a_time:
            state = self._state(role, targets)
            known = self._packed.get(key)
            if known is None or known.state != state or known.used != self._used(known.part):
                part = pack_role(
                    self._root,
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
        if work_tree_of(self._root) is None:
            return ""
        changes = GitChanges(self._root)
        digest = hashlib.sha256(changes.diff(staged=True).encode("utf-8", "replace"))
        if unstaged:
            digest.update(changes.diff(staged=False).encode("utf-8", "replace"))
        return digest.hexdigest()

    def _files(self, *, hidden: bool) -> int:
        """A hash of the stamps of the vault's files."""
        known = self._walked.get(hidden)
        if known is not None and self._clock() < known.good_until:
            return known.state
        began = time.thread_time()
        stamps = file_stamps(self._root, without=self._without, hidden=hidden)
        work = time.thread_time() - began
        state = hash(frozenset(stamps))
        self._walked[hidden] = _Walked(state, self._clock() + rest_after(work, work))
        return state

    def _used(self, part: RolePart) -> State:
        """The stamps of the files in a role's text."""
        paths = (path for section in part.sections for path in section.sent)
        return tuple(_stamps(self._root, paths))


def _stamps(root: Path, paths: Iterable[str]) -> Iterable[tuple[int, int, int] | None]:
    for path in paths:
        try:
            status = status_of(root, path)
        except (PathRefused, OSError, ValueError):
            yield None
        else:
            yield status.st_mtime_ns, status.st_size, status.st_ino

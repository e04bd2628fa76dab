"""Asks git what has changed; if it fails, logs why and gives nothing.

A folder from an archive can contain a `.git` that points to another repository of the user, or
links to that one's HEAD, index or branches. Changes staged there would then be shown as the
folder's own, so such a folder is not read.
"""

import logging
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from smart_context.base.environment import environment
from smart_context.base.processes.programs import Stopped, clean_environment, run
from smart_context.base.text.names import one_line, shown
from smart_context.packing.git_safety import (
    FIXED_SETTINGS,
    KEPT,
    guarded_environment,
    read_listed,
    safe_settings,
    why_not_its_own,
)
from smart_context.vault.guarded.repository import WorkTree, work_tree_of

_LOGGER = logging.getLogger(__name__)
_TIMEOUT_S = 10.0
_MAX_BYTES = 16 << 20

_LIST_CONFIG = ("config", "--list", "--show-scope", "-z")
_PLAIN_DIFF = (
    *("diff", "--no-color", "--no-ext-diff", "--no-textconv"),
    *("--submodule=short", "--ignore-submodules=dirty"),  # else git runs in each submodule
)


class GitChanges:
    """Changes below a folder, as git reports them.

    The constructor reads and starts nothing.

    Git runs no program that the repository names, and fetches nothing; so contents are shown
    unfiltered.

    Args:
        folder: A folder in the work tree of a repository.
    """

    def __init__(self, folder: Path, *, timeout_s: float = _TIMEOUT_S) -> None:
        self._folder = folder
        self._timeout_s = timeout_s

    def diff(self, *, staged: bool) -> str:
        """The staged or the unstaged changes, as git shows them."""
        arguments = ["--cached"] if staged else []
        return self._ask(arguments, refusal_level=logging.WARNING).decode("utf-8", "replace")

    def staged_files(self) -> list[str]:
        """The files with staged changes: new names of renamed files, no deleted ones."""
        names = self._ask(["--cached", "--name-only", "--diff-filter=d", "-z"]).split(b"\0")
        return [name.decode("utf-8", "surrogateescape") for name in names if name]

    def _ask(self, options: list[str], *, refusal_level: int = logging.INFO) -> bytes:
        try:
            return self._answer(options)
        except _NotTold as failed:
            level = logging.WARNING if failed.is_surprise else refusal_level
            place, reason = shown(str(self._folder)), one_line(str(failed))
            _LOGGER.log(level, "git could not list the changes in %s: %s", place, reason)
            return b""

    def _answer(self, options: list[str]) -> bytes:
        tree, variables = self._place
        below = [f"--relative={tree.below}"] if tree.below else []
        return self._run(tree, [*_PLAIN_DIFF, *below, *options, "--"], variables)

    @cached_property
    def _place(self) -> tuple[WorkTree, dict[str, str]]:
        """The work tree, and the environment in which git runs no programs there."""
        tree = work_tree_of(self._folder)
        if tree is None:
            raise _NotTold("it is in no work tree of a git repository")
        cleaned = clean_environment(environment(), keep=KEPT, away_from=tree.top)
        unfiltered = guarded_environment(cleaned, tree, FIXED_SETTINGS)
        listed = read_listed(self._run(tree, _LIST_CONFIG, unfiltered))
        if listed is None:
            raise _NotTold("git 2.31 or newer is needed")
        if reason := why_not_its_own(tree, listed):
            raise _NotTold(reason)
        return tree, guarded_environment(cleaned, tree, safe_settings(listed))

    def _run(self, tree: WorkTree, arguments: Sequence[str], variables: dict[str, str]) -> bytes:
        outcome = run(
            ["git", "--no-pager", *arguments],
            folder=tree.top,
            environment=variables,
            timeout_s=self._timeout_s,
            max_bytes=_MAX_BYTES,
        )
        if isinstance(outcome, Stopped):
            raise _NotTold(f"git {outcome.reason}", is_surprise=True)
        if outcome.exit_code != 0:
            reason = outcome.stderr.decode("utf-8", "replace").strip().partition("\n")[0]
            raise _NotTold(reason)
        return outcome.stdout


class _NotTold(Exception):
    """The reason why git gave no answer; if it is a surprise, the user should look into it."""

    def __init__(self, reason: str, *, is_surprise: bool = False) -> None:
        super().__init__(reason)
        self.is_surprise = is_surprise

"""Asks git what has changed; if it fails, logs why and gives nothing.

A folder from an archive can contain a `.git` that points to another repository of the user, or
links to that one's HEAD, index or branches. Changes staged there would then be shown as the
folder's own, so such a folder is not read.
"""

import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path

from smart_context.base.environment import environment
from smart_context.base.processes.programs import Stopped, clean_environment, run
from smart_context.base.text.names import one_line, shown
from smart_context.vault.guarded.repository import WorkTree, folders_of, line_of, work_tree_of

_PARTS = ("index", "packed-refs", "refs", "reftable")
"""The parts that lead git to the contents it shows, besides HEAD, for which git checks links."""
_MAX_REFERENCES = 5  # git's own limit: HEAD names a branch, which may name another
_TRUE = {"true", "yes", "on", "1"}


def why_not_its_own(tree: WorkTree, configuration: Mapping[str, str]) -> str:
    """Why the repository may not belong to the work tree; empty if it does."""
    try:
        return _fault(tree, configuration)
    except (OSError, RuntimeError, ValueError):  # circular links, impossible names
        return "parts of its .git can't be found"


def _fault(tree: WorkTree, configuration: Mapping[str, str]) -> str:
    pointer = tree.top / ".git"
    git, common = folders_of(tree.top)
    if common != git:  # one of the work trees that `git worktree add` makes
        knows_it = (git / line_of(git / "gitdir")).resolve() == pointer
        if git.parent != common / "worktrees" or not knows_it:
            return f"{git} belongs to another work tree; if this one was moved: git worktree repair"
    elif configuration.get("core.bare", "").lower() in _TRUE:
        return "it is a bare repository, which has no files"
    elif named_tree := configuration.get("core.worktree"):
        if (git / named_tree).resolve() != tree.top:
            return f"{git} belongs to another work tree, {named_tree}"
    elif not git.is_relative_to(tree.top):
        return f"{git} is not in it; if it is its own: git config core.worktree {tree.top}"
    return _strays(git, common)


def _strays(git: Path, common: Path) -> str:
    for name in (*_PARTS, *_branches(git, common)):
        for part in (git / name, common / name):
            place = part.resolve()
            if not (place.is_relative_to(git) or place.is_relative_to(common)):
                return f"{part} is a link out of it"
    return ""


def _branches(git: Path, common: Path) -> Iterator[str]:
    name = line_of(git / "HEAD", "ref:").strip()
    for _ in range(_MAX_REFERENCES):
        if not name:
            return
        yield name
        name = line_of(common / name, "ref:").strip()


KEPT = ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "SUDO_UID")
"""The user's configuration of git, and the other owner of the user's repositories."""


Settings = Mapping[str, str]
"""Values of git's configuration, by key."""

FIXED_SETTINGS: Settings = {
    "core.fsmonitor": "false",
    "core.hookspath": os.devnull,
    "core.quotepath": "false",
    "core.bigfilethreshold": "16m",  # git treats larger files as binary, without loading them
    "safe.barerepository": "explicit",
}
"""Settings for every repository."""


def guarded_environment(
    cleaned: Mapping[str, str], tree: WorkTree, settings: Settings
) -> dict[str, str]:
    """The environment of git in a work tree; it looks for a repository only there."""
    numbered = {
        name: text
        for number, (key, value) in enumerate(settings.items())
        for name, text in ((f"GIT_CONFIG_KEY_{number}", key), (f"GIT_CONFIG_VALUE_{number}", value))
    }
    return {
        **cleaned,
        **numbered,
        "GIT_CONFIG_COUNT": str(len(settings)),
        "GIT_WORK_TREE": str(tree.top),
        "GIT_CEILING_DIRECTORIES": str(tree.top.parent),
        "GIT_ALLOW_PROTOCOL": "none",  # also for a git that does not know the next one
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
    }


def read_listed(listed: bytes) -> dict[str, str] | None:
    """The values in force, from the output of `git config --list --show-scope -z`.

    `None` if git is older than 2.31 and ignores the settings in its environment.
    """
    scopes_and_entries = os.fsdecode(listed).split("\0")
    if "command" not in scopes_and_entries[::2]:
        return None
    parts = (entry.partition("\n") for entry in scopes_and_entries[1::2])
    return {key: value for key, _, value in parts}


def safe_settings(listed: Settings) -> Settings:
    """Settings that switch off the programs that a repository's configuration names."""
    overrides: dict[str, str] = {}
    for key in listed:
        section, _, rest = key.partition(".")
        name, dot, _ = rest.rpartition(".")
        if dot and section == "filter":
            off = {"clean": "", "smudge": "", "process": "", "required": "false"}
            overrides.update({f"filter.{name}.{option}": value for option, value in off.items()})
        elif dot and section == "hook":
            overrides[f"hook.{name}.enabled"] = "false"
    return {**overrides, **FIXED_SETTINGS}


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
    """Why git gave no answer; the user should look into a surprise."""

    def __init__(self, reason: str, *, is_surprise: bool = False) -> None:
        super().__init__(reason)
        self.is_surprise = is_surprise

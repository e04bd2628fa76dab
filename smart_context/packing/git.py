"""Asks git what has changed. What git can't tell is empty, with a line in the log."""

import logging
import subprocess
from pathlib import Path

_LOGGER = logging.getLogger(__name__)
_TIMEOUT_S = 10.0

# A repository is data: its configuration must not name programs that we then run.
_SAFE = (
    "--no-pager",
    "--no-optional-locks",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.quotePath=false",
)
_PLAIN_DIFF = ("diff", "--no-color", "--no-ext-diff", "--no-textconv", "--relative")


def is_repository(repo: Path) -> bool:
    """Whether a folder is in a work tree of git, told without asking git."""
    folder = repo.resolve()
    return any((above / ".git").exists() for above in (folder, *folder.parents))


def diff(repo: Path, *, staged: bool, timeout_s: float = _TIMEOUT_S) -> str:
    """The changes below `repo` as git shows them: those staged, or those that are not."""
    arguments = [*_PLAIN_DIFF, *(["--cached"] if staged else []), "--"]
    printed = _git(repo, arguments, timeout_s, refusal_level=logging.WARNING)
    if printed and not _has_files(repo, timeout_s):
        return ""
    return printed.decode("utf-8", "replace")


def changed_files(repo: Path, *, timeout_s: float = _TIMEOUT_S) -> list[str]:
    """The files with staged changes, relative to `repo`: new names of renames, no deletions."""
    options = ["--cached", "--name-only", "--diff-filter=d", "-z", "--"]
    names = _git(repo, [*_PLAIN_DIFF, *options], timeout_s).split(b"\0")
    return [name.decode("utf-8", "surrogateescape") for name in names if name]


def _has_files(repo: Path, timeout_s: float) -> bool:
    """Whether it is no bare repository, of which git says that all files are deleted."""
    return _git(repo, ["rev-parse", "--is-inside-work-tree"], timeout_s).strip() == b"true"


def _git(
    repo: Path, arguments: list[str], timeout_s: float, *, refusal_level: int = logging.INFO
) -> bytes:
    if not is_repository(repo):
        reason = "it is in no work tree of a git repository"
        _LOGGER.log(refusal_level, "git did not tell what changed in %s: %s", repo, reason)
        return b""
    try:
        finished = subprocess.run(  # noqa: S603  fixed arguments, no shell
            ["git", "-C", str(repo), *_SAFE, *arguments],  # noqa: S607  the user's git
            capture_output=True,
            check=False,
            stdin=subprocess.DEVNULL,
            timeout=timeout_s,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        _LOGGER.warning("git did not tell what changed in %s: %s", repo, error)
        return b""
    if finished.returncode != 0:
        reason = finished.stderr.decode("utf-8", "replace").strip().partition("\n")[0]
        _LOGGER.log(refusal_level, "git did not tell what changed in %s: %s", repo, reason)
        return b""
    return finished.stdout

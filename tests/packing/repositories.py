"""Repositories of git for tests: honest ones, and such as try to run a program."""

import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

IDENTITY = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")


def git(folder: Path, *arguments: str) -> str:
    """What git prints, with none of our guards."""
    command = ["git", *IDENTITY, "-c", "protocol.file.allow=always", *arguments]
    done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout


def make_repository(folder: Path) -> Path:
    """A repository with two committed files, one staged change and one that is not staged."""
    folder.mkdir(parents=True)
    git(folder, "init", "-q")
    for name in ("a.txt", "b.txt"):
        (folder / name).write_text("first\n")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "first")
    (folder / "a.txt").write_text("staged\n")
    git(folder, "add", "a.txt")
    (folder / "b.txt").write_text("not staged\n")
    return folder


@dataclass(frozen=True)
class Trap:
    """A repository that names a program which leaves a mark when it runs.

    Attributes:
        root: The repository.
        program: The path of the program; it fails.
        mark: The file that it makes.
    """

    root: Path
    program: Path
    mark: Path

    def is_sprung(self) -> bool:
        """Whether the program was run since this was asked last."""
        try:
            self.mark.unlink()
        except FileNotFoundError:
            return False
        return True

    def configure(self, **values: str) -> None:
        """Set configuration of the repository; `__` stands for a dot."""
        for key, value in values.items():
            git(self.root, "config", key.replace("__", "."), value)

    def filter(self, name: str, *options: str, **more: str) -> None:
        """Let the text files go through a filter that is our program."""
        git(self.root, "config", f"filter.{name}.required", more.get("required", "false"))
        for option in options:
            git(self.root, "config", f"filter.{name}.{option}", str(self.program))
        (self.root / ".gitattributes").write_text(f"*.txt filter={name}\n")
        (self.root / "b.txt").write_text("touched\n")


def set_trap(folder: Path) -> Trap:
    """A repository and a program, which nothing names yet."""
    root = make_repository(folder / "repo")
    program, mark = folder / "program", folder / "mark"
    program.write_text(f"#!/bin/sh\n/bin/touch '{mark}'\nexit 1\n")
    program.chmod(0o755)
    return Trap(root, program, mark)


def _through_an_include(trap: Trap) -> None:
    trap.filter("f", "clean")
    config = trap.root / ".git" / "config"
    (trap.root / "more").write_text(config.read_text())
    config.write_text("[core]\n\trepositoryformatversion = 0\n[include]\n\tpath = ../more\n")


def _on_a_branch(trap: Trap) -> None:
    trap.filter("f", "clean")
    branch = git(trap.root, "branch", "--show-current").strip()
    config = trap.root / ".git" / "config"
    (trap.root / "more").write_text(config.read_text())
    condition = f'[includeIf "onbranch:{branch}"]\n\tpath = ../more\n'
    config.write_text(f"[core]\n\trepositoryformatversion = 0\n{condition}")


def _of_the_work_tree(trap: Trap) -> None:
    trap.filter("f", "clean")
    config = trap.root / ".git" / "config"
    config.with_name("config.worktree").write_text(config.read_text())
    config.write_text(
        "[core]\n\trepositoryformatversion = 1\n[extensions]\n\tworktreeConfig = true\n"
    )


def _by_hook(trap: Trap) -> None:
    hooks = trap.root / "hooks"
    hooks.mkdir()
    (hooks / "post-index-change").symlink_to(trap.program)
    trap.configure(core__hooksPath=str(hooks))
    os.utime(trap.root / "a.txt", (1, 1))  # so that git would refresh its index


def _by_driver(trap: Trap, option: str) -> None:
    trap.configure(**{f"diff__d__{option}": str(trap.program)})
    (trap.root / ".gitattributes").write_text("*.txt diff=d\n")


def _in_a_submodule(trap: Trap) -> None:
    other = make_repository(trap.root.parent / "other")
    git(trap.root, "submodule", "-q", "add", str(other), "sub")
    git(trap.root, "commit", "-qam", "sub")
    sub = trap.root / "sub"
    git(sub, "config", "core.fsmonitor", str(trap.program))
    (sub / "b.txt").write_text("dirty\n")


def _by_fetching(url: str) -> Callable[[Trap], None]:
    def set_up(trap: Trap) -> None:
        blob = git(trap.root, "rev-parse", "HEAD:a.txt").strip()
        trap.configure(
            core__repositoryformatversion="1",
            extensions__partialClone="origin",
            remote__origin__promisor="true",
            remote__origin__url=url.format(program=trap.program, root=trap.root),
            remote__origin__uploadpack=str(trap.program),
            core__sshCommand=str(trap.program),
            core__gitProxy=str(trap.program),
            protocol__ext__allow="always",
        )
        (trap.root / ".git" / "objects" / blob[:2] / blob[2:]).unlink()

    return set_up


ATTACKS: dict[str, Callable[[Trap], None]] = {
    "a filter": lambda trap: trap.filter("f", "clean"),
    "a filter that stays": lambda trap: trap.filter("f", "process"),
    "a filter that is required": lambda trap: trap.filter("f", "clean", required="true"),
    "a filter with an odd name": lambda trap: trap.filter("a=b.clean.Ä", "clean", "process"),
    "a filter without a name": lambda trap: trap.filter("", "clean"),
    "an included file": _through_an_include,
    "a file that is included on a branch": _on_a_branch,
    "the configuration of a work tree": _of_the_work_tree,
    "a file system monitor": lambda trap: trap.configure(core__fsmonitor=str(trap.program)),
    "a hook": _by_hook,
    "a program for all diffs": lambda trap: trap.configure(diff__external=str(trap.program)),
    "a program for some diffs": lambda trap: _by_driver(trap, "command"),
    "a converter to text": lambda trap: _by_driver(trap, "textconv"),
    "a submodule": _in_a_submodule,
    "a fetch by a helper": _by_fetching("ext::{program}"),
    "a fetch by ssh": _by_fetching("ssh://host/path"),
    "a fetch through a proxy": _by_fetching("git://host/path"),
    "a fetch from a folder": _by_fetching("{root}"),
    "a fetch from a file": _by_fetching("file://{root}"),
}
"""What a repository's configuration can make `git diff` run; a name says by what."""

"""A role: the instructions and files for one kind of task."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

DEFAULT_TOKEN_BUDGET = 20_000


@dataclass(frozen=True, slots=True)
class RoleContext:
    """The files and changes for a role."""

    # exact paths, globs as in a `.gitignore`, names such as `$TARGET`, and the changes that `git
    # diff` and `git diff --cached` show
    include: Sequence[str] = ()
    exclude: Sequence[str] = ()  # globs that remove files from the matches of the other globs
    always_include: Sequence[str] = ()  # paths and globs whose files are never dropped
    git_diff: bool = False  # include the staged changes
    tree: bool = False  # include the names of all files
    # section keys, most important first; the last is dropped first
    priority_order: Sequence[str] = ()
    allow_secrets: bool = False  # also include files that hold keys or tokens


@dataclass(frozen=True, slots=True)
class RoleConfig:
    """A role: its instructions, budget and context."""

    name: str
    description: str = ""  # a sentence for people
    system_prompt: str = ""  # the beginning of every prompt
    token_budget: int = DEFAULT_TOKEN_BUDGET  # the most tokens of a prompt
    context: RoleContext = field(default_factory=RoleContext)  # the files and changes for it
    # the template for the user's message in each turn of a chat with this role; if empty, the
    # message is sent unchanged. `pack` is given its template separately.
    template: str = ""


def variables_of(
    role: RoleConfig, task_description: str, given: Mapping[str, Any]
) -> Mapping[str, Any]:
    """The variables of a template; extra values can't replace the role and the task."""
    context = given.get("context", given.get("file_context", ""))
    return {
        "target_files": (),
        "extra_context": {},
        **given,
        "context": context,
        "file_context": context,
        "role": role,
        "system_prompt": role.system_prompt,
        "task_description": task_description,
        "task": task_description,
    }

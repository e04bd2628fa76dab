"""A role: the instructions and files for one kind of task."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

DEFAULT_TOKEN_BUDGET = 20_000


@dataclass(frozen=True, slots=True)
class RoleContext:
    """The files and changes for a role.

    Attributes:
        include: Exact paths, globs as in a `.gitignore`, names such as `$TARGET`, and the changes
            that `git diff` and `git diff --cached` show.
        exclude: Globs that remove files from the matches of the other globs.
        always_include: Paths and globs whose files are never dropped.
        git_diff: Include the staged changes.
        tree: Include the names of all files.
        priority_order: Section keys, most important first; the last is dropped first.
        allow_secrets: Also include files that hold keys or tokens.
    """

    include: Sequence[str] = ()
    exclude: Sequence[str] = ()
    always_include: Sequence[str] = ()
    git_diff: bool = False
    tree: bool = False
    priority_order: Sequence[str] = ()
    allow_secrets: bool = False


@dataclass(frozen=True, slots=True)
class RoleConfig:
    """A role: its instructions, budget and context.

    Attributes:
        description: A sentence for people.
        system_prompt: The beginning of every prompt.
        token_budget: The most tokens of a prompt.
        context: The files and changes for it.
        template: The template for the user's message in each turn of a chat with this role; if
            empty, the message is sent unchanged. `pack` is given its template separately.
    """

    name: str
    description: str = ""
    system_prompt: str = ""
    token_budget: int = DEFAULT_TOKEN_BUDGET
    context: RoleContext = field(default_factory=RoleContext)
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

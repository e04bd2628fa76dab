"""The variables of a template: the role, the task and the packed files."""

from collections.abc import Mapping
from typing import Any

from smart_context.packing.roles.role import RoleConfig


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

"""A request for a prompt, as one value that can be stored and repeated."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import get_args

from smart_context.packing.budget import Tokenizer
from smart_context.packing.fences import Style
from smart_context.packing.files.sources import SizeLimits
from smart_context.packing.packer import ContextPacker
from smart_context.packing.plan import PackPlan
from smart_context.packing.roles.folder import RoleFolder
from smart_context.packing.roles.loader import RoleLoader
from smart_context.packing.roles.role import RoleConfig
from smart_context.packing.sections.sections import RepomixUse

STYLES: tuple[Style, ...] = get_args(Style)
REPOMIX_USES: tuple[RepomixUse, ...] = get_args(RepomixUse)
NO_BUDGET = 1 << 40
"""More tokens than fit into a prompt within the size limits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PackRequest:
    """A request for a prompt: for the same repository, it gives the same prompt."""

    repo: Path  # the repository or vault
    role: str = ""  # name of a role; if empty, only the files requested here are packed
    task: str = ""
    targets: tuple[str, ...] = ()  # files and folders that the task is about, relative to `repo`
    template: str = ""  # name of an allowed template; if empty, the sections alone
    template_dir: Path | None = None  # the user's versions of the allowed templates
    token_budget: int | None = None  # overrides the role's; `None` without a role means no budget
    style: Style = "markdown"  # the markup of sections and files
    include: tuple[str, ...] = ()  # paths and globs in addition to the role's
    exclude: tuple[str, ...] = ()  # globs in addition to the role's
    allow_secrets: bool = False  # also pack files that hold keys or tokens
    repomix: RepomixUse = "never"  # when Repomix packs the files of globs
    model: str = ""  # count tokens as this model does; if empty, four characters are a token
    max_file_size: int | None = None  # in bytes, overrides the default limit; 0 is no limit
    max_total_size: int | None = None  # the same for all files together

    @property
    def limits(self) -> SizeLimits:
        """The most bytes that are read."""
        limits = SizeLimits()
        if self.max_file_size is not None:
            limits = replace(limits, file=self.max_file_size)
        if self.max_total_size is not None:
            limits = limits.with_total(self.max_total_size)
        return limits

    @property
    def is_empty(self) -> bool:
        """True if nothing is requested, so that the prompt would be empty."""
        return not (self.role or self.task.strip() or self.targets or self.include)


def plan_of(request: PackRequest, user_roles: Path | None = None) -> PackPlan:
    """The requested prompt, and the report about it.

    Args:
        user_roles: The folder of the user's roles, which may allow secrets. Roles of the
            repository come first, but may not.

    Raises:
        ConfigInvalid: If there is no such role, or its file has faults.
        ValueError: If the template is not on the list of allowed ones.
    """
    packer = ContextPacker(
        request.repo,
        template_dir=request.template_dir,
        repomix=request.repomix,
        tokenizer=_tokenizer_of(request.model),
        style=request.style,
        limits=request.limits,
    )
    warnings: list[str] = []
    plan = packer.plan(
        _role_of(request, user_roles, warnings),
        request.task,
        request.targets,
        template_name=request.template or None,
    )
    return replace(plan, warnings=(*warnings, *plan.warnings)) if warnings else plan


def _role_of(request: PackRequest, user_roles: Path | None, warnings: list[str]) -> RoleConfig:
    if request.role:
        folders = [RoleFolder(path=request.repo / "roles", source="vault")]
        if user_roles is not None:
            folders.append(RoleFolder(path=user_roles, source="user"))
        refusals: list[str] = []
        role = RoleLoader(folders=folders, warn=refusals.append).load_role(request.role)
        if not request.allow_secrets:
            place = user_roles or "a folder of your own"
            remedy = f"Pass --allow-secrets, or keep the role in {place}."
            warnings += [f"{refusal} {remedy}" for refusal in refusals]
    else:
        role = RoleConfig(name="", token_budget=NO_BUDGET)
    context = role.context
    return replace(
        role,
        token_budget=role.token_budget if request.token_budget is None else request.token_budget,
        context=replace(
            context,
            include=(*context.include, *request.include),
            exclude=(*context.exclude, *request.exclude),
            allow_secrets=context.allow_secrets or request.allow_secrets,
        ),
    )


def _tokenizer_of(model: str) -> Tokenizer | None:
    if not model:
        return None
    from smart_context.llm.tokens import count_tokens  # noqa: PLC0415  most packs don't count

    return lambda text: count_tokens(text, model)

"""Packs a task with the files and changes that a role needs into one prompt, and reports on it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from smart_context.base.disk.places import Place
from smart_context.base.text.names import one_line
from smart_context.packing.budget import Meter, PromptSection, Tokenizer, cut, joined, keep_within
from smart_context.packing.fences import Markup, Style
from smart_context.packing.files.patterns import PatternSet
from smart_context.packing.files.sources import SizeLimits, Sources
from smart_context.packing.plan import OVER_BUDGET, PackPlan, SectionOutcome
from smart_context.packing.roles import RoleConfig, variables_of
from smart_context.packing.sections.sections import (
    GatheredSection,
    Gathering,
    GitUse,
    RepomixUse,
    heading_of,
)
from smart_context.packing.templates.templates import check_allowed

if TYPE_CHECKING:  # jinja2 takes 50 ms, and only templates need it
    from contextlib import AbstractContextManager

    from jinja2.sandbox import ImmutableSandboxedEnvironment

    from smart_context.base.processes.child import Child
    from smart_context.packing.templates.costly import Render
    from smart_context.packing.templates.templates import OwnTemplates

TEMPLATE_TOKENS = 1000
"""The share of a budget that is reserved for a template's own text."""


class ContextPacker:
    """Packs prompts about one repository or vault.

    The constructor reads and starts nothing.

    Args:
        template_dir: The user's versions of allowed templates, preferred to the shipped ones: a
            folder, or its content. They are rendered in a child process that is killed if it
            takes too long or too much memory.
        repomix: When Repomix packs the files of globs: "auto" means if it is installed.
        tokenizer: Counts or returns tokens; `None` counts four characters as one token.
        style: The markup of sections and files.
        limits: The most bytes that are read.
        git: The use of git for changes.
        child: The child process for templates; by default each rendering starts one.
    """

    def __init__(  # noqa: PLR0913 - the packer's options, by keyword
        self,
        repo_path: Path | str,
        *,
        template_dir: "Path | str | Place | OwnTemplates | None" = None,
        repomix: RepomixUse = "never",
        tokenizer: Tokenizer | None = None,
        style: Style = "markdown",
        limits: SizeLimits | None = None,
        git: GitUse = "guarded",
        child: "Child | None" = None,
    ) -> None:
        self.repo_path = Path(repo_path)
        self._template_dir = _folder(template_dir)
        self._repomix: RepomixUse = repomix
        self._meter = Meter(tokenizer)
        self._markup = Markup(style)
        self._limits = limits or SizeLimits()
        self._git: GitUse = git
        self._child = child

    @cached_property
    def jinja_env(self) -> "ImmutableSandboxedEnvironment":
        """The Jinja environment of the templates; rendering in it directly has no limits."""
        from smart_context.packing.templates.templates import prompt_environment  # noqa: PLC0415  50 ms

        return prompt_environment(self._own_templates())

    def _renderer(self) -> "AbstractContextManager[Render]":
        from smart_context.packing.templates.costly import (  # noqa: PLC0415  4 ms, as below
            renderer,
        )

        return renderer(self._own_templates(), self._child)

    def _own_templates(self) -> "OwnTemplates":
        from smart_context.packing.templates.templates import (  # noqa: PLC0415  4 ms, only for templates
            OwnTemplates,
            read_own,
        )

        own = self._template_dir
        return own if isinstance(own, OwnTemplates) else read_own(own)

    def build_full_prompt(
        self,
        template_name: str,
        role: RoleConfig,
        task_description: str,
        target_files: Sequence[str | Path] | None = None,
        extra_context: Mapping[str, object] | None = None,
    ) -> str:
        """Render the template with the packed files.

        If the template fails, returns the prompt of `pack_context` and logs a warning.

        Raises:
            ValueError: If the template is not on the list of allowed ones.
        """
        check_allowed(template_name)
        plan = self.plan(
            role, task_description, target_files, extra_context, template_name=template_name
        )
        return _rendered(plan)

    def pack_context(
        self,
        role: RoleConfig,
        task_description: str,
        target_files: Sequence[str | Path] | None = None,
        extra_context: Mapping[str, object] | None = None,
    ) -> str:
        """System prompt, task, files and extra context, within the role's budget."""
        return _rendered(self.plan(role, task_description, target_files, extra_context))

    def pack_file_context(
        self,
        role: RoleConfig,
        target_files: Sequence[str | Path] | None = None,
        extra_context: Mapping[str, object] | None = None,
    ) -> str:
        """Files and extra context, within the budget minus the template's share.

        Required files are returned whole, even if they are over the budget.
        """
        return _rendered(self.plan_files(role, target_files, extra_context))

    def render_prompt(
        self, template_name: str, role: RoleConfig, task_description: str, **kwargs: Any
    ) -> str:
        """Render a template.

        Its variables are `role`, `system_prompt`, `task_description` (also as `task`), `context`
        (also as `file_context`), `target_files`, `extra_context`, and `kwargs`.

        Raises:
            ValueError: If the template is not on the list of allowed ones.
            jinja2.TemplateError: If it can't be loaded, lacks a variable, or does too much.
        """
        check_allowed(template_name)
        with self._renderer() as render:
            return render(template_name, variables_of(role, task_description, kwargs))

    def get_git_diff(self, staged: bool = True) -> str:
        """The staged or the unstaged changes as a diff; empty if git fails."""
        if self._git == "never":
            return ""
        from smart_context.packing.git import GitChanges  # noqa: PLC0415  20 ms, and only with git

        return GitChanges(self.repo_path).diff(staged=staged)

    def plan(
        self,
        role: RoleConfig,
        task_description: str,
        target_files: Sequence[str | Path] | None = None,
        extra_context: Mapping[str, object] | None = None,
        *,
        template_name: str | None = None,
    ) -> PackPlan:
        """The whole prompt and the report about it, with or without a template.

        Failures are among its warnings; nothing is logged.

        Raises:
            ValueError: If the template is not on the list of allowed ones.
        """
        failure = ""
        if template_name is not None:
            rendered = self._templated(
                template_name, role, task_description, target_files or (), extra_context or {}
            )
            if isinstance(rendered, PackPlan):
                return rendered
            failure = rendered
        opening = self._opening(role, task_description)
        plan = self._plan(role, target_files, extra_context, role.token_budget, opening)
        if failure:
            plan = replace(plan, warnings=(failure, *plan.warnings))
        if not plan.is_over_budget:
            return plan
        text = cut(plan.render(), role.token_budget, self._meter)
        return replace(plan, pieces=(text,), is_cut=True)

    def plan_files(
        self,
        role: RoleConfig,
        target_files: Sequence[str | Path] | None = None,
        extra_context: Mapping[str, object] | None = None,
    ) -> PackPlan:
        """The files and extra context for a template, and the report about them."""
        budget = max(0, role.token_budget - TEMPLATE_TOKENS)
        return self._plan(role, target_files, extra_context, budget, [])

    def _opening(self, role: RoleConfig, task_description: str) -> list[PromptSection]:
        opening = []
        if system_prompt := role.system_prompt.strip():
            opening.append(
                PromptSection(key="system_prompt", pieces=(system_prompt,), is_protected=True)
            )
        if task_description.strip():
            task = [(task_description,)]
            opening.append(self._markup.section("task", "Task", task, is_protected=True))
        return opening

    def _templated(
        self,
        template_name: str,
        role: RoleConfig,
        task_description: str,
        target_files: Sequence[str | Path],
        extra_context: Mapping[str, object],
    ) -> PackPlan | str:
        """The prompt from the template, or the reason why rendering failed."""
        check_allowed(template_name)
        with self._renderer() as render:
            plan = self.plan_files(role, target_files, extra_context)
            values = {
                **{key: value for key, value in extra_context.items() if key.isidentifier()},
                "context": plan.render(),
                "target_files": tuple(one_line(str(target)) for target in target_files),
                "extra_context": dict(extra_context),
            }
            try:
                prompt = render(template_name, variables_of(role, task_description, values))
            except Exception as error:  # noqa: BLE001  a template is code: it may fail in any way
                from smart_context.packing.templates.templates import failure_of  # noqa: PLC0415  50 ms

                return f"{failure_of(template_name, error)}; the prompt was packed without it"
        return replace(plan, pieces=(prompt,), token_budget=role.token_budget)

    def _plan(
        self,
        role: RoleConfig,
        target_files: Sequence[str | Path] | None,
        extra_context: Mapping[str, object] | None,
        token_budget: int,
        opening: Sequence[PromptSection],
    ) -> PackPlan:
        context = role.context
        sources = Sources(
            self.repo_path,
            PatternSet(tuple(context.exclude)),
            context.allow_secrets,
            self._limits,
        )
        targets = [str(target) for target in target_files or ()]
        gathering = Gathering(sources, context, targets, self._markup, self._repomix, self._git)
        gathered = [
            *(GatheredSection(section=each, heading=heading_of(each.key)) for each in opening),
            *gathering.sections(extra_context or {}),
        ]
        kept = keep_within([each.section for each in gathered], token_budget, self._meter)
        return PackPlan(
            sections=tuple(self._outcome(each, kept) for each in gathered),
            warnings=tuple(sources.warnings),
            token_budget=token_budget,
            pieces=tuple(joined(kept)),
            meter=self._meter,
        )

    def _outcome(self, gathered: GatheredSection, kept: Sequence[PromptSection]) -> SectionOutcome:
        section = gathered.section
        is_kept = any(section is each for each in kept)
        return SectionOutcome(
            key=section.key,
            heading=gathered.heading,
            tokens=self._meter.tokens(section.pieces),
            is_kept=is_kept,
            is_protected=section.is_protected,
            reason="" if is_kept else OVER_BUDGET,
            files=gathered.files,
        )


def _folder(
    template_dir: "Path | str | Place | OwnTemplates | None",
) -> "Place | OwnTemplates | None":
    return Place(Path(template_dir)) if isinstance(template_dir, Path | str) else template_dir


def _rendered(plan: PackPlan) -> str:
    """The prompt; its warnings are logged, since the plan itself is not returned."""
    if plan.warnings:
        import logging  # noqa: PLC0415  11 ms, and only when there is something to say

        logger = logging.getLogger(__name__)
        for warning in plan.warnings:
            logger.warning("%s", warning)
    return plan.render()

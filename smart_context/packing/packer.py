"""Packs a task with the files and changes that a role needs into one prompt (contract C)."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from smart_context.disk.places import Place
from smart_context.packing.budget import Meter, Section, Tokenizer, cut, joined, keep_within
from smart_context.packing.fences import Markup, Style
from smart_context.packing.patterns import PatternSet
from smart_context.packing.plan import OVER_BUDGET, PackPlan, SectionOutcome
from smart_context.packing.roles import RoleConfig
from smart_context.packing.section_names import heading_of
from smart_context.packing.sections import Gathered, Gathering, GitUse, RepomixUse
from smart_context.packing.sources import SizeLimits, Sources
from smart_context.packing.templates.allowed import check_allowed
from smart_context.text.names import one_line

if TYPE_CHECKING:  # jinja2 takes 50 ms, and only templates need it
    from contextlib import AbstractContextManager

    from jinja2.sandbox import ImmutableSandboxedEnvironment

    from smart_context.packing.templates.costly import Render
    from smart_context.packing.templates.own import OwnTemplates
    from smart_context.processes.child import Child

TEMPLATE_TOKENS = 1000
"""What a template's own text may take of a budget."""


class ContextPacker:
    """Packs prompts about one repository or vault. Making one starts and reads nothing.

    Args:
        repo_path: The repository.
        template_dir: Own versions of the allow-listed templates, looked into first: their folder,
            or as they were read. They are rendered in a process that is killed when it takes too
            long or too much memory.
        repomix: Whether Repomix packs the files of globs: "auto", if it is installed.
        tokenizer: Counts tokens, or gives them; `None`, four characters are a token.
        style: How sections and files are written.
        limits: How much is read.
        git: Whether git is asked what changed.
        child: That process; without one, each rendering of an own version starts its own.
    """

    def __init__(  # noqa: PLR0913 - all that a packer can be told, each by its name
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
        """The environment of the templates; what is rendered in it directly is not limited."""
        from smart_context.packing.templates.templates import prompt_environment  # noqa: PLC0415  50 ms

        return prompt_environment(self._own_templates())

    def _renderer(self) -> "AbstractContextManager[Render]":
        from smart_context.packing.templates.costly import (  # noqa: PLC0415  4 ms, as below
            renderer,
        )

        return renderer(self._own_templates(), self._child)

    def _own_templates(self) -> "OwnTemplates":
        from smart_context.packing.templates.own import (  # noqa: PLC0415  4 ms, only for templates
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
        """The template with the packed files in it.

        A template that fails gives the prompt of `pack_context`, with a warning in the log.

        Raises:
            ValueError: If the template is not on the list of allowed ones.
        """
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
        """Files and extra context for a template, within the budget less the template's part.

        What is always included is returned whole, also when it is over the budget.
        """
        return _rendered(self.plan_files(role, target_files, extra_context))

    def render_prompt(
        self, template_name: str, role: RoleConfig, task_description: str, **kwargs: Any
    ) -> str:
        """The rendered template.

        A template sees `role`, `system_prompt`, `task_description` (also as `task`), `context`
        (also as `file_context`), `target_files`, `extra_context`, and `kwargs`.

        Raises:
            ValueError: If the template is not on the list of allowed ones.
            jinja2.TemplateError: If it can't be loaded, lacks a variable, or does too much.
        """
        check_allowed(template_name)
        with self._renderer() as render:
            return render(template_name, _values(role, task_description, kwargs))

    def get_git_diff(self, staged: bool = True) -> str:
        """The staged changes, or those that are not staged; empty when git can't tell."""
        if self._git == "never":
            return ""
        from smart_context.packing.git.changes import Changes  # noqa: PLC0415  20 ms, and only with git

        return Changes(self.repo_path).diff(staged=staged)

    def plan(
        self,
        role: RoleConfig,
        task_description: str,
        target_files: Sequence[str | Path] | None = None,
        extra_context: Mapping[str, object] | None = None,
        *,
        template_name: str | None = None,
    ) -> PackPlan:
        """The whole prompt with the account of it, by a template or without one.

        What could not be done is among its warnings; nothing is logged.

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
        """The files and extra context for a template, with the account of them."""
        budget = max(0, role.token_budget - TEMPLATE_TOKENS)
        return self._plan(role, target_files, extra_context, budget, [])

    def _opening(self, role: RoleConfig, task_description: str) -> list[Section]:
        opening = []
        if system_prompt := role.system_prompt.strip():
            opening.append(Section(key="system_prompt", pieces=(system_prompt,), is_protected=True))
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
        """The prompt by the template, or why there is none."""
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
                prompt = render(template_name, _values(role, task_description, values))
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
        opening: Sequence[Section],
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
            *(Gathered(section=each, heading=heading_of(each.key)) for each in opening),
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

    def _outcome(self, gathered: Gathered, kept: Sequence[Section]) -> SectionOutcome:
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


def _values(role: RoleConfig, task_description: str, given: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a template sees; the role and the task are as they are, whatever else is given."""
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


def _rendered(plan: PackPlan) -> str:
    """The prompt; what its plan warns of goes to the log, since the plan itself is not shown."""
    if plan.warnings:
        import logging  # noqa: PLC0415  11 ms, and only when there is something to say

        logger = logging.getLogger(__name__)
        for warning in plan.warnings:
            logger.warning("%s", warning)
    return plan.render()

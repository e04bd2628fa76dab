"""What a role adds to the turns of a chat: its system prompt, its files, its template.

The packer makes it, with the same sections and budget as for `smart-context pack`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from smart_context.base.processes.child import Child
from smart_context.base.values import CountTokens
from smart_context.packing import ContextPacker, RoleConfig
from smart_context.packing.plan import PackPlan, SectionOutcome
from smart_context.packing.sections.sections import GitUse
from smart_context.packing.templates.own import OwnTemplates
from smart_context.packing.templates.templates import failure_of


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleSection:
    """One section of a role's part."""

    heading: str
    tokens: int  # the tokens of its text, even if it is left out
    why_not: str  # why it is not sent; empty when it is
    sent: tuple[str, ...]
    left_out: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RolePart:
    """What the role of a chat adds to a turn."""

    name: str = ""  # the role; empty if the chat has none
    text: str = ""
    tokens: int = 0
    config: RoleConfig | None = None  # the role itself; `None` if it can't be read
    targets: tuple[str, ...] = ()
    sections: tuple[RoleSection, ...] = ()  # the sections of the text, and those that were left out
    problems: tuple[str, ...] = ()
    root: Path = Path()
    # the user's own templates, which override the shipped ones
    templates: OwnTemplates = field(default_factory=OwnTemplates)

    @property
    def problem(self) -> str:
        """The problems, one per line."""
        return "\n".join(self.problems)

    def shaped(self, message: str, child: Child) -> tuple[str, str]:
        """The message as the role's template words it, and the problem if the template fails."""
        if self.config is None or not self.config.template or not message.strip():
            return message, ""
        template = self.config.template
        packer = ContextPacker(self.root, template_dir=self.templates, child=child)
        bare = replace(self.config, system_prompt="")
        try:
            text = packer.render_prompt(
                template, bare, message, target_files=self.targets, for_chat=True
            ).strip()
        except Exception as error:  # noqa: BLE001 - a template is code: it may fail in any way
            problem = f"Role {self.name!r}: {failure_of(template, error)}"
            return message, f"{problem}. Your message is sent as it is."
        return text or message, ""


NO_ROLE = RolePart()


def pack_role(  # noqa: PLR0913 - the parts of a role's text, each by name
    root: Path,
    name: str,
    role: RoleConfig,
    *,
    targets: Sequence[str],
    budget: int,
    without: Sequence[str],
    count_tokens: CountTokens,
    git: GitUse = "guarded",
) -> RolePart:
    """Pack a role from the current files.

    Args:
        budget: A token limit on top of the role's own budget.
        without: Folders to leave out, relative to the vault.
    """
    packer = ContextPacker(root, tokenizer=count_tokens, git=git)
    excluded = (*role.context.exclude, *(f"/{folder}/" for folder in without))
    limited = replace(
        role,
        token_budget=min(role.token_budget, budget),
        context=replace(role.context, exclude=excluded),
    )
    plan = packer.plan(limited, "", targets)
    text = plan.render()
    return RolePart(
        name=name,
        text=text,
        tokens=count_tokens(text) if text else 0,
        config=role,
        targets=tuple(targets),
        sections=tuple(_section(each) for each in plan.sections if each.key != "system_prompt"),
        problems=_problems(name, plan),
        root=root,
    )


def _section(outcome: SectionOutcome) -> RoleSection:
    has_text = {file.path: outcome.is_kept and file.text is not None for file in outcome.files}
    return RoleSection(
        heading=outcome.heading,
        tokens=outcome.tokens,
        why_not=outcome.reason,
        sent=tuple(path for path, is_sent in has_text.items() if is_sent),
        left_out=tuple(path for path, is_sent in has_text.items() if not is_sent),
    )


def _problems(name: str, plan: PackPlan) -> tuple[str, ...]:
    if not plan.is_cut:
        return plan.warnings
    cut = (
        f"What the role {name!r} always includes is over its {plan.token_budget:,} tokens; "
        "the end is left out."
    )
    return (cut, *plan.warnings)

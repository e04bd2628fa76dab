"""A request for a prompt, as one value that can be repeated, and the record of what it packed.

A stored prompt is out of date if packing the same request again gives another one: because its
files, the role, the template or the staged changes are different.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Literal, get_args

from smart_context.base.disk.places import relative_or_whole
from smart_context.base.errors import CommandFailed
from smart_context.base.text.names import encodable
from smart_context.packing.budget import Tokenizer
from smart_context.packing.fences import Style
from smart_context.packing.files.sources import SizeLimits
from smart_context.packing.packer import ContextPacker
from smart_context.packing.plan import PackPlan
from smart_context.packing.roles import RoleConfig, RoleFolder, RoleLoader
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


SUFFIX = ".sources.json"
MAX_RECORD_BYTES = 64 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class PackRecord:
    """The request and sources of a stored prompt."""

    request: PackRequest
    prompt_sha256: str
    sources: Mapping[str, str]  # the SHA-256 of each file's text, by path
    version: Literal[1] = 1  # the version of the file format


@dataclass(frozen=True, slots=True, kw_only=True)
class Freshness:
    """The differences between a stored prompt and one that is packed now."""

    is_stale: bool  # True if packing again gives another prompt
    is_edited: bool  # True if the stored prompt was edited
    changed: tuple[str, ...]  # files whose text has changed
    added: tuple[str, ...]  # files that are new in the prompt
    gone: tuple[str, ...]  # files that are no longer in the prompt


def record_of(request: PackRequest, plan: PackPlan) -> PackRecord:
    """The record of a prompt, to be stored next to it."""
    return PackRecord(request=request, prompt_sha256=plan.digest(), sources=_sources(plan))


def record_path(prompt: Path) -> Path:
    """The path of the record of a stored prompt, next to it."""
    return prompt.with_name(prompt.name + SUFFIX)


def record_file(record: PackRecord, prompt: Path) -> bytes:
    """The content of the record's file next to `prompt`.

    Folders are relative to it, so both can be moved.
    """
    document = asdict(record)
    document["request"] = {
        key: relative_or_whole(value, prompt.parent) if isinstance(value, Path) else value
        for key, value in document["request"].items()
    }
    return json.dumps(document, indent=1).encode() + b"\n"


def read_record(prompt: Path) -> PackRecord:
    """Read the record of a stored prompt; raises `CommandFailed` if it is missing or invalid."""
    from pydantic import TypeAdapter, ValidationError  # noqa: PLC0415  150 ms, only to check

    path = record_path(prompt)
    try:
        if path.stat().st_size > MAX_RECORD_BYTES:
            raise CommandFailed(f"{path}: larger than {MAX_RECORD_BYTES} bytes, so not a record.")
        record = TypeAdapter(PackRecord).validate_json(path.read_bytes())
    except FileNotFoundError as error:
        raise CommandFailed(
            f"{path} is missing, so the sources of {prompt.name} are unknown. "
            "It is written next to a prompt by: smart-context pack -o FILE"
        ) from error
    except ValidationError as error:
        fault = error.errors()[0]
        where = ".".join(str(part) for part in fault["loc"]) or "the file"
        raise CommandFailed(
            f"{path}: expected what `smart-context pack -o` writes, found a fault in {where}: "
            f"{fault['msg']}. Pack the prompt again."
        ) from error
    request = record.request
    own = request.template_dir
    return replace(
        record,
        request=replace(
            request,
            repo=prompt.parent / request.repo,
            template_dir=None if own is None else prompt.parent / own,
        ),
    )


def freshness(record: PackRecord, stored: bytes, plan: PackPlan) -> Freshness:
    """The differences between a stored prompt and one that is packed now.

    Args:
        plan: The plan of the same request, made now.
    """
    before, now = record.sources, _sources(plan)
    return Freshness(
        is_stale=record.prompt_sha256 != plan.digest(),
        is_edited=record.prompt_sha256 != hashlib.sha256(stored).hexdigest(),
        changed=_sorted(path for path in before if now.get(path, before[path]) != before[path]),
        added=_sorted(now.keys() - before.keys()),
        gone=_sorted(before.keys() - now.keys()),
    )


def _sources(plan: PackPlan) -> dict[str, str]:
    return {encodable(path): digest for path, digest in plan.sources().items()}


def _sorted(paths: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(paths))

"""Records the sources of a stored prompt, to tell when it is out of date.

A prompt is out of date if packing the same request again gives another one: because its files,
the role, the template or the staged changes are different.
"""

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Literal

from smart_context.base.errors import CommandFailed
from smart_context.base.text.names import encodable
from smart_context.packing.plan import PackPlan
from smart_context.packing.request import PackRequest

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
    """How a stored prompt differs from one that is packed now."""

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
        key: os.path.relpath(value, prompt.parent) if isinstance(value, Path) else value
        for key, value in document["request"].items()
    }
    return json.dumps(document, indent=1).encode() + b"\n"


def read_record(prompt: Path) -> PackRecord:
    """Read the record of a stored prompt.

    Raises:
        CommandFailed: If it is missing or invalid.
    """
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
    """How a stored prompt differs from one packed now.

    Args:
        record: The record of the stored prompt.
        stored: The content of the stored prompt.
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

"""Notes beside a stored prompt what it was made of, and tells later whether it is out of date.

A prompt is out of date when packing the same request again would make another one: files of it
were changed, added or removed, or else the role, the template or the staged changes.
"""

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Literal

from smart_context.errors import CommandFailed
from smart_context.packing.plan import PackPlan
from smart_context.packing.request import PackRequest
from smart_context.text.names import encodable

SUFFIX = ".sources.json"
MAX_RECORD_BYTES = 64 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """What a stored prompt was made of.

    Attributes:
        request: What was asked for.
        prompt_sha256: The digest of the prompt.
        sources: The SHA-256 of each file's text, by path.
        version: Of the form of the record.
    """

    request: PackRequest
    prompt_sha256: str
    sources: Mapping[str, str]
    version: Literal[1] = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Freshness:
    """How a stored prompt differs from one that is packed now.

    Attributes:
        is_stale: Packing again would make another prompt.
        is_edited: The stored prompt is not as it was written.
        changed: Files whose text is another.
        added: Files that would be in it now.
        gone: Files that would no longer be in it.
    """

    is_stale: bool
    is_edited: bool
    changed: tuple[str, ...]
    added: tuple[str, ...]
    gone: tuple[str, ...]


def record_of(request: PackRequest, plan: PackPlan) -> Record:
    """What a prompt is made of, to be kept beside it."""
    return Record(request=request, prompt_sha256=plan.digest(), sources=_sources(plan))


def record_path(prompt: Path) -> Path:
    """Where the record of a stored prompt lies: beside it."""
    return prompt.with_name(prompt.name + SUFFIX)


def record_file(record: Record, prompt: Path) -> bytes:
    """The record as a file beside `prompt`; folders are relative to it, so both can move."""
    document = asdict(record)
    document["request"] = {
        key: os.path.relpath(value, prompt.parent) if isinstance(value, Path) else value
        for key, value in document["request"].items()
    }
    return json.dumps(document, indent=1).encode() + b"\n"


def read_record(prompt: Path) -> Record:
    """The record beside a stored prompt.

    Raises:
        CommandFailed: If there is none, or it is not one.
    """
    from pydantic import TypeAdapter, ValidationError  # noqa: PLC0415  150 ms, only to check

    path = record_path(prompt)
    try:
        if path.stat().st_size > MAX_RECORD_BYTES:
            raise CommandFailed(f"{path}: larger than {MAX_RECORD_BYTES} bytes; that is no record.")
        record = TypeAdapter(Record).validate_json(path.read_bytes())
    except FileNotFoundError as error:
        raise CommandFailed(
            f"{path} is missing, so nobody knows what {prompt.name} was made of. "
            "It is written beside a prompt by: smart-context pack -o FILE"
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


def freshness(record: Record, stored: bytes, plan: PackPlan) -> Freshness:
    """How a stored prompt differs from what its request makes now.

    Args:
        record: Of the stored prompt.
        stored: The prompt as it lies on the disk.
        plan: Of the record's request, made now.
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

"""The report about a packed prompt, for people and for programs."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from smart_context.base.text.names import encodable, one_line, shown
from smart_context.base.text.scores import counted
from smart_context.cli.terminal.output import table
from smart_context.packing.plan import PackPlan
from smart_context.packing.request import NO_BUDGET

if TYPE_CHECKING:  # only --check needs it
    from smart_context.packing.record import Freshness

MAX_NAMED = 20
"""The most files that are named; of the others, only the number is shown."""


def as_text(plan: PackPlan, *, with_tree: bool = False) -> str:
    """The sections as a table, the files left out and why, and the total."""
    rows = [
        (
            section.heading,
            section.tokens,
            _state(section.is_kept, section.is_protected),
            section.reason,
        )
        for section in plan.sections
    ]
    blocks = [table(("SECTION", "TOKENS", "IN", "WHY NOT"), rows)] if rows else []
    if with_tree:
        tree = [(tokens, shown(path)) for path, tokens in plan.token_tree()]
        blocks.append(table(("TOKENS", "PATH"), tree))
    named = {why for _, why in _left_out(plan)}
    warnings = [warning for warning in plan.warnings if warning not in named]
    notes = [f"warning: {one_line(warning)}" for warning in (*warnings, *_warnings_of(plan))]
    notes += [f"size limit: {note}" for note in _size_notes(plan)]
    notes += _named([f"left out: {shown(path)}: {one_line(why)}" for path, why in _left_out(plan)])
    if notes:
        blocks.append("\n".join(notes))
    return "\n\n".join([*blocks, _sum(plan)])


def as_document(plan: PackPlan, *, with_tree: bool = False) -> dict[str, Any]:
    """The report as JSON."""
    document: dict[str, Any] = {
        "sha256": plan.digest(),
        "tokens": plan.tokens,
        "token_budget": None if plan.token_budget == NO_BUDGET else plan.token_budget,
        "is_whole": plan.is_whole,
        "sections": [
            {
                "key": section.key,
                "heading": section.heading,
                "tokens": section.tokens,
                "in": section.is_kept,
                "protected": section.is_protected,
                "reason": section.reason,
            }
            for section in plan.sections
        ],
        "files": [
            {
                "path": encodable(file.path),
                "section": file.section,
                "tokens": file.tokens,
                "in": file.is_kept,
                "reason": file.reason,
            }
            for file in plan.files()
        ],
        "warnings": [one_line(warning) for warning in (*plan.warnings, *_warnings_of(plan))],
        "size_limits": [one_line(note) for note in _size_notes(plan)],
        "sources": {encodable(path): digest for path, digest in plan.sources().items()},
    }
    if with_tree:
        tree = plan.token_tree()
        document["token_tree"] = [
            {"path": encodable(path), "tokens": tokens} for path, tokens in tree
        ]
    return document


def check_as_text(name: str, found: "Freshness", count: int) -> str:
    """The state of a stored prompt: up to date, or what has changed."""
    files = counted(count, "file")
    if not found.is_stale:
        told = f"{shown(name)} is up to date ({files})."
    else:
        told = f"{shown(name)} is out of date. Pack it again."
    changes = [
        *(f"changed: {shown(path)}" for path in found.changed),
        *(f"new: {shown(path)}" for path in found.added),
        *(f"gone: {shown(path)}" for path in found.gone),
    ]
    if found.is_stale and not changes:
        changes = ["changed: the role, the template, the tree or the staged changes"]
    if found.is_edited:
        changes.append(f"{shown(name)} itself was edited since it was packed")
    return "\n".join([told, *(f"  {line}" for line in _named(changes))])


def check_as_document(found: "Freshness") -> dict[str, Any]:
    """The same as JSON."""
    return asdict(found)


def _state(is_kept: bool, is_protected: bool) -> str:
    if not is_kept:
        return "dropped"
    return "always" if is_protected else "yes"


def _warnings_of(plan: PackPlan) -> Iterator[str]:
    if not plan.sections:
        yield "nothing matched the request, so the prompt is empty"
    if plan.is_cut or plan.is_over_budget:
        fate = "the end was cut off" if plan.is_cut else "they were kept whole"
        yield f"required sections are over the token budget of {plan.token_budget}; {fate}"


_LIFTED_BY = {
    "file": "--max-file-size",
    "total": "--max-total-size",
    "required": "--max-total-size",
}


def _size_notes(plan: PackPlan) -> Iterator[str]:
    """The number of files over each size limit, and how to raise it."""
    files = [file for section in plan.sections for file in section.files if file.limit]
    for (limit, words), count in Counter((file.limit, file.detail) for file in files).items():
        counted = "1 file is" if count == 1 else f"{count:,} files are"
        yield f"{counted} {words}; raise {_LIFTED_BY[limit or 'file']} (0 = no limit)"


def _left_out(plan: PackPlan) -> Iterator[tuple[str, str]]:
    for section in plan.sections:
        yield from ((file.path, file.detail) for file in section.files if file.detail)


def _named(lines: Sequence[str]) -> list[str]:
    left = len(lines) - MAX_NAMED
    return [*lines[:MAX_NAMED], *([f"and {left} more"] if left > 0 else [])]


def _sum(plan: PackPlan) -> str:
    budget = "" if plan.token_budget == NO_BUDGET else f" of {plan.token_budget}"
    count = sum(1 for _ in plan.kept_texts())
    files = counted(count, "file")
    return f"{plan.tokens}{budget} tokens, {files}"

"""The result of a measurement, for programs and for people."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from smart_context.evaluation.formats import Kind
from smart_context.evaluation.measures import DEPTHS, Counts, Findings, mean_match
from smart_context.values import JsonObject

_ROWS = (
    ("dialogues", ("dialogues",)),
    ("messages", ("messages",)),
    *((f"evidence recall @{depth}", ("evidence_recall", str(depth))) for depth in DEPTHS),
    ("same-topic precision", ("same_topic", "precision")),
    ("same-topic recall", ("same_topic", "recall")),
    ("same-topic F1", ("same_topic", "f1")),
    ("sticky recall", ("sticky", "recall")),
    ("sticky precision", ("sticky", "precision")),
    ("follow-ups with what they refer to", ("follow_ups", "complete")),
    ("what is referred to with follow-ups", ("follow_ups", "followed")),
    ("selections", ("selections", "count")),
    ("share of fallbacks", ("selections", "fallback_share")),
    ("tokens kept, share", ("selections", "tokens_kept_share")),
    ("tokens saved, share", ("selections", "tokens_saved_share")),
)
_NOT_MEASURED = "–"  # noqa: RUF001 -- the sign for it


@dataclass(frozen=True, kw_only=True, eq=False)
class Measured:
    """One file's findings.

    Attributes:
        file: Its name.
        kind: What it holds.
        findings: What was found.
    """

    file: str
    kind: Kind
    findings: Findings


def as_json(measured: Measured) -> JsonObject:
    """What was measured on one file; a measure that the file says nothing about is `None`."""
    findings = measured.findings
    match = mean_match(findings.matches)
    return {
        "file": measured.file,
        "kind": measured.kind,
        "dialogues": findings.dialogues,
        "messages": findings.messages,
        "evidence_recall": _recalls(findings),
        "same_topic": None
        if match is None
        else {
            "precision": match.precision,
            "recall": match.recall,
            "f1": match.f1,
            "topics": len(findings.matches),
        },
        "sticky": _sticky(findings.sticky),
        "follow_ups": _follow_ups(findings.follow_ups),
        "selections": _selections(findings),
    }


def rows_of(files: Sequence[JsonObject]) -> list[tuple[str, ...]]:
    """A line for each measure that some file has, a column for each file."""
    rows = [(name, *(_shown(_at(file, keys)) for file in files)) for name, keys in _ROWS]
    return [row for row in rows if any(cell != _NOT_MEASURED for cell in row[1:])]


def _recalls(findings: Findings) -> JsonObject | None:
    if not findings.recalls:
        return None
    means = (sum(depth) / len(findings.recalls) for depth in zip(*findings.recalls, strict=True))
    return {
        "questions": len(findings.recalls),
        **{str(depth): mean for depth, mean in zip(DEPTHS, means, strict=True)},
    }


def _sticky(counts: Counts) -> JsonObject | None:
    if not counts.wanted:
        return None
    match = counts.match
    return {
        "recall": match.recall,
        "precision": match.precision,
        "right": counts.right,
        "found": counts.found,
        "needed": counts.wanted,
    }


def _follow_ups(counts: Counts) -> JsonObject | None:
    if not (counts.found or counts.wanted):
        return None
    match = counts.match
    return {"complete": match.precision, "followed": match.recall, "kept": counts.found}


def _selections(findings: Findings) -> JsonObject | None:
    count = len(findings.kept)
    if not count:
        return None
    share = sum(kept.tokens / max(kept.total, 1) for kept in findings.kept) / count
    fallbacks = sum(kept.fell_back for kept in findings.kept)
    return {
        "count": count,
        "fallbacks": fallbacks,
        "fallback_share": fallbacks / count,
        "tokens": sum(kept.total for kept in findings.kept),
        "tokens_kept": sum(kept.tokens for kept in findings.kept),
        "tokens_kept_share": share,
        "tokens_saved_share": 1 - share,
    }


def _at(file: JsonObject, keys: Sequence[str]) -> object:
    found: object = file
    for key in keys:
        found = found.get(key) if isinstance(found, Mapping) else None
    return found


def _shown(value: object) -> str:
    if value is None:
        return _NOT_MEASURED
    return f"{value:.3f}" if isinstance(value, float) else f"{value}"

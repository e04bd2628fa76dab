"""Measured figures, as JSON for programs and as lines for people."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from smart_context.base.values import JsonObject
from smart_context.cli.evaluation.dialogues import Kind
from smart_context.cli.evaluation.measures import (
    DEPTHS,
    Counts,
    Findings,
    Growth,
    RecalledEvidence,
    mean_match,
)
from smart_context.cli.evaluation.picture import reliability_of

_ROWS = (
    ("dialogues", ("dialogues",)),
    ("messages", ("messages",)),
    *((f"evidence recall @{depth}", ("evidence_recall", str(depth))) for depth in DEPTHS),
    *(
        (f"pooled recall @{depth}, no trap questions", ("evidence_pooled", str(depth)))
        for depth in DEPTHS
    ),
    ("typed topics", ("asked", "count")),
    ("precision at the threshold", ("asked", "precision")),
    ("recall at the threshold", ("asked", "recall")),
    ("F1 at the threshold", ("asked", "f1")),
    ("topics that find a message", ("asked", "found")),
    ("share of evidence sent", ("asked", "evidence")),
    ("share of tokens sent", ("asked", "tokens")),
    ("evidence for as many tokens: newest", ("asked", "newest")),
    ("evidence for as many tokens: BM25", ("asked", "bm25")),
    ("evidence for as many tokens: cosine", ("asked", "cosine")),
    ("evidence for as many tokens: both + neighbours", ("asked", "both")),
    ("evidence in a new chat: recalled", ("recalled", "all", "recall")),
    ("evidence in a new chat: newest", ("recalled", "all", "newest")),
    ("evidence in a new chat: BM25", ("recalled", "all", "bm25")),
    ("evidence in a new chat: cosine", ("recalled", "all", "cosine")),
    ("evidence in a new chat: both + neighbours", ("recalled", "all", "both")),
    ("absent topics that find no message", ("absent", "share")),
    ("short labels that find a message", ("short", "share")),
    ("calibration error", ("calibration", "error")),
    ("calibration error from 0.1 on", ("calibration", "error_above")),
    ("found topics, adjusted Rand", ("agreement", "adjusted_rand")),
    ("found topics, coverage", ("agreement", "coverage")),
    ("found topics per subject", ("agreement", "topics_each")),
    ("share of chats with one topic", ("agreement", "single")),
    ("largest topic, share of its chat", ("agreement", "largest")),
    ("same-topic precision", ("same_topic", "precision")),
    ("same-topic recall", ("same_topic", "recall")),
    ("same-topic F1", ("same_topic", "f1")),
    ("growing: steps", ("growth", "steps")),
    ("growing: messages that change topic, a step", ("growth", "changed")),
    ("growing: topics that fall apart, 100 steps", ("growth", "apart")),
    ("growing: pairs of half-time together", ("growth", "together")),
    ("growing: labels changed though half stayed", ("growth", "relabelled")),
    ("growing: adjusted Rand against afresh", ("growth", "gained")),
    ("growing: most topics on top", ("growth", "most")),
    ("growing: topics with the same messages", ("growth", "duplicates")),
    ("sticky recall", ("sticky", "recall")),
    ("sticky precision", ("sticky", "precision")),
    ("follow-ups sent with the turns they need", ("follow_ups", "complete")),
    ("needed turns sent with their follow-up", ("follow_ups", "followed")),
    ("selections", ("selections", "count")),
    ("share of selections that match nothing", ("selections", "fallback_share")),
    ("share of tokens kept", ("selections", "tokens_kept_share")),
    ("share of tokens saved", ("selections", "tokens_saved_share")),
)


@dataclass(frozen=True, kw_only=True, eq=False)
class Measured:
    """One file's findings."""

    file: str
    kind: Kind
    findings: Findings  # the measurements of all its dialogues


def as_json(measured: Measured) -> JsonObject:
    """The figures of one file; `None` for a measure that the file has no data for."""
    findings = measured.findings
    match = mean_match(findings.matches)
    return {
        "file": measured.file,
        "kind": measured.kind,
        "dialogues": findings.dialogues,
        "messages": findings.messages,
        "evidence_recall": _recalls(findings),
        "evidence_pooled": _pooled(findings),
        "asked": _asked(findings),
        "recalled": _recalled(findings.recalled),
        "absent": _share(findings.absent),
        "short": _share(findings.short),
        "calibration": _calibration(findings),
        "agreement": _agreements(findings),
        "same_topic": None
        if match is None
        else {
            "precision": match.precision,
            "recall": match.recall,
            "f1": match.f1,
            "topics": len(findings.matches),
        },
        "growth": _growth(findings.growth),
        "sticky": _sticky(findings.sticky),
        "follow_ups": _follow_ups(findings.follow_ups),
        "selections": _selections(findings),
    }


def rows_of(file: JsonObject) -> list[tuple[str, str]]:
    """The name and value of each measure that the file has data for."""
    values = ((name, _value_at(file, keys)) for name, keys in _ROWS)
    return [(name, _shown(value)) for name, value in values if value is not None]


def in_sample_note(kinds: Iterable[Kind], *, has_own_weights: bool) -> str:
    """A note on which figures are in-sample; empty if all are of a user's own chats."""
    if all(kind == "chat" for kind in kinds):
        return ""
    if has_own_weights:
        return "In-sample: figures on the dialogues that these weights were fitted to."
    return (
        "In-sample: figures on LoCoMo, MT-Bench-101, TREC CAsT and TREC iKAT.\n"
        "The package's weights were fitted to these dialogues."
    )


def _recalls(findings: Findings) -> JsonObject | None:
    if not findings.recalls:
        return None
    means = (sum(depth) / len(findings.recalls) for depth in zip(*findings.recalls, strict=True))
    return {
        "questions": len(findings.recalls),
        **{str(depth): mean for depth, mean in zip(DEPTHS, means, strict=True)},
    }


def _pooled(findings: Findings) -> JsonObject | None:
    """Recall over the evidence of all questions: those with much evidence weigh more."""
    counted = [asked for asked in findings.asked if not asked.is_trap]
    wanted = sum(asked.wanted for asked in counted)
    if not wanted:
        return None
    hits = (sum(depth) for depth in zip(*(asked.hits for asked in counted), strict=True))
    return {str(depth): found / wanted for depth, found in zip(DEPTHS, hits, strict=True)}


def _asked(findings: Findings) -> JsonObject | None:
    count = len(findings.asked)
    if not count:
        return None

    def mean(values: Iterable[float]) -> float:
        return sum(values) / count

    return {
        "count": count,
        "precision": mean(asked.match.precision for asked in findings.asked),
        "recall": mean(asked.match.recall for asked in findings.asked),
        "f1": mean(asked.match.f1 for asked in findings.asked),
        "found": mean(asked.is_found for asked in findings.asked),
        "evidence": mean(asked.evidence for asked in findings.asked),
        "tokens": mean(asked.tokens for asked in findings.asked),
        **{
            name: mean(asked.baselines[name] for asked in findings.asked)
            for name in findings.asked[0].baselines
        },
    }


def _recalled(found: Sequence[RecalledEvidence]) -> JsonObject | None:
    """The mean share of the evidence by method: over all questions, and those of each dialogue."""
    if not found:
        return None
    of_dialogue: dict[str, list[RecalledEvidence]] = {"all": [*found]}
    for each in found:
        of_dialogue.setdefault(each.dialogue, []).append(each)
    return {
        name: {
            "questions": len(some),
            **{way: sum(each.shares[way] for each in some) / len(some) for way in some[0].shares},
        }
        for name, some in of_dialogue.items()
    }


def _share(found: Sequence[bool]) -> JsonObject | None:
    return {"count": len(found), "share": sum(found) / len(found)} if found else None


def _calibration(findings: Findings) -> JsonObject | None:
    """What scores predict and what is observed, over present and absent topics."""
    found = reliability_of([*findings.samples, *findings.absent_samples])
    if found is None:
        return None
    columns = (found.counts.tolist(), found.predicted.tolist(), found.observed.tolist())
    return {
        "error": found.error,
        "error_above": found.error_above,
        "bins": [
            {"count": count, "predicted": predicted, "observed": observed}
            for count, predicted, observed in zip(*columns, strict=True)
        ],
    }


def _agreements(findings: Findings) -> JsonObject | None:
    count = len(findings.agreements)
    if not count:
        return None
    return {
        "dialogues": count,
        "adjusted_rand": sum(each.adjusted_rand for each in findings.agreements) / count,
        "coverage": sum(each.coverage for each in findings.agreements) / count,
        "topics_each": sum(each.topics_each for each in findings.agreements) / count,
        "single": sum(each.is_single for each in findings.agreements) / count,
        "largest": max(each.largest for each in findings.agreements),
    }


def _growth(growth: Growth) -> JsonObject | None:
    if not growth.steps:
        return None

    def mean(values: Sequence[float]) -> float | None:
        return sum(values) / len(values) if values else None

    return {
        "steps": growth.steps,
        "changed": mean(growth.changed),
        "apart": 100 * growth.apart / growth.steps,
        "together": mean(growth.together),
        "relabelled": growth.relabelled / max(growth.labels, 1),
        "gained": mean(growth.gained),
        "most": growth.most,
        "duplicates": growth.duplicates,
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


def _value_at(file: JsonObject, keys: Sequence[str]) -> object:
    found: object = file
    for key in keys:
        found = found.get(key) if isinstance(found, Mapping) else None
    return found


def _shown(value: object) -> str:
    return f"{value:.3f}" if isinstance(value, float) else f"{value}"

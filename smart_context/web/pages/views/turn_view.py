"""What the page of one turn shows, from what the plugin's commands say."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.datastructures import QueryParams

from smart_context.values import JsonObject
from smart_context.web.pages.views.panel_view import messages_counted

MAX_ROWS = 1_000
"""Most messages of a kind on the page; the counts say how many there are."""

SETTING_NAMES: Mapping[str, str] = {
    "topics": "Topics",
    "threshold": "Threshold",
    "relevance": "Relevance",
    "embedding_search": "Filter by similarity",
    "recent_messages": "Newest messages always kept",
    "keep_pairs": "Answers bring their questions",
    "context_budget_tokens": "Most tokens of notes",
    "contexts": "Named contexts",
    "role": "Role",
    "role_targets": "What the role is about",
    "pinned": "Pinned",
    "hidden": "Hidden",
    "chat": "Model",
    "embedding": "Embedding model",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class BarPart:
    """One part of the request.

    Attributes:
        part: Names it, for its colour.
        name: What people read.
        tokens: What it cost.
        start: Where its piece of the bar begins, in percent.
        width: How wide that is, in percent.
    """

    part: str
    name: str
    tokens: int
    start: float
    width: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnView:
    """The page of one turn.

    Attributes:
        turn: What the command says.
        parts: The bar.
        settings: Names and values in words.
        kept: Messages that were in, at most `MAX_ROWS`.
        left_out: Messages that were out, at most `MAX_ROWS`.
        changes: What differs from the other turn, in words; empty if there is none.
        difference: The same as the command says it.
        is_replay: The turn under other settings.
    """

    turn: JsonObject
    parts: tuple[BarPart, ...]
    settings: tuple[tuple[str, str], ...]
    kept: tuple[JsonObject, ...]
    left_out: tuple[JsonObject, ...]
    changes: tuple[str, ...]
    difference: JsonObject | None
    is_replay: bool


def turn_view(turn: JsonObject, *, is_replay: bool) -> TurnView:
    """The page from the result of `receipt` or `replay`."""
    rows: Sequence[JsonObject] = turn["messages"]
    difference = turn.get("diff")
    return TurnView(
        turn=turn,
        parts=_parts(turn["parts"], turn["part_names"]),
        settings=tuple(
            (name, _setting_in_words(key, turn["settings"][key]))
            for key, name in SETTING_NAMES.items()
            if turn["settings"].get(key) not in (None, [])
        ),
        kept=tuple([row for row in rows if row["in"]][:MAX_ROWS]),
        left_out=tuple([row for row in rows if not row["in"]][:MAX_ROWS]),
        changes=_changes(difference) if difference else (),
        difference=difference,
        is_replay=is_replay,
    )


def replay_settings(asked: QueryParams) -> JsonObject | None:
    """The settings of the form that replays a turn; `None` if it was not sent.

    What is no number is passed over: the turn's own setting holds then.
    """
    if asked.get("replay") is None:
        return None
    wanted: JsonObject = {
        "topics": [topic for topic in asked.getlist("topics") if topic.strip()],
        "keep_pairs": asked.get("keep_pairs") is not None,
    }
    numbers = {"threshold": float, "recent_messages": int, "context_budget_tokens": int}
    for name, kind in numbers.items():
        try:
            wanted[name] = kind(asked.get(name, "")[:12])
        except ValueError:
            continue
    if asked.get("relevance") in {"enriched", "plain"}:
        wanted["relevance"] = asked["relevance"]
    if model := asked.get("model", "").strip()[:200]:
        wanted["model"] = model
    return wanted


def topic_choices(active: Sequence[str], stored: Sequence[Mapping[str, Any]]) -> list[str]:
    """The topics that a replay can pick: those of the turn, and those of the chat."""
    known = (str(topic["label"]) for topic in stored if not topic.get("sticky"))
    return list(dict.fromkeys((*active, *known)))


def _parts(tokens: Mapping[str, int], names: Mapping[str, str]) -> tuple[BarPart, ...]:
    total = max(sum(tokens.values()), 1)
    views: list[BarPart] = []
    start = 0.0
    for part, name in names.items():
        count = tokens.get(part, 0)
        if count > 0:
            width = 100 * count / total
            view = BarPart(part=part, name=name, tokens=count, start=start, width=width)
            views.append(view)
            start += width
    return tuple(views)


def _changes(difference: JsonObject) -> tuple[str, ...]:
    changed = {**difference["settings"], **difference["models"]}
    return tuple(
        f"{SETTING_NAMES.get(key, key)}: "
        f"{_setting_in_words(key, before)} → {_setting_in_words(key, after)}"
        for key, (before, after) in changed.items()
    )


def _setting_in_words(key: str, value: object) -> str:
    if key in {"pinned", "hidden"} and isinstance(value, list) and value:
        return messages_counted(len(value))
    return _in_words(value)


def _in_words(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    return "none" if value is None else str(value)

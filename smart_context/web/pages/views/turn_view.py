"""A turn as its page shows it: its receipt, its messages by subject, and the chat over time."""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import add
from typing import Any, ClassVar

from starlette.datastructures import QueryParams

from smart_context.base.results import TopicResult
from smart_context.base.text.scores import counted, score_in_words
from smart_context.base.values import JsonObject
from smart_context.topics.identity import Colour, colours_of, hue_of, new_topic_id
from smart_context.topics.values import STICKY_LABEL
from smart_context.web.pages.views.panel_view import TopicView, bubbles
from smart_context.web.pages.views.settings_view import STRICTNESS, WORDS

LEAST_COLUMN, MOST_COLUMN = 26.0, 56.0
"""The width of a column in pixels; a finger can hit the narrowest."""
WIDTH = 760.0
"""The width in pixels up to which columns have their largest width."""
GAP = 4.0
HEIGHT = 72.0
LEAST = 2.0
"""The least height in pixels of a turn that sent anything."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One turn."""

    receipt: JsonObject  # its line in the list of receipts
    x: float  # the left edge of the column
    sent: float  # the height of the part that was sent
    left_out: float  # the height of the part that was left out, above it


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatOverTime:
    """The turns of a chat, oldest first; a turn that sent nothing counts as 0 tokens."""

    columns: tuple[Column, ...]  # a column per turn
    tokens: int  # the tokens that all turns sent
    whole: int  # the tokens that they would have sent without a filter
    gap: ClassVar[float] = GAP
    height: ClassVar[float] = HEIGHT

    @property
    def width(self) -> float:
        """The width of the picture."""
        return self.column * len(self.columns)

    @property
    def column(self) -> float:
        """The width of a column."""
        return column_width(len(self.columns))

    @property
    def less(self) -> int:
        """The share that was left out, in percent."""
        return round(100 * (1 - self.tokens / self.whole)) if self.whole else 0


def column_width(turns: int) -> float:
    """The width of each column."""
    return max(LEAST_COLUMN, min(MOST_COLUMN, WIDTH // max(turns, 1)))


def chat_over_time(receipts: Sequence[JsonObject]) -> ChatOverTime:
    """The picture from the result of `receipts`, which begins with the newest."""
    turns = list(reversed(receipts))
    sent = [turn["tokens"] if turn["was_sent"] else 0 for turn in turns]
    left_out = [turn["left_out_tokens"] if turn["was_sent"] else 0 for turn in turns]
    wholes = [*map(add, sent, left_out)]
    scale = HEIGHT / max([1, *wholes])
    return ChatOverTime(
        columns=tuple(
            Column(
                receipt=turn,
                x=column_width(len(turns)) * place,
                sent=max(tokens * scale, LEAST) if turn["was_sent"] else 0.0,
                left_out=others * scale,
            )
            for place, (turn, tokens, others) in enumerate(zip(turns, sent, left_out, strict=True))
        ),
        tokens=sum(sent),
        whole=sum(wholes),
    )


MAX_ROWS = 1_000
"""The most messages of a kind on the page; the counts include the others."""

OTHERS = "Other messages"


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicRows:
    """Messages about one topic."""

    name: str  # the topic's label, that of standing instructions, or `OTHERS`
    hue: Colour | None  # the topic's colour; `None` if it is no topic
    count: int  # the number of messages
    tokens: int  # the tokens of all of them
    rows: tuple[JsonObject, ...]  # the messages to show, chronological


class TopicsOfMessages:
    """Finds the topic of a message.

    Args:
        topic_map: The result of `topic_map`; nothing if it is unavailable.
        topics: The chat's topics, with their parents.
    """

    def __init__(self, topic_map: Mapping[str, Any], topics: Sequence[TopicResult]) -> None:
        known = [topic for topic in topics if topic.get("id") and not topic.get("sticky")]
        colours = colours_of((topic["id"], topic.get("parent_id", "")) for topic in known)
        self._hues = {topic["label"]: colours[topic["id"]] for topic in known}
        nested = {str(t["id"]) for t in topics if t.get("parent_id")}
        sticky = {str(t["id"]) for t in topics if t.get("sticky") and t.get("id")}
        ids = topic_map.get("message_ids", ())
        self._labels: dict[str, str] = {}
        for topic in topic_map.get("topics", ()):
            if topic["id"] not in nested | sticky:
                for place in topic["places"]:
                    self._labels.setdefault(ids[place], str(topic["label"]))

    def label_of(self, row: Mapping[str, Any]) -> str:
        """The topic that kept a message, or the one that it belongs to; empty if there is none."""
        if row.get("kind") == "sticky":
            return STICKY_LABEL
        if row.get("kind") == "topic" and row.get("topic"):
            return str(row["topic"])
        return self._labels.get(str(row.get("id")), "")

    def hue(self, label: str) -> Colour | None:
        """A topic's colour."""
        if not label or label == STICKY_LABEL:
            return None
        return self._hues.get(label, hue_of(new_topic_id(label)))


def grouped(rows: Sequence[JsonObject], topics: TopicsOfMessages) -> tuple[TopicRows, ...]:
    """The messages by topic: the costliest topic first, messages without a topic last."""
    by_label: dict[str, list[JsonObject]] = defaultdict(list)
    for row in rows:
        by_label[topics.label_of(row)].append(row)
    costs = {label: sum(row["tokens"] for row in found) for label, found in by_label.items()}
    room = MAX_ROWS
    groups: list[TopicRows] = []
    for label in sorted(by_label, key=lambda one: (not one, -costs[one])):
        found = by_label[label]
        group = TopicRows(
            name=label or OTHERS,
            hue=topics.hue(label),
            count=len(found),
            tokens=costs[label],
            rows=tuple(found[:room]),
        )
        room -= len(group.rows)
        groups.append(group)
    return tuple(groups)


SETTING_NAMES = WORDS["turn"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BarPart:
    """One part of the request."""

    part: str  # names it, for its colour
    hue: Colour | None  # the number of a topic's colour, for messages about it
    name: str  # its name for people
    tokens: int  # its tokens
    start: float  # the left edge of its piece of the bar, in percent
    width: float  # the width of the piece, in percent


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatOfTurn:
    """The plugin's results for the chat that a turn belongs to."""

    receipts: Sequence[JsonObject] = ()  # the receipts of all turns, newest first
    topics: Sequence[TopicResult] = ()
    topic_map: Mapping[str, object] = field(default_factory=dict)  # the messages of each topic


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnView:
    """The page of one turn."""

    turn: JsonObject  # the command's result
    parts: tuple[BarPart, ...]
    # the rest of the request: the tools, then all other fields, as JSON, with their tokens
    fields: tuple[tuple[str, str, int], ...]
    settings: tuple[tuple[str, str], ...]  # names and values in words
    kept: tuple[TopicRows, ...]  # messages that were sent, by topic
    left_out: tuple[TopicRows, ...]  # messages that were left out, by topic
    added: tuple[TopicRows, ...]  # messages that the other turn did not send, by topic
    removed: tuple[TopicRows, ...]  # messages that only the other turn sent, by topic
    over_time: ChatOverTime  # all turns of the chat
    topics: tuple[TopicView, ...]  # the bubbles of a replay
    changes: tuple[str, ...]  # the differences from the other turn, in words; may be empty
    difference: JsonObject | None  # the differences as in the command's result
    is_replay: bool  # the turn under other settings
    cut: float  # the score from which messages were sent
    decision: str  # the filter's decision, in a sentence

    @staticmethod
    def why(row: JsonObject, group: TopicRows) -> str:
        """The reason for a message of a group to be in or out, without what all of it share."""
        if row.get("kind") == "no_filter":
            return ""
        _, _, reason = str(row["short"]).partition(" – ")  # noqa: RUF001 - a dash for people
        named, _, rest = reason.partition(f"about {group.name}")
        return reason if named else rest.removeprefix(", which is ")


def turn_view(turn: JsonObject, chat: ChatOfTurn, *, is_replay: bool) -> TurnView:
    """The page from the result of `receipt` or `replay`."""
    rows: Sequence[JsonObject] = turn["messages"]
    difference = turn.get("diff")
    topics = TopicsOfMessages(chat.topic_map, chat.topics)
    kept = grouped([row for row in rows if row["in"]], topics)
    stored, gone = bubbles(chat.topics, turn["settings"]["topics"])
    threshold = float(turn["settings"]["threshold"])
    cut = threshold if turn.get("cut") is None else float(turn["cut"])
    return TurnView(
        turn=turn,
        parts=_parts(turn, kept, topics),
        fields=_fields(turn.get("body") or {}, turn["parts"].get("tools", 0)),
        settings=(
            *(
                (name, _setting_in_words(key, turn["settings"][key]))
                for key, name in SETTING_NAMES.items()
                if turn["settings"].get(key) not in (None, [])
            ),
            ("Threshold", f"{threshold:g}"),
            *(
                [("Sent from a score of", score_in_words(cut))]
                if turn.get("cut") is not None
                else []
            ),
        ),
        kept=kept,
        left_out=grouped([row for row in rows if not row["in"]], topics),
        added=grouped(difference["came_in"], topics) if difference else (),
        removed=grouped(difference["went_out"], topics) if difference else (),
        over_time=chat_over_time(chat.receipts),
        topics=(*stored, *gone),
        changes=_changes(difference) if difference else (),
        difference=difference,
        is_replay=is_replay,
        cut=cut,
        decision=_decision(turn, rows),
    )


_ABOUT_PICKED = frozenset({"topic", "member", "said", "assigned"})
"""The kinds of the reasons for which messages of picked topics are sent."""


def _decision(turn: JsonObject, rows: Sequence[JsonObject]) -> str:
    """The sentence on the filter; empty if it had nothing to decide."""
    picked = " and ".join(turn["settings"]["topics"])
    if turn.get("fell_back"):
        return f"No message is about {picked or 'what was picked'}, so all were sent."
    if any(row.get("kind") == "no_filter" for row in rows):
        is_all = all(row["in"] for row in rows)
        return f"No filter was on{', so everything was sent' if is_all else ''}."
    if not (picked and rows):
        return ""
    if any(row["in"] and row.get("kind") in _ABOUT_PICKED for row in rows):
        return f"Sent: what is about {picked}, and what always goes."
    return f"Nothing about {picked} could be sent, only what always goes."


def replay_settings(asked: QueryParams) -> JsonObject | None:
    """The settings of the form that replays a turn; `None` if it was not sent.

    A field that is not a number is ignored: the turn's own setting applies.
    """
    if asked.get("replay") is None:
        return None
    wanted: JsonObject = {
        "topics": [
            topic for topic in (*asked.getlist("topics"), *asked.getlist("topic")) if topic.strip()
        ],
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


def _fields(body: JsonObject, of_tools: int) -> tuple[tuple[str, str, int], ...]:
    """The tools, and the other fields, which cost no tokens since no model reads them."""
    tools = body.get("tools")
    names = {"tools", *(name for name in ("messages", "input") if isinstance(body.get(name), list))}
    others = {name: value for name, value in body.items() if name not in names}
    shown = (("Tools", tools, of_tools), ("Other fields", others, 0))
    return tuple(
        (name, json.dumps(value, ensure_ascii=False, indent=2), tokens)
        for name, value, tokens in shown
        if value
    )


def _parts(
    turn: JsonObject, kept: Sequence[TopicRows], topics: TopicsOfMessages
) -> tuple[BarPart, ...]:
    total = max(sum(turn["parts"].values()), 1)
    views: list[BarPart] = []
    start = 0.0
    for part, name, hue, count in _pieces(turn, kept, topics):
        width = 100 * count / total
        view = BarPart(part=part, hue=hue, name=name, tokens=count, start=start, width=width)
        views.append(view)
        start += width
    return tuple(views)


def _pieces(
    turn: JsonObject, kept: Sequence[TopicRows], topics: TopicsOfMessages
) -> Iterator[tuple[str, str, Colour | None, int]]:
    """The parts of the request with tokens; messages are split by topic."""
    tokens: Mapping[str, int] = turn["parts"]
    for part, name in turn["part_names"].items():
        split = _by_topic(turn, kept, topics) if part == "history" else []
        rest = tokens.get(part, 0) - sum(count for _, _, count in split)
        # Attachments, summaries and system messages are parts of their own: without `by_topic`,
        # they may be in a group and not here.
        if split and rest >= 0:
            yield from ((part, *each) for each in split)
            others = {group.name for group in kept if group.hue is None}
            if rest:
                yield part, others.pop() if len(others) == 1 else OTHERS, None, rest
        elif tokens.get(part, 0):
            yield part, name, None, tokens[part]


def _by_topic(
    turn: JsonObject, kept: Sequence[TopicRows], topics: TopicsOfMessages
) -> list[tuple[str, Colour | None, int]]:
    """The topics of the messages that were sent, each with its colour and tokens."""
    known: Mapping[str, int] = turn.get("by_topic") or {}
    if not known:
        return [(group.name, group.hue, group.tokens) for group in kept if group.hue is not None]
    largest = sorted(known.items(), key=lambda entry: -entry[1])
    return [(label, topics.hue(label), count) for label, count in largest]


def _changes(difference: JsonObject) -> tuple[str, ...]:
    changed = {**difference["settings"], **difference["models"]}
    return tuple(
        f"{SETTING_NAMES.get(key, key)}: "
        f"{_setting_in_words(key, before)} → {_setting_in_words(key, after)}"
        for key, (before, after) in changed.items()
    )


_NO_MODEL = "embedded/passages"
"""The name of a turn's chat model while none was connected."""


def _setting_in_words(key: str, value: object) -> str:
    if key in {"pinned", "hidden"} and isinstance(value, list) and value:
        return counted(len(value), "message")
    if key == "threshold":
        return next((words for words, known in STRICTNESS.items() if known == value), str(value))
    if key == "relevance":
        return str(WORDS["choices"].get(str(value), value))
    if key == "chat" and value == _NO_MODEL:
        value = None
    if key == "recalls" and isinstance(value, list):
        value = [recall["label"] for recall in value]
    return _in_words(value)


def _in_words(value: object) -> str:
    if isinstance(value, bool):
        return "Yes" if value else "No"
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "None"
    return "None" if value is None else str(value)

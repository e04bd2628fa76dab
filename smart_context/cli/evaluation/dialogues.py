"""Dialogues with known answers, the input of the measures, and the files that hold them.

| kind | one JSON document | gives |
|---|---|---|
| `questions` | list of `{"conversation": {"session_1": [turn…], …}, "qa": […]}` | evidence |
| `segments` | list of `{"utterances": [text…], "segments": [length…]}` | same topic |
| `typed` | list of `{"typed": name, "utterances": [text…]}` | a typed name |
| `groups` | list of `{"utterances": [text…], "groups": [[position…]…]}` | found topics |
| `facts` | list of `{"ptkb": {number: text}, "turns": [{"utterance", …}…]}` | standing facts |
| `follow-ups` | list of `{"turn": [{"number", "raw_utterance", …}…]}` | what turns refer to |
| `chat` | `{"messages": […]}` | held-out messages |

A turn of `questions` is `{"speaker", "dia_id", "text"}`, and an entry of its `qa` is `{"question",
"evidence": [dia_id…]}`. In `facts`, `ptkb_provenance` lists the facts that a turn needs. In
`groups`, `subjects` names the groups and `absent` lists subjects of no message: both are typed. In
`follow-ups`, `query_turn_dependence` and `result_turn_dependence` name the turns that a turn refers
to.
"""

import json
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args

from smart_context.base.errors import CommandFailed
from smart_context.base.text.languages import main_language
from smart_context.chat.messages import Message, MessageId, Role, messages_of


@dataclass(frozen=True, slots=True, kw_only=True)
class DialogueQuestion:
    """A question about a dialogue."""

    text: str  # the question, used as a typed topic
    evidence: frozenset[MessageId]  # the messages that answer it; at least one
    is_trap: bool = False  # the dialogue doesn't answer it, or answers it for another person


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """Facts that a user stated before the dialogue."""

    stated: frozenset[MessageId]  # the messages that state a fact
    needed: frozenset[MessageId]  # those that some turn of the dialogue needs


@dataclass(frozen=True, kw_only=True, eq=False)
class Dialogue:
    """One dialogue; unknown fields are empty."""

    name: str
    messages: tuple[Message, ...]  # all messages, oldest first
    questions: tuple[DialogueQuestion, ...] = ()
    absent: tuple[str, ...] = ()  # subjects that the dialogue never mentions
    short: tuple[str, ...] = ()  # short labels that it speaks of
    # the messages of each subject, possibly in several stretches
    groups: tuple[frozenset[MessageId], ...] = ()
    subjects: tuple[str, ...] = ()  # the names of these, in the same order
    # stretches on one subject each, together the whole dialogue
    segments: tuple[frozenset[MessageId], ...] = ()
    facts: Facts | None = None  # personal facts that the user states
    # for each follow-up, the earlier messages that it depends on
    refers_to: Mapping[MessageId, frozenset[MessageId]] = field(default_factory=dict)
    is_own: bool = False  # a chat of the user's, without known answers

    @property
    def language(self) -> str:
        """The ISO 639-1 code of the language of most messages; empty if unknown."""
        return main_language([message.text for message in self.messages])


Part = Literal["all", "fit", "choose", "report"]
PARTS: tuple[Part, ...] = get_args(Part)

T = TypeVar("T")

_SHARES = {"fit": (0.0, 0.6), "choose": (0.6, 0.8), "report": (0.8, 1.0)}
_SEED = 3
_FEW = 10


def part_of(dialogues: Sequence[T], part: Part) -> list[T]:
    """Three fifths to fit to, one to choose by, one to report on; the same in each run.

    Up to ten dialogues are divided in order; more are shuffled first.
    """
    if part == "all":
        return list(dialogues)
    count = len(dialogues)
    order = list(range(count))
    if count > _FEW:
        order = random.Random(_SEED).sample(order, count)  # noqa: S311 -- repeatable
    begin, end = (int(share * count) for share in _SHARES[part])
    return [dialogues[place] for place in sorted(order[begin:end])]


DialogueKind = Literal["questions", "typed", "groups", "segments", "facts", "follow-ups", "chat"]
KINDS: tuple[DialogueKind, ...] = get_args(DialogueKind)

Entry = Mapping[str, Any]

_SESSION = re.compile(r"session_(\d+)")
_TRAP = 5
_EVIDENCE = re.compile(r"[^\s;,]+")


def read_dialogues(
    path: Path, kind: DialogueKind | None = None
) -> tuple[DialogueKind, list[Dialogue]]:
    """Read the dialogues of a file; returns its kind and the dialogues.

    Args:
        kind: Its kind; `None` detects it by the keys of the first entry.

    Raises:
        CommandFailed: If the file is not of a known kind; the message names the entry.
        OSError: If it can't be read.
    """
    try:
        document = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise CommandFailed(f"{path}: expected JSON, found something else: {error}.") from error
    entries = document if isinstance(document, list) else [document]
    found = kind or _kind_of(entries)
    if found is None:
        known = ", ".join(KINDS)
        raise CommandFailed(
            f"{path}: expected a dialogue file of one of these kinds: {known}. The keys of its "
            "first entry fit none of them. See: smart-context eval --help"
        )
    return found, list(_read(path, entries, found))


def _read(path: Path, entries: Sequence[Any], kind: DialogueKind) -> Iterator[Dialogue]:
    for number, entry in enumerate(entries, start=1):
        try:
            yield _READERS[kind](entry, f"{path.stem} {number}")
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            cause = f"the key {error} is missing" if isinstance(error, KeyError) else str(error)
            raise CommandFailed(
                f"{path}: entry {number} is not of the kind {kind}: {cause}."
            ) from error


def _kind_of(entries: Sequence[Any]) -> DialogueKind | None:
    first = entries[0] if entries and isinstance(entries[0], Mapping) else {}
    keys: dict[DialogueKind, set[str]] = {
        "questions": {"conversation", "qa"},
        "typed": {"typed", "utterances"},
        "groups": {"utterances", "groups"},
        "segments": {"utterances", "segments"},
        "facts": {"ptkb", "turns"},
        "follow-ups": {"turn"},
        "chat": {"messages"},
    }
    return next((kind for kind, wanted in keys.items() if wanted <= first.keys()), None)


def _questions(entry: Entry, name: str) -> Dialogue:
    conversation = entry["conversation"]
    sessions = sorted(
        (int(named[1]), turns, _moment(conversation.get(f"{key}_date_time")))
        for key, turns in conversation.items()
        if (named := _SESSION.fullmatch(key)) and isinstance(turns, list)
    )
    turns = [(turn, moment) for _, session, moment in sessions for turn in session]
    first = turns[0][0]["speaker"] if turns else ""
    messages = tuple(
        _said(
            turn["dia_id"],
            turn["text"],
            "user" if turn["speaker"] == first else "assistant",
            speaker=turn["speaker"],
            moment=moment,
        )
        for turn, moment in turns
    )
    present = {message.id for message in messages}
    asked = (
        DialogueQuestion(
            text=question["question"],
            evidence=found,
            is_trap=question.get("category") == _TRAP,
        )
        for question in entry["qa"]
        if (found := _evidence(question.get("evidence") or ()) & present)
    )
    return Dialogue(
        name=str(entry.get("sample_id", name)), messages=messages, questions=tuple(asked)
    )


def _moment(written: object) -> str:
    """`1:56 pm on 8 May, 2023` as ISO 8601; empty for anything else."""
    try:
        moment = datetime.strptime(str(written), "%I:%M %p on %d %B, %Y")  # noqa: DTZ007 -- UTC below
    except ValueError:
        return ""
    return moment.replace(tzinfo=UTC).isoformat()


def _evidence(names: Sequence[str]) -> frozenset[MessageId]:
    """The ids in these strings; one string may hold several."""
    return frozenset(MessageId(each) for name in names for each in _EVIDENCE.findall(name))


def _typed(entry: Entry, name: str) -> Dialogue:
    messages = _in_turn(entry["utterances"])
    if not messages:
        raise ValueError("expected utterances, found none")
    asked = DialogueQuestion(
        text=entry["typed"], evidence=frozenset(message.id for message in messages)
    )
    return Dialogue(name=name, messages=messages, questions=(asked,))


def _groups(entry: Entry, name: str) -> Dialogue:
    messages = _in_turn(entry["utterances"])
    count = len(messages)
    wrong = [place for places in entry["groups"] for place in places if place not in range(count)]
    if wrong:
        raise ValueError(f"expected groups of positions below {count}, found {wrong[0]}")
    groups = [frozenset(messages[place].id for place in places) for places in entry["groups"]]
    typed = zip(entry.get("subjects") or (), groups, strict=False) if "absent" in entry else ()
    return Dialogue(
        name=name,
        messages=messages,
        questions=tuple(
            DialogueQuestion(text=label, evidence=group) for label, group in typed if group
        ),
        absent=tuple(entry.get("absent") or ()),
        groups=tuple(groups),
        subjects=tuple(entry.get("subjects") or ()),
    )


def _in_turn(utterances: Sequence[str]) -> tuple[Message, ...]:
    return tuple(
        _said(f"u{place}", text, "assistant" if place % 2 else "user")
        for place, text in enumerate(utterances)
    )


def _segments(entry: Entry, name: str) -> Dialogue:
    utterances, lengths = entry["utterances"], entry["segments"]
    if sum(lengths) != len(utterances):
        raise ValueError(f"expected segments of {len(utterances)} utterances, found {sum(lengths)}")
    messages = _in_turn(utterances)
    segments: list[frozenset[MessageId]] = []
    begin = 0
    for length in lengths:
        segments.append(frozenset(m.id for m in messages[begin : begin + length]))
        begin += length
    return Dialogue(name=name, messages=messages, segments=tuple(segments))


def _facts(entry: Entry, name: str) -> Dialogue:
    stated = [_said(f"fact-{key}", text, "user") for key, text in entry["ptkb"].items()]
    needed = {
        f"fact-{number}" for turn in entry["turns"] for number in turn.get("ptkb_provenance") or ()
    }
    talk: list[Message] = []
    for place, turn in enumerate(entry["turns"]):
        talk.append(_said(f"turn-{place}", turn["utterance"], "user"))
        if turn.get("response"):
            talk.append(_said(f"answer-{place}", turn["response"], "assistant"))
    ids = frozenset(message.id for message in stated)
    return Dialogue(
        name=str(entry.get("title", name)),
        messages=(*stated, *talk),
        facts=Facts(stated=ids, needed=frozenset(i for i in ids if i in needed)),
    )


def _follow_ups(entry: Entry, name: str) -> Dialogue:
    messages: list[Message] = []
    refers_to: dict[MessageId, frozenset[MessageId]] = {}
    for turn in entry["turn"]:
        asked = _said(f"turn-{turn['number']}", turn["raw_utterance"], "user")
        messages.append(asked)
        if answer := turn.get("response") or turn.get("passage"):
            messages.append(_said(f"answer-{turn['number']}", answer, "assistant"))
        numbers = {*_numbers(turn.get("query_turn_dependence"))}
        numbers |= {*_numbers(turn.get("result_turn_dependence"))}
        if numbers:
            refers_to[asked.id] = frozenset(MessageId(f"turn-{number}") for number in numbers)
    return Dialogue(
        name=str(entry.get("title", name)), messages=tuple(messages), refers_to=refers_to
    )


def _numbers(value: object) -> list[int]:
    return [n for n in (value if isinstance(value, list) else [value]) if isinstance(n, int)]


def _chat(entry: Entry, name: str) -> Dialogue:
    messages = tuple(message for message in messages_of(entry) if message.is_complete)
    return Dialogue(name=name, messages=messages, is_own=True)


def _said(
    message_id: str, text: str, role: Role, *, speaker: str = "", moment: str = ""
) -> Message:
    if not isinstance(text, str):
        raise TypeError(f"{message_id}: expected a text, found {type(text).__name__}")
    extra = {"name": speaker} if speaker else {}
    return Message(
        id=MessageId(message_id), role=role, content=text, created_at=moment, extra=extra
    )


_READERS: dict[DialogueKind, Callable[[Entry, str], Dialogue]] = {
    "questions": _questions,
    "typed": _typed,
    "groups": _groups,
    "segments": _segments,
    "facts": _facts,
    "follow-ups": _follow_ups,
    "chat": _chat,
}

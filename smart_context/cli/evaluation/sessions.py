"""What sessions would cost under each way to apply selections, by the rules of prompt caches.

A session is a chat made of dialogues whose subjects are known, and 10 to 30 turns in which a
made-up user picks subjects. Nothing is asked and nothing embedded: a selection keeps what is known
to be about its subjects, and the newest messages.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import compress

from smart_context.cli.evaluation.dialogues import Dialogue
from smart_context.llm.tokens import count_tokens
from smart_context.plugin.selection.last_request import (
    LastRequest,
    Next,
    Paid,
    is_cheaper_to_wait,
    paid_after,
)

CACHED = 0.1
"""The price of a cached token, as a share of the full one."""

TTL_S = 300.0
_LEAST, _STEP = 1_024, 128
"""A provider keeps the beginning of a request from so many tokens on, in such steps."""

_RECENT = 2
_MODEL = "gpt-4o"
_NOBODY = (frozenset[str](), frozenset[str]())

Subject = tuple[int, int]
"""A dialogue of a session, and a subject in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One turn of a session."""

    after_s: float  # seconds since the turn before
    picked: frozenset[Subject]  # the subjects that are picked; empty for all
    about: Subject  # the subject of question and answer
    tokens: tuple[int, int]  # of the question, and of the answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A chat, and the turns that follow."""

    messages: tuple[tuple[int, Subject], ...]  # each as its tokens and its subject
    turns: tuple[Asked, ...]  # the turns, in order


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionCost:
    """What a session costs, in tokens at the full price."""

    now: float  # if each selection is applied at once
    everything: float  # if all messages are sent each time
    when_it_pays: float  # if selections wait until they pay

    @property
    def ratio(self) -> float:
        """What waiting costs, as a multiple of the better of the two others."""
        return self.when_it_pays / min(self.now, self.everything)


@dataclass(slots=True)
class _Provider:
    """Reads requests, and keeps their beginnings for a while."""

    tokens: dict[str, int]
    paid: float = 0.0
    _read: list[tuple[Sequence[str], float]] = field(default_factory=list)

    def read(self, ids: Sequence[str], now: float) -> None:
        self._read = [(before, at) for before, at in self._read if now - at < TTL_S]
        known = max((self._shared(before, ids) for before, _ in self._read), default=0)
        cached = known - (known - _LEAST) % _STEP if known >= _LEAST else 0
        self.paid += sum(self.tokens[each] for each in ids) - (1 - CACHED) * cached
        self._read.append((ids, now))

    def _shared(self, before: Sequence[str], ids: Sequence[str]) -> int:
        same = 0
        for old, new in zip(before, ids, strict=False):
            if old != new:
                break
            same += self.tokens[new]
        return same


def cost_of_session(session: Session) -> SessionCost:
    """What a session costs under each policy."""
    tokens = {str(n): count for n, (count, _) in enumerate(session.messages)}
    subjects = [subject for _, subject in session.messages]
    providers = [_Provider(tokens) for _ in range(3)]
    last: LastRequest | None = None
    now = 0.0
    for turn in session.turns:
        now += turn.after_s
        ids = tuple(tokens)
        picked = [not turn.picked or subject in turn.picked for subject in subjects]
        picked[-_RECENT:] = [True] * len(picked[-_RECENT:])
        filtered, everything = (
            Next(head=(), ids=chosen, tokens=[tokens[each] for each in chosen])
            for chosen in (tuple(compress(ids, picked)), ids)
        )
        cached = last if last and last.is_cached(now=now, ttl_s=TTL_S, model=_MODEL) else None
        waits = cached is not None and is_cheaper_to_wait(filtered, everything, cached, CACHED)
        sent = everything if waits else filtered
        question, answer = str(len(tokens)), str(len(tokens) + 1)
        tokens[question], tokens[answer] = turn.tokens
        subjects += [turn.about, turn.about]
        paid = paid_after(
            last.paid if last else Paid(), cached, (sent, filtered, everything), CACHED
        )
        last = LastRequest(
            asked_at=now,
            model=_MODEL,
            head=(),
            sent=(*sent.ids, question),
            filtered=(*filtered.ids, question),
            everything=(*everything.ids, question),
            after=(question,),
            tokens=tokens,
            marked=_NOBODY,
            paid=paid,
        )
        for provider, ids_read in zip(
            providers, (last.filtered, last.everything, last.sent), strict=True
        ):
            provider.read(ids_read, now)
    at_once, whole, waited = (provider.paid for provider in providers)
    return SessionCost(now=at_once, everything=whole, when_it_pays=waited)


def sessions_of(dialogues: Sequence[Dialogue]) -> Iterator[Session]:
    """Sessions of dialogues whose subjects are known; the same each time.

    Several dialogues in a row make a chat. Users pick one subject and stay with it, pick another
    now and then, change at each turn, add one more each time, or pick many.
    """
    chance = random.Random(0)  # noqa: S311 -- repeatable
    known = [each for each in dialogues if each.groups or each.segments]
    chance.shuffle(known)
    while known:
        part = [known.pop() for _ in range(min(len(known), chance.randint(4, 30)))]
        length = chance.choice((1, 4, 12))  # of answers: as in the dialogue, or as of models
        messages = tuple(
            (
                count_tokens(message.text, _MODEL) * (1 if message.role == "user" else length),
                subject,
            )
            for number, dialogue in enumerate(part)
            for message, subject in zip(dialogue.messages, _subjects(dialogue, number), strict=True)
        )
        for habit in _HABITS:
            yield Session(messages=messages, turns=tuple(_turns(chance, messages, habit)))


_HABITS = ("stays", "changes at times", "changes often", "adds", "picks many")


def _subjects(dialogue: Dialogue, number: int) -> list[Subject]:
    groups = dialogue.groups or dialogue.segments
    of = {each: (number, place) for place, group in enumerate(groups) for each in group}
    return [of.get(message.id, (number, -1)) for message in dialogue.messages]


def _turns(
    chance: random.Random, messages: Sequence[tuple[int, Subject]], habit: str
) -> Iterator[Asked]:
    subjects = list(dict.fromkeys(subject for _, subject in messages))
    picked: frozenset[Subject] = frozenset()
    count = chance.randint(10, 30)
    for turn in range(count):
        picked = _picked(chance, subjects, picked, habit, is_first=turn == count // 4)
        yield Asked(
            after_s=chance.lognormvariate(4.2, 1.0),
            picked=picked,
            about=chance.choice(sorted(picked) or subjects),
            tokens=(chance.randint(10, 60), chance.choice((80, 300, 600))),
        )


def _picked(
    chance: random.Random,
    subjects: Sequence[Subject],
    before: frozenset[Subject],
    habit: str,
    *,
    is_first: bool,
) -> frozenset[Subject]:
    rate = {"stays": 0.0, "changes at times": 0.2, "changes often": 0.5, "adds": 0.3}.get(
        habit, 0.15
    )
    if not (is_first and habit == "stays") and chance.random() >= rate:
        return before
    if habit == "picks many":
        return frozenset(chance.sample(subjects, max(1, len(subjects) // 2)))
    one = frozenset({chance.choice(subjects)})
    return before | one if habit == "adds" else one


def costs_of(dialogues: Sequence[Dialogue]) -> dict[str, float]:
    """The costs of all sessions that dialogues make, for programs and people."""
    found = [cost_of_session(session) for session in sessions_of(dialogues)]
    sums = {
        name: round(sum(getattr(each, name) for each in found))
        for name in ("now", "everything", "when_it_pays")
    }
    better = min(sums["now"], sums["everything"])
    return {
        "sessions": len(found),
        **sums,
        "against_better": round(sums["when_it_pays"] / better, 4) if better else 1.0,
        "worst": round(max((each.ratio for each in found), default=1.0), 3),
    }

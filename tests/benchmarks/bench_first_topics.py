"""Topics of a chat that begins, turn by turn, beside the same chat grouped afresh each time.

`python -m tests.benchmarks.bench_first_topics FILE... --half tune|report [--chats 6] [--vectors F]`

FILE has dialogues with a name (`{"typed", "utterances"}`), with named groups (`{"utterances",
"groups", "subjects"}`), with groups alone, or in segments (`{"utterances", "segments"}`). Half of
the dialogues are for tuning, the others are held back. Their stretches of one subject are cut to
one to four questions and joined into chats of four to eight subjects: every second chat in a row,
the others with each subject returning once; with whole answers, with their first twelve words, and
without any, in turn.

After each question with its answer, for each file: the adjusted Rand index against the known
subjects of what a chat shows that has grown (*shown*), of the same messages found again (*afresh*),
of "every question its own topic" and of "all one topic"; how far *shown* is below *afresh* in the
mean and at the worst. Of the first thirty messages, and of the rest. Then messages that left a
topic that was picked at the third question; bubbles called by no name; topics that hold two
subjects when there are four messages; and, with `--labels`, the share of labels that name the
subject of most of their messages (the nearest by embedding among those of the chat).
"""

import argparse
import asyncio
import json
import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smart_context.chat.messages import Message, MessageId
from smart_context.cli.evaluation.measures import adjusted_rand, narrowest
from smart_context.cli.evaluation.runs import RememberingEmbedder
from smart_context.llm.offline.every_language import EveryLanguageEmbedder
from smart_context.topics.embedded import EmbeddedTopicExtractor
from smart_context.topics.identity import with_ids
from smart_context.topics.naming.naming import NAMELESS
from smart_context.topics.values import Previous, Topic

FEWEST, MOST, LONGEST = 4, 8, 4
FIRST = 30
PICKED_AT = 3
SHORT_ANSWER = 12
ANSWERS = ("whole", "short", "none")
_GENERAL = frozenset(("General", "Général", "通用", "일반", "सामान्य"))
_SERVICES = {
    "train": ("train",),
    "hotel": ("hotel", "guesthouse", "lodging", "place to stay", "hostel"),
    "restaurant": ("restaurant", "food", "eat", "dining"),
    "taxi": ("taxi", "cab"),
    "attraction": ("museum", "attraction", "college", "park", "theatre", "places to go", "visit"),
    "hospital": ("hospital",),
    "police": ("police", "robbed", "accident"),
    "weather": ("weather", "rain", "snow", "temperature", "humid", "wind", "cloud"),
    "calendar": ("meeting", "appointment", "remind", "schedule", "dinner on", "yoga", "calendar"),
    "way": ("navigate", "directions", "address", "nearest", "gas", "parking", "route", "drive"),
}


@dataclass(frozen=True)
class Stretch:
    """Some questions about one subject, with their answers."""

    subject: str
    texts: tuple[str, ...]  # question, answer, question, …


@dataclass(frozen=True)
class Chat:
    """The messages of a chat and, for each, the number of its subject."""

    messages: tuple[Message, ...]
    groups: tuple[int, ...]
    subjects: tuple[str, ...]


def stretches_in(path: Path, half: str) -> list[Stretch]:
    """The stretches of one half of a file's dialogues."""
    dialogues = json.loads(path.read_text(encoding="utf-8"))
    mine = dialogues[0 if half == "tune" else 1 :: 2]
    return [each for dialogue in mine for each in _stretches(dialogue) if len(each.texts) > 1]


def _stretches(dialogue: Mapping[str, Any]) -> Iterator[Stretch]:
    said = dialogue["utterances"]
    if "typed" in dialogue:
        yield Stretch(dialogue["typed"], tuple(said))
    elif "segments" in dialogue:
        ends = np.cumsum(dialogue["segments"]).tolist()
        for begin, end in zip([0, *ends], ends, strict=False):
            first = said[begin].lower()
            known = (name for name, words in _SERVICES.items() if any(w in first for w in words))
            if (name := next(known, "")) and begin % 2 == 0:
                yield Stretch(name, tuple(said[begin:end]))
    else:
        groups = dialogue["groups"]
        names = dialogue.get("subjects") or [str(number) for number in range(len(groups))]
        for name, places in zip(names, groups, strict=True):
            texts = [said[place] for place in places]
            if name not in _GENERAL and places and dialogue["roles"][places[0]] == "u":
                yield Stretch(name, tuple(texts))


def chats_of(stretches: Sequence[Stretch], count: int, seed: int) -> list[Chat]:
    """Chats of unlike subjects, by turns in a row and returning, with each kind of answers."""
    pick = random.Random(seed)
    by_subject: dict[str, list[Stretch]] = defaultdict(list)
    for stretch in stretches:
        by_subject[stretch.subject].append(stretch)
    chats = []
    for number in range(count):
        most = min(MOST, len(by_subject))
        names = pick.sample(sorted(by_subject), pick.randint(min(FEWEST, most), most))
        parts: list[list[tuple[int, str, str]]] = []
        for place, name in enumerate(names):
            texts = pick.choice(by_subject[name]).texts
            pairs = [(place, *texts[n : n + 2]) for n in range(0, len(texts) - 1, 2)]
            parts.append(pairs[: pick.randint(1, LONGEST)])
        if number % 2:
            cuts = [pick.randint(1, len(part)) for part in parts]
            ordered = [part[:cut] for part, cut in zip(parts, cuts, strict=True)]
            later = [part[cut:] for part, cut in zip(parts, cuts, strict=True)]
            pick.shuffle(later)
            parts = [*ordered, *later]
        asked = [pair for part in parts for pair in part]
        chats.append(_chat(asked, names, ANSWERS[number // 2 % len(ANSWERS)]))
    return chats


def _chat(asked: Sequence[tuple[int, str, str]], names: Sequence[str], answers: str) -> Chat:
    messages: list[Message] = []
    groups: list[int] = []
    for n, (subject, question, answer) in enumerate(asked):
        short = " ".join(answer.split()[:SHORT_ANSWER])[: SHORT_ANSWER * 8]
        said = short if answers == "short" else answer
        messages.append(Message(id=MessageId(f"q{n}"), role="user", content=question))
        reply = Message(id=MessageId(f"a{n}"), role="assistant", content=said)
        if answers == "none":  # passages of notes, which are no part of any topic
            reply = Message.from_dict({**reply.to_dict(), "extracted": True})
        messages.append(reply)
        groups += [subject, subject]
    return Chat(tuple(messages), tuple(groups), tuple(names))


def rand(chat: Chat, topics: Sequence[Topic], end: int) -> float:
    """The adjusted Rand index over the questions; one without a topic stands alone."""
    owner = {i: n for n, t in enumerate(narrowest(topics)) for i in t.message_ids}
    asked = [n for n in range(end) if chat.messages[n].role == "user"]
    found = [owner.get(chat.messages[n].id, -1 - n) for n in asked]
    return adjusted_rand(np.array(found), _wanted(chat, asked))


def _wanted(chat: Chat, asked: Sequence[int]) -> NDArray[np.intp]:
    return np.array([chat.groups[n] for n in asked], dtype=np.intp)


@dataclass
class Figures:
    """What was measured, by name."""

    values: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))

    def add(self, name: str, value: float) -> None:
        """Note one more value."""
        self.values[name].append(value)

    def show(self, title: str) -> None:
        """Print the means, and the largest of what is called worst."""
        print(title)
        for name, values in self.values.items():
            shown = max(values) if "worst" in name else np.mean(values)
            print(f"  {name}: {shown:.3f} ({len(values)})", flush=True)


async def replayed(
    chat: Chat, extractor: EmbeddedTopicExtractor, figures: Figures, *, picks: bool
) -> list[tuple[Topic, ...]]:
    """The topics after each answer; `picks` picks the largest after the third question."""
    previous, steps = Previous(), []
    held: set[MessageId] = set()
    for end in range(2, len(chat.messages) + 1, 2):
        now = chat.messages[:end]
        found = await extractor.extract(now, previous=previous)
        topics = with_ids(found.topics, previous.topics)
        steps.append(topics)
        if held:
            of_picked = [t for t in topics if t.label in previous.fixed_labels]
            left = held - {i for t in of_picked for i in t.message_ids}
            figures.add("messages that left a picked topic", len(left))
        fixed = previous.fixed_labels
        if picks and end == 2 * PICKED_AT and topics:
            fixed = frozenset((topics[0].label,))
        held = {i for t in topics if t.label in fixed for i in t.message_ids}
        previous = Previous(topics=topics, seen=now[-1].id, fixed_labels=fixed)
    return steps


async def measure_chat(
    chat: Chat, extractor: EmbeddedTopicExtractor, figures: Figures, *, labels: bool
) -> None:
    """Add the figures of one chat."""
    steps = await replayed(chat, extractor, figures, picks=False)
    worst = 0.0
    for turn, topics in enumerate(steps, 1):
        end = 2 * turn
        found = await extractor.extract(chat.messages[:end], regroup=True)
        shown, afresh = rand(chat, topics, end), rand(chat, found.topics, end)
        part = "first" if end <= FIRST else "later"
        asked = list(range(0, end, 2))
        wanted = _wanted(chat, asked)
        own, one = (adjusted_rand(np.array(each), wanted) for each in (asked, [0] * turn))
        for name, value in (("shown", shown), ("afresh", afresh), ("own", own), ("one", one)):
            figures.add(f"{part}: {name}", value)
        figures.add(f"{part}: below afresh", afresh - shown)
        figures.add(f"{part}: worst below afresh", afresh - shown)
        worst = max(worst, afresh - shown)
        figures.add("nameless", sum(t.label.startswith(NAMELESS) for t in topics))
        if turn == 2 and len(set(wanted.tolist())) == 2:
            mixed = (len({chat.groups[int(i[1:]) * 2] for i in t.message_ids}) > 1 for t in topics)
            figures.add("two subjects in one bubble", any(mixed))
        if labels:
            await _judge_labels(chat, topics, extractor, figures, part)
    figures.add("worst of each chat, mean", worst)
    await replayed(chat, extractor, figures, picks=True)


async def _judge_labels(
    chat: Chat,
    topics: Sequence[Topic],
    extractor: EmbeddedTopicExtractor,
    figures: Figures,
    part: str,
) -> None:
    for topic in narrowest(topics):
        groups = Counter(chat.groups[int(i[1:]) * 2] for i in topic.message_ids)
        rows = await extractor.embedder.embed([topic.label, *chat.subjects])
        nearest = int(np.argmax(rows[1:] @ rows[0]))
        figures.add(f"{part}: labels right", nearest == groups.most_common(1)[0][0])


async def measure(arguments: argparse.Namespace) -> None:
    """Print the figures of each file and of all."""
    embedder = RememberingEmbedder(EveryLanguageEmbedder(), arguments.vectors)
    extractor = EmbeddedTopicExtractor(embedder)
    every = Figures()
    for path in arguments.files:
        figures = Figures()
        chats = chats_of(stretches_in(path, arguments.half), arguments.chats, arguments.seed)
        for chat in chats:
            await measure_chat(chat, extractor, figures, labels=arguments.labels)
            embedder.keep()
        figures.show(path.stem)
        for name, values in figures.values.items():
            every.values[name] += values
    every.show(f"all, {arguments.half}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--half", choices=("tune", "report"), default="tune")
    parser.add_argument("--chats", type=int, default=6)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--labels", action="store_true", help="judge the labels, too")
    parser.add_argument("--vectors", type=Path, help="folder to keep vectors in")
    asyncio.run(measure(parser.parse_args()))

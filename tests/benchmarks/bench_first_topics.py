"""Topics of a chat that begins, turn by turn, beside the same chat grouped afresh each time.

`python -m tests.benchmarks.bench_first_topics FILE... --half tune|report [--chats 6] [--vectors F]`

FILE has dialogues with a name (`{"typed", "utterances"}` or `{"title", "turns"}`), with named
groups (`{"utterances", "groups", "subjects"}`), with groups alone, or in segments (`{"utterances",
"segments"}`). Half of the dialogues are for tuning, the others are held back. Their stretches of
one subject are cut to one to four questions and joined into chats of four to eight subjects: every
second chat in a row, the others with each subject returning once; with whole answers, with their
first twelve words, without any, and with four words, in turn. `--long` makes chats of 60 to 120
messages, where all subjects return until then.

After each question with its answer, for each file: the adjusted Rand index against the known
subjects of what a chat shows that has grown (*shown*), of the same messages found again (*afresh*),
of "every question its own topic" and of "all one topic"; how far *shown* is below *afresh* in the
mean and at the worst. Of the first thirty messages, and of the rest. Then messages that left a
topic that was picked at the third question; bubbles called by no name; topics that hold two
subjects when there are four messages; how much changes at a turn; and, with `--labels`, the share
of labels that name the subject of most of their messages (the nearest by embedding among those of
the chat).
"""

import argparse
import asyncio
import json
import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smart_context.base.text.words import UNSPACED_RUN
from smart_context.chat.messages import Message, MessageId
from smart_context.cli.evaluation.measures import adjusted_rand, growth_of, narrowest
from smart_context.cli.evaluation.runs import RememberingEmbedder
from smart_context.llm.offline.every_language import EveryLanguageEmbedder
from smart_context.topics.embedded import EmbeddedTopicExtractor
from smart_context.topics.identity import with_ids
from smart_context.topics.naming.naming import NAMELESS
from smart_context.topics.values import Previous, Topic

FEWEST, MOST, LONGEST = 4, 8, 4
FIRST = 30
LONG = (60, 120)
PICKED_AT = 3
ANSWERS = ("whole", "short", "none", "brief")
CUT = {"short": 12, "brief": 4}
"""The words that are left of an answer; in scripts without spaces twice as many characters."""
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
    "酒店": ("酒店", "宾馆", "住"),
    "餐馆": ("餐馆", "吃", "菜", "餐厅"),
    "景点": ("景点", "玩", "游"),
    "出租": ("打车", "打个车", "出租", "叫车", "叫下车", "约车", "车型"),
    "地铁": ("地铁",),
}


Pair = tuple[int, str, str]
"""The number of a subject, a question about it, and its answer."""
Asked = list[Pair]


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


def sources_in(path: Path, half: str) -> dict[str, list[Stretch]]:
    """The stretches of one half of a file's dialogues, or of all; for each language, if named."""
    dialogues = json.loads(path.read_text(encoding="utf-8"))
    parts = {"tune": slice(0, None, 2), "report": slice(1, None, 2), "all": slice(None)}
    found: dict[str, list[Stretch]] = defaultdict(list)
    for dialogue in dialogues[parts[half]]:
        name = f"{path.stem} {dialogue.get('language', '')}".strip()
        found[name] += [each for each in _stretches(dialogue) if len(each.texts) > 1]
    return found


def _stretches(dialogue: Mapping[str, Any]) -> Iterator[Stretch]:
    if "turns" in dialogue:
        pairs = ((turn["utterance"], turn["response"]) for turn in dialogue["turns"])
        yield Stretch(dialogue["title"], tuple(text for pair in pairs for text in pair))
        return
    said = dialogue["utterances"]
    if "typed" in dialogue:
        yield Stretch(dialogue["typed"], tuple(said))
    elif "segments" in dialogue:
        ends = np.cumsum(dialogue["segments"]).tolist()
        for begin, end in zip([0, *ends], ends, strict=False):
            if (name := _service(said[begin])) and begin % 2 == 0:
                yield Stretch(name, tuple(said[begin:end]))
    else:
        yield from _grouped(dialogue, said)


def _grouped(dialogue: Mapping[str, Any], said: Sequence[str]) -> Iterator[Stretch]:
    groups = dialogue["groups"]
    names = dialogue.get("subjects") or [_service(said[places[0]]) for places in groups]
    if len(groups) == 1:
        names = [said[0]]
    for name, places in zip(names, groups, strict=True):
        if name and name not in _GENERAL and places[0] % 2 == 0:
            yield Stretch(name, tuple(said[place] for place in places))


def _service(question: str) -> str:
    """The service that a first question asks for; empty if it names none."""
    first = question.lower()
    known = (name for name, words in _SERVICES.items() if any(w in first for w in words))
    return next(known, "")


def chats_of(
    stretches: Sequence[Stretch], count: int, seed: int, *, is_long: bool = False
) -> list[Chat]:
    """Chats of unlike subjects, by turns in a row and returning, with each kind of answers.

    Args:
        is_long: Chats of 60 to 120 messages: all subjects return until then.
    """
    pick = random.Random(seed)
    by_subject: dict[str, list[Stretch]] = defaultdict(list)
    for stretch in stretches:
        by_subject[stretch.subject].append(stretch)
    chats = []
    for number in range(count):
        most = min(MOST, len(by_subject))
        names = pick.sample(sorted(by_subject), pick.randint(min(FEWEST, most), most))
        chosen = [by_subject[name] for name in names]
        asked = (_returning if is_long else _short)(chosen, pick, in_a_row=number % 2 == 0)
        chats.append(_chat(asked, names, ANSWERS[number // 2 % len(ANSWERS)]))
    return chats


def _short(chosen: Sequence[Sequence[Stretch]], pick: random.Random, *, in_a_row: bool) -> Asked:
    parts: list[Asked] = []
    for place, stretches in enumerate(chosen):
        parts.append(_pairs(place, pick.choice(stretches))[: pick.randint(1, LONGEST)])
    if not in_a_row:
        cuts = [pick.randint(1, len(part)) for part in parts]
        ordered = [part[:cut] for part, cut in zip(parts, cuts, strict=True)]
        later = [part[cut:] for part, cut in zip(parts, cuts, strict=True)]
        pick.shuffle(later)
        parts = [*ordered, *later]
    return [pair for part in parts for pair in part]


def _returning(
    chosen: Sequence[Sequence[Stretch]], pick: random.Random, *, in_a_row: bool
) -> Asked:
    """All subjects again and again: in the same order with four questions, or in any."""
    left = [
        [pair for stretch in pick.sample(each, len(each)) for pair in _pairs(place, stretch)]
        for place, each in enumerate(chosen)
    ]
    wanted, asked = pick.randint(*LONG) // 2, list[Pair]()
    while len(asked) < wanted and any(left):
        order = range(len(left)) if in_a_row else pick.sample(range(len(left)), len(left))
        for place in order:
            size = LONGEST if in_a_row else pick.randint(1, LONGEST)
            asked += left[place][:size]
            del left[place][:size]
    return asked[:wanted]


def _pairs(place: int, stretch: Stretch) -> Asked:
    texts = stretch.texts
    return [(place, texts[n], texts[n + 1]) for n in range(0, len(texts) - 1, 2)]


def _chat(asked: Asked, names: Sequence[str], answers: str) -> Chat:
    messages: list[Message] = []
    groups: list[int] = []
    for n, (subject, question, answer) in enumerate(asked):
        said = _cut(answer, CUT[answers]) if answers in CUT else answer
        messages.append(Message(id=MessageId(f"q{n}"), role="user", content=question))
        reply = Message(id=MessageId(f"a{n}"), role="assistant", content=said)
        if answers == "none":  # passages of notes, which are no part of any topic
            reply = Message.from_dict({**reply.to_dict(), "extracted": True})
        messages.append(reply)
        groups += [subject, subject]
    return Chat(tuple(messages), tuple(groups), tuple(names))


def _cut(answer: str, words: int) -> str:
    if UNSPACED_RUN.search(answer):
        return answer[: 2 * words]
    return " ".join(answer.split()[:words])


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
    worst, growth = 0.0, growth_of(steps)
    for before, after in pairwise(steps):
        ids = [{topic.id for topic in narrowest(topics)} for topics in (before, after)]
        figures.add("topics that appear or go away, a turn", len(ids[0] ^ ids[1]))
    for changed in growth.changed:
        figures.add("share of the messages that change topic, a turn", changed)
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
        for source, stretches in sources_in(path, arguments.half).items():
            if arguments.languages and not source.endswith(tuple(arguments.languages)):
                continue
            figures = Figures()
            chats = chats_of(stretches, arguments.chats, arguments.seed, is_long=arguments.long)
            for chat in chats:
                await measure_chat(chat, extractor, figures, labels=arguments.labels)
                embedder.keep()
            figures.show(source)
            for name, values in figures.values.items():
                every.values[name] += values
    every.show(f"all, {arguments.half}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--half", choices=("tune", "report", "all"), default="tune")
    parser.add_argument("--languages", nargs="*", help="of files with several; all if left out")
    parser.add_argument("--long", action="store_true", help="chats of 60 to 120 messages")
    parser.add_argument("--chats", type=int, default=6)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--labels", action="store_true", help="judge the labels, too")
    parser.add_argument("--vectors", type=Path, help="folder to keep vectors in")
    asyncio.run(measure(parser.parse_args()))

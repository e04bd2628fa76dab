"""Is it said rightly, while a question is written, that it is off the pick?

    python -m tests.benchmarks.bench_off_pick DATA [--chats 30] [--seed 5] [--tune | --held-back]

DATA is a folder of dialogues in groups (`utterances`, and `groups` with or without `subjects`, or
`segments`; a dialogue without these is one group).
Chats are three groups of unlike subjects, each a topic, of which one is picked. The last
question of each is held out and typed word by word (character by character, where words have no
spaces between them): that of the picked topic (nothing may be said), that of another one (the line
should name it), and one of a fourth subject (nothing may be said). The values are chosen on the
even dialogues (`--tune` prints the best ones); the odd ones were looked at, too. `--held-back`
measures on dialogues that nobody looked at.

- spoken: the share of questions of other topics for which the line speaks when they are complete.
- lines, right: of all lines that are spoken at the end, about any question, those that name the
  topic of it.
- wrong: the share of the picked topic's own questions, and of absent ones, about which it speaks.
- changes: how often the line appears, changes or goes away in a draft, as the mean; in how many
  drafts more than once.

Beside it `nearest`: the line names the nearest topic whenever that is not the picked one.
"""

import argparse
import asyncio
import json
import random
from dataclasses import dataclass
from itertools import islice, pairwise, product
from pathlib import Path

import numpy as np

from smart_context.base.text.languages import main_language
from smart_context.chat.messages import ChatId, Message, MessageId
from smart_context.relevance import scorer as module
from smart_context.relevance.scorer import RelevanceScorer, clearly_elsewhere
from smart_context.relevance.vectors.cache import EmbeddingCache
from smart_context.storage.memory import MemoryVectors
from tests.benchmarks.bench_topic_names import Remembering

DATA = ("dialseg_dev", "risawoz_en_dev", "risawoz_zh_dev", "risawoz_fr_dev")
HELD_BACK = ("mtb_dev", "tiage_dev", "crosswoz_dev", "risawoz_ko_dev", "risawoz_hi_dev")
TOPICS, FEWEST, SHORTEST = 3, 4, 8


@dataclass(frozen=True)
class Draft:
    """A question while it is written, and what is said of it."""

    kind: str  # `own`, `other` or `absent`
    topic: int  # the topic that it is about; -1 for none
    picked: int
    near: list  # the nearness to each topic after each word


def groups_in(dialogue):
    """The texts of each group that is long enough, by its subject as far as that is known."""
    texts, start, sizes = dialogue["utterances"], 0, dialogue.get("segments", ())
    groups = dialogue.get("groups", ())
    if not (sizes or groups):
        groups = [range(len(texts))]
    subjects = dialogue.get("subjects", [""] * len(groups))
    found = []
    for size in sizes:
        found.append(("", texts[start : start + size]))
        start += size
    for subject, places in zip(subjects, groups, strict=True):
        found.append((subject, [texts[place] for place in places]))
    return [(subject, group) for subject, group in found if len(group) >= FEWEST]


def chats_of(dialogues, count, seed):
    """Groups of unlike subjects, and one that is absent: those of a chat.

    Groups without subjects are unlike the others of their dialogue, or those of other dialogues
    where each has one; of others, groups are drawn by subject.
    """
    drawn, by_subject = random.Random(seed), {}
    for number, dialogue in enumerate(dialogues):
        groups = groups_in(dialogue)
        if "subjects" not in dialogue and len(groups) > TOPICS:
            yield [texts for _, texts in groups[: TOPICS + 1]]
        for subject, texts in groups:
            if subject or len(groups) == 1:
                by_subject.setdefault(subject or number, []).append(texts)
    for _ in range(count if len(by_subject) > TOPICS else 0):
        yield [
            drawn.choice(by_subject[each]) for each in drawn.sample(sorted(by_subject), TOPICS + 1)
        ]


def growing(text):
    """The beginnings of a text, a word longer each time."""
    is_spaced = " " in text
    words = text.split(" ") if is_spaced else list(text)
    joint = " " if is_spaced else ""
    return [joint.join(words[: n + 1]) for n in range(len(words))]


async def drafts_of(scorer, name, dialogues, chats, seed):
    """The drafts of some chats made of these dialogues."""
    for number, (*inside, absent) in enumerate(islice(chats_of(dialogues, chats, seed), chats)):
        messages, topics, asked = [], [], []
        for texts in inside:
            last = len(texts) - 2 if len(texts) % 2 == 0 else len(texts) - 1
            asked.append(texts[last])
            topics.append([*range(len(messages), len(messages) + last)])
            messages += [
                Message(
                    id=MessageId(f"m{len(messages) + n}"),
                    role="user" if n % 2 == 0 else "assistant",
                    content=text,
                )
                for n, text in enumerate(texts[:last])
            ]
        picked = number % TOPICS
        other = (picked + 1 + number % (TOPICS - 1)) % TOPICS
        questions = {
            "own": (picked, asked[picked]),
            "other": (other, asked[other]),
            "absent": (-1, absent[0]),
        }
        for kind, (topic, question) in questions.items():
            chat = ChatId(f"{name}-{number}")
            typed = [
                text for text in growing(question) if len(text) >= SHORTEST or " " not in question
            ]
            language = main_language([message.text for message in messages])
            await scorer.cache.queries(typed, language=language)  # all at once, and kept
            near = [await scorer.nearness(chat, messages, text, topics) for text in typed]
            if near:
                yield Draft(kind, topic, picked, near)


def measured(drafts, said):
    """The figures of a way to decide."""
    ends = [(draft, said(draft.near[-1], [draft.picked])) for draft in drafts]
    spoken = [(draft, topic) for draft, topic in ends if topic is not None]
    others = [topic for draft, topic in ends if draft.kind == "other"]
    changes = []
    for draft in drafts:
        shown = [None, *(said(near, [draft.picked]) for near in draft.near)]
        changes.append(sum(one != other for one, other in pairwise(shown)))
    return {
        "lines": f"{sum(draft.topic == topic for draft, topic in spoken)}/{len(spoken)}",
        "spoken": np.mean([topic is not None for topic in others]),
        "right": np.mean([topic == draft.topic for draft, topic in spoken]) if spoken else 1.0,
        "wrong": np.mean([t is not None for d, t in ends if d.kind != "other"]),
        "changes": np.mean(changes),
        "more": np.mean([count > 1 for count in changes]),
        "n": len(drafts),
    }


def nearest(near, picked):
    """The baseline."""
    best = int(np.argmax(near))
    return None if best in picked else best


def shown(label, figures):
    """One line of the report."""
    numbers = " ".join(
        f"{name} {value:.2f}" if isinstance(value, float) else f"{name} {value}"
        for name, value in figures.items()
    )
    return f"{label:40} {numbers}"


def tuned(drafts):
    """The values under which most is spoken, and nine of ten are right."""
    best = (0.0, ())
    for values in product(
        np.arange(0.2, 0.6, 0.05), np.arange(0.05, 0.5, 0.05), np.arange(0, 0.35, 0.05)
    ):
        module._OFF_NEAR, module._OFF_GAP, module._OFF_SECOND = values
        figures = measured(drafts, clearly_elsewhere)
        if figures["right"] >= 0.95:
            best = max(best, (figures["spoken"], tuple(float(round(v, 2)) for v in values)))
    return best


async def main():
    """Measure, and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("--chats", type=int, default=30)
    parser.add_argument("--seed", type=int, default=5)
    ways = parser.add_mutually_exclusive_group()
    ways.add_argument("--tune", action="store_true")
    ways.add_argument("--held-back", action="store_true")
    options = parser.parse_args()
    parts = {"held back": slice(None)}
    if not options.held_back:
        parts = {"even (chosen on)": slice(0, None, 2), "odd (looked at, too)": slice(1, None, 2)}
    drafts = {label: [] for label in parts}
    for name in HELD_BACK if options.held_back else DATA:
        dialogues = json.loads((options.data / f"{name}.json").read_text(encoding="utf-8"))
        scorer = RelevanceScorer(EmbeddingCache(MemoryVectors(), Remembering()))
        for label, part in parts.items():
            chat = f"{name}-{label.split()[0]}"
            made = drafts_of(scorer, chat, dialogues[part], options.chats, options.seed)
            own = [draft async for draft in made]
            drafts[label] += own
            print(shown(name, measured(own, clearly_elsewhere)), f"({label})", flush=True)
    for label, way in product(parts, (clearly_elsewhere, nearest)):
        print(shown(f"{label}, {way.__name__}", measured(drafts[label], way)))
    if options.tune:  # last, as it changes the values
        print("best on the even dialogues:", tuned(drafts["even (chosen on)"]))


if __name__ == "__main__":
    asyncio.run(main())

"""Topics with and without a language model, side by side, on chats with known subjects.

`python -m tests.benchmarks.bench_topic_names FILE BASE_URL [--model ID] [--chats 10] [--seed 1]`

FILE has dialogues with a typed name each (`[{"typed", "utterances"}…]`), which are joined into
chats of six subjects, or dialogues with named groups (`[{"utterances", "groups", "subjects"}…]`).
For each chat the groups are found without a model, then the model at BASE_URL names and judges
them. Printed are, without and with the model: the adjusted Rand index against the known subjects,
and the share of labels that name their subject (the nearest by embedding among the subjects of all
chats), beside what the model's names would give if they were believed unread; and the model's
tokens and seconds. Each pair of labels is listed for readers, who should not know which is which.
"""

import argparse
import asyncio
import json
import random
import time
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from smart_context.base.config import EndpointSettings
from smart_context.chat.messages import Message
from smart_context.cli.evaluation.measures import adjusted_rand
from smart_context.llm.models import Completion, Matrix, PromptMessage
from smart_context.llm.offline.every_language import EveryLanguageEmbedder
from smart_context.llm.openai.models import OpenAIChatModel
from smart_context.topics.embedded import EmbeddedTopicExtractor
from smart_context.topics.extraction import ExtractionFailed
from smart_context.topics.identity import with_ids
from smart_context.topics.judgement import parsed_judgement
from smart_context.topics.judging import ModelTopicJudge, Pace
from smart_context.topics.prompting.reply import ReplyUnusable
from smart_context.topics.values import Extraction, Previous, Topic
from tests.benchmarks.real_answers import LONGEST_WAIT_S, size_of, tokens_of

SUBJECTS = 6


@dataclass
class Chat:
    """Messages and, for each, the number of its subject."""

    messages: list[Message]
    groups: list[int]
    subjects: list[str]

    @classmethod
    def of(cls, messages: list[Message], subject_of_each: Sequence[str]) -> "Chat":
        """A chat by the subject of each message; `-` for none."""
        subjects = [name for name in dict.fromkeys(subject_of_each) if name != "-"]
        groups = [-1 if name == "-" else subjects.index(name) for name in subject_of_each]
        return cls(messages, groups, subjects)


class Remembering:
    """Embeds each text once."""

    def __init__(self) -> None:
        self._embedder = EveryLanguageEmbedder()
        self._known: dict[str, Matrix] = {}
        self.name = self._embedder.name

    async def embed(self, texts: Sequence[str]) -> Matrix:
        """Shape (len(texts), d)."""
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        self._known |= dict(zip(new, await self._embedder.embed(new), strict=True))
        return np.array([self._known[text] for text in texts], dtype=np.float32)


@dataclass(frozen=True)
class Reply:
    """What a model was asked, and what it answered."""

    asked: Sequence[PromptMessage]
    text: str
    seconds: float


class Recording:
    """A chat model whose replies are kept."""

    def __init__(self, base_url: str, model: str) -> None:
        settings = EndpointSettings(
            base_url=base_url, model=model, timeout_s=LONGEST_WAIT_S, max_retries=0
        )
        self.model = OpenAIChatModel(settings)
        self.replies: list[Reply] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self.model, name)

    async def complete(self, messages: Any, **wishes: Any) -> Completion:
        """The model's reply."""
        begun = time.monotonic()
        reply = await self.model.complete(messages, **wishes)
        self.replies.append(Reply(messages, reply.text, time.monotonic() - begun))
        return reply


def chats_in(path: Path, count: int, seed: int) -> list[Chat]:
    """The chats of a file."""
    dialogues = json.loads(path.read_text(encoding="utf-8"))
    pick = random.Random(seed)
    if "typed" not in dialogues[0]:
        chosen = pick.sample(dialogues, min(count, len(dialogues)))
        return [
            _chat(d["utterances"], _places(d["groups"], len(d["utterances"])), d["subjects"])
            for d in chosen
        ]
    pick.shuffle(dialogues)
    rows = [dialogues[n : n + SUBJECTS] for n in range(0, SUBJECTS * count, SUBJECTS)]
    return [
        _chat(
            [text for d in row for text in d["utterances"]],
            [number for number, d in enumerate(row) for _ in d["utterances"]],
            [d["typed"] for d in row],
        )
        for row in rows
        if len(row) == SUBJECTS
    ]


def _places(groups: list[list[int]], count: int) -> list[int]:
    owner = {place: number for number, group in enumerate(groups) for place in group}
    return [owner.get(place, -1) for place in range(count)]


def _chat(texts: list[str], groups: list[int], subjects: list[str]) -> Chat:
    return Chat(
        messages=[
            Message(id=f"m{n}", role="assistant" if n % 2 else "user", content=text)
            for n, text in enumerate(texts)
        ],
        groups=groups,
        subjects=subjects,
    )


def rand(chat: Chat, topics: Sequence[Topic]) -> float:
    """The adjusted Rand index of the narrowest topics and the subjects."""
    wholes = {topic.parent_id for topic in topics}
    owner = {i: n for n, t in enumerate(topics) if t.id not in wholes for i in t.message_ids}
    found = np.array([owner.get(m.id, -1) for m in chat.messages])
    wanted = np.array(chat.groups)
    return adjusted_rand(found[wanted >= 0], wanted[wanted >= 0])


def subject_of(chat: Chat, topic: Topic) -> int:
    """The subject of most of a topic's messages."""
    groups = Counter(chat.groups[int(i[1:])] for i in topic.message_ids)
    return groups.most_common(1)[0][0]


@dataclass
class Figures:
    """What was measured so far, by way."""

    rands: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    named: dict[str, list[bool]] = field(default_factory=lambda: defaultdict(list))
    failed: int = 0

    def show(self, replies: Sequence[Reply], base_url: str) -> None:
        """Print them."""
        for way, values in self.rands.items():
            print(f"adjusted Rand {way} the model: {np.mean(values):.3f}")
        for way, hits in self.named.items():
            print(f"labels that name their subject, {way}: {np.mean(hits):.3f} of {len(hits)}")
        if replies:
            read = np.mean([size_of(base_url, reply.asked) for reply in replies])
            written = np.mean([tokens_of(base_url, reply.text) for reply in replies])
            seconds = np.mean([reply.seconds for reply in replies])
            print(
                f"{len(replies)} requests: {read:.0f} tokens read, {written:.0f} written, "
                f"{seconds:.1f} s; {self.failed} failed"
            )


async def judged(chat: Chat, model: Recording, embedder: Remembering) -> tuple[Extraction, ...]:
    """The topics without the model and with it; the same, if it gave no usable reply."""
    found = await EmbeddedTopicExtractor(embedder).extract(chat.messages)
    found = Extraction(topics=with_ids(found.topics), sticky_ids=found.sticky_ids)
    judge = ModelTopicJudge(model, embedder, Pace())  # type: ignore[arg-type] # it passes all on
    try:
        return found, await judge.judged(found, chat.messages, previous=Previous())
    except ExtractionFailed as failure:
        print(f"  failed: {failure}")
        return found, found


def unread(replies: Sequence[Reply], groups: int) -> Mapping[int, str]:
    """The names of the last reply, by number; none if it has none."""
    try:
        return parsed_judgement(replies[-1].text, groups=groups).names
    except (ReplyUnusable, IndexError):
        return {}


async def measure(arguments: argparse.Namespace) -> None:
    """Print the figures."""
    embedder, figures = Remembering(), Figures()
    model = Recording(arguments.base_url, arguments.model)
    chats = chats_in(arguments.file, arguments.chats, arguments.seed)
    subjects = list(dict.fromkeys(one for chat in chats for one in chat.subjects))
    rows = await embedder.embed(subjects)
    for chat in chats:
        found, named = await judged(chat, model, embedder)
        figures.failed += named is found
        figures.rands["without"].append(rand(chat, found.topics))
        figures.rands["with"].append(rand(chat, named.topics))
        given = unread(model.replies, len(found.topics))
        after = {topic.id: topic.label for topic in named.topics}
        by_size = sorted(found.topics, key=lambda topic: -len(topic.message_ids))
        for number, topic in enumerate(by_size, 1):
            subject = chat.subjects[subject_of(chat, topic)]
            labels = {
                "without": topic.label,
                "with": after.get(topic.id, topic.label),
                "unread": given.get(number, topic.label),
            }
            near = np.argmax(rows @ (await embedder.embed(list(labels.values()))).T, axis=0)
            for way, nearest in zip(labels, near.tolist(), strict=True):
                figures.named[way].append(subjects[nearest] == subject)
            print("  " + " | ".join([subject, *labels.values()]), flush=True)
        print(f"  title: {named.title}")
    figures.show(model.replies, arguments.base_url)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("file", type=Path)
    parser.add_argument("base_url")
    parser.add_argument("--model", default="qwen2.5-coder-1.5b")
    parser.add_argument("--chats", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    asyncio.run(measure(parser.parse_args()))

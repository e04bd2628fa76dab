"""Measures the atlas on archives made of dialogues whose subjects are known.

Each chat of an archive has one language and one to four subjects: a stretch of a dialogue for
each. Topics are found offline, read and merged by the code that does so in a vault. The subjects
are divided in two halves, an archive for each: limits are fitted on the first.
"""

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from smart_context.base.errors import CommandFailed
from smart_context.base.values import JsonObject
from smart_context.chat.messages import ChatId, Message, MessageId
from smart_context.cli.evaluation.dialogues import Dialogue
from smart_context.cli.evaluation.measures import adjusted_rand
from smart_context.llm.models import Embedder, Matrix
from smart_context.llm.multilingual.files import MULTILINGUAL
from smart_context.plugin.atlas.reading import NOTHING_READ, read_chat, with_kept
from smart_context.plugin.choices.sidecars import ChatSidecar
from smart_context.relevance.vectors.warm import message_key
from smart_context.topics.atlas.merging import linked, merged
from smart_context.topics.atlas.values import Atlas, ChatTopic, Key
from smart_context.topics.clusters.units import at_unit_length
from smart_context.topics.embedded import EmbeddedTopicExtractor
from smart_context.topics.identity import with_ids
from smart_context.topics.naming.labels import label_key
from smart_context.topics.stored import to_stored
from smart_context.topics.values import Extraction, Topic

Groups = NDArray[np.intp]
Said = tuple[Message, ...]

_SEED = 5
_HALVES = ("fit", "report")
_MOST_SUBJECTS = 4
_STRETCH = (4, 12)
_CUTS = np.linspace(0.1, 0.9, 33)
_PART = 0.1
"""A subject counts as split, and a topic as mixed, by parts of at least a tenth."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LabelledTopics:
    """An archive's chat topics with their subjects."""

    topics: Sequence[ChatTopic]  # the chat topics
    labels: Matrix  # shape (n, d): the vectors of their labels
    subjects: Groups  # the subject of most messages of each


async def measured_atlas(
    dialogues: Sequence[Dialogue], embedder: Embedder, *, chats: int = 1_000
) -> JsonObject:
    """The agreement of chat topics with subjects, as grouped by the atlas and by simple methods.

    `found` chat topics are those of the offline extractor, `known` ones the stretches themselves,
    with the labels of the found ones that they share most messages with.

    Args:
        dialogues: The dialogues that make up the archives.
        embedder: Its vectors are those of messages and labels.
        chats: The number of chats of an archive.

    Raises:
        CommandFailed: If the dialogues have fewer than two subjects.
        ModelFailed: If the embedder fails.
        ExtractionFailed: If the embedder fails while topics are searched.
    """
    stretches = _by_subject(dialogues)
    names = sorted(stretches)
    if len(names) < len(_HALVES):
        raise CommandFailed(
            f"These files have {len(names)} subjects; expected at least two. Kinds with subjects: "
            "typed, groups with `subjects`, facts, follow-ups."
        )
    random.Random(_SEED).shuffle(names)  # noqa: S311 -- repeatable
    middle = len(names) // 2
    fit, report = [
        await _archive({name: stretches[name] for name in half}, embedder, chats)
        for half in (names[:middle], names[middle:])
    ]
    reads_all = embedder.name.startswith(MULTILINGUAL)
    return {
        kind: dict(zip(_HALVES, _compared(fit[kind], report[kind], reads_all), strict=True))
        for kind in fit
    }


def _compared(fit: LabelledTopics, report: LabelledTopics, reads_all: bool) -> list[JsonObject]:
    """The figures of both halves; the limits of the simple methods are those of the first."""
    cuts = {
        name: max(_CUTS, key=lambda cut: _rand(fit, method(fit, cut)))
        for name, method in _METHODS.items()
    }
    return [
        {
            **{name: _rand(known, _METHODS[name](known, cut)) for name, cut in cuts.items()},
            **_account(known, merged(known.topics, Atlas(), reads_all=reads_all)),
        }
        for known in (fit, report)
    ]


def _by_subject(dialogues: Iterable[Dialogue]) -> dict[str, list[Said]]:
    """The texts about each subject, one for each dialogue."""
    found: dict[str, list[Said]] = defaultdict(list)
    for dialogue in dialogues:
        if not dialogue.groups:
            name = dialogue.questions[0].text if dialogue.questions else dialogue.name
            found[name].append(dialogue.messages)
        for name, group in zip(dialogue.subjects, dialogue.groups, strict=False):
            found[name].append(tuple(m for m in dialogue.messages if m.id in group))
    return {
        name: said
        for name, texts in found.items()
        if (said := [text for text in texts if len(text) >= _STRETCH[0]])
    }


def _language(messages: Sequence[Message]) -> str:
    return Dialogue(name="", messages=tuple(messages)).language


async def _archive(
    stretches: Mapping[str, Sequence[Said]], embedder: Embedder, count: int
) -> dict[str, LabelledTopics]:
    """An archive of chats about these subjects, with the topics found and those known."""
    chance = random.Random(_SEED)  # noqa: S311 -- repeatable
    spoken: dict[str, dict[str, list[Said]]] = defaultdict(lambda: defaultdict(list))
    for name, texts in stretches.items():
        for text in texts:
            spoken[_language(text)][name].append(text)
    languages = [language for language, subjects in spoken.items() for _ in subjects]
    numbers = {name: number for number, name in enumerate(stretches)}
    rows: dict[str, list[tuple[ChatTopic, int]]] = {"found": [], "known": []}
    for number in range(count):
        pool = spoken[chance.choice(languages)]
        names = chance.sample(sorted(pool), min(len(pool), chance.randint(1, _MOST_SUBJECTS)))
        messages, about = _chat([(numbers[n], chance.choice(pool[n])) for n in names], chance)
        found = with_ids((await EmbeddedTopicExtractor(embedder).extract(messages)).topics)
        for kind, topics in (("found", found), ("known", _known_topics(messages, about, found))):
            for each in await _read(ChatId(f"chat-{number}"), messages, topics, embedder):
                subjects = Counter(about[place] for place in each.places)
                rows[kind].append((each, subjects.most_common(1)[0][0]))
    return {
        kind: LabelledTopics(
            topics=[topic for topic, _ in some],
            labels=await embedder.embed([topic.label for topic, _ in some]),
            subjects=np.array([subject for _, subject in some], dtype=np.intp),
        )
        for kind, some in rows.items()
    }


def _known_topics(
    messages: Sequence[Message], about: Sequence[int], found: Sequence[Topic]
) -> Sequence[Topic]:
    """A topic for each stretch, with the label of the found one that it shares most with."""
    topics: list[Topic] = []
    for subject in dict.fromkeys(about):
        ids = tuple(m.id for m, each in zip(messages, about, strict=True) if each == subject)
        nearest = max(found, key=lambda topic: len({*topic.message_ids} & {*ids}), default=None)
        label = nearest.label if nearest else "Unnamed"
        topics.append(Topic(label=label, count=len(ids), message_ids=ids, id=f"s{subject}"))
    return topics


def _chat(
    parts: Sequence[tuple[int, Said]], chance: random.Random
) -> tuple[tuple[Message, ...], list[int]]:
    """A chat of a stretch of each text, and the subject of each message."""
    messages: list[Message] = []
    about: list[int] = []
    for subject, text in parts:
        length = min(len(text), chance.randint(*_STRETCH))
        begin = chance.randint(0, len(text) - length) // 2 * 2
        for message in text[begin : begin + length]:
            messages.append(replace(message, id=MessageId(f"m{len(messages)}")))
            about.append(subject)
    return tuple(messages), about


async def _read(
    chat_id: ChatId, messages: tuple[Message, ...], topics: Sequence[Topic], embedder: Embedder
) -> Sequence[ChatTopic]:
    """A chat's topics as the atlas reads them."""
    stored = {"topics": to_stored(Extraction(topics=tuple(topics)), (), messages)}
    sidecar = ChatSidecar(topics=tuple(topics))
    read = read_chat(chat_id, "", (messages, stored), sidecar, NOTHING_READ)
    texts = {message_key(message): message.text for message in messages}
    rows = await embedder.embed([texts[key] for keys in read.keys.values() for key in keys])
    return with_kept(read, rows).entry.topics


def _by_equal_label(known: LabelledTopics, _cut: float) -> Groups:
    keys = [label_key(topic.label) for topic in known.topics]
    return np.asarray(np.unique(keys, return_inverse=True)[1], dtype=np.intp)


def _by_labels(known: LabelledTopics, cut: float) -> Groups:
    return linked(at_unit_length(known.labels), cut)


def _by_centroids(known: LabelledTopics, cut: float) -> Groups:
    return linked(at_unit_length(np.array([topic.vector for topic in known.topics])), cut)


_METHODS: Mapping[str, Callable[[LabelledTopics, float], Groups]] = {
    "equal label": _by_equal_label,
    "cosine of labels": _by_labels,
    "centroids": _by_centroids,
}


def _rand(known: LabelledTopics, groups: Groups) -> float:
    return adjusted_rand(groups, known.subjects)


def _account(known: LabelledTopics, atlas: Atlas) -> JsonObject:
    """The atlas compared with the subjects, and the places where it divides or mixes them."""
    of: dict[Key, int] = {key: n for n, each in enumerate(atlas.topics) for key in each.members}
    groups = np.array([of[topic.key] for topic in known.topics], dtype=np.intp)
    sizes = np.array([len(topic.places) for topic in known.topics])
    table = np.zeros((len(atlas.topics), int(known.subjects.max()) + 1))
    np.add.at(table, (groups, known.subjects), sizes)
    themes = Counter[str]()
    for topic, messages in zip(atlas.topics, table.sum(axis=1), strict=True):
        themes[topic.theme] += int(messages)
    by_subject = table[:, table.any(axis=0)]
    return {
        "atlas": _rand(known, groups),
        "chat_topics": len(known.topics),
        "topics": len(atlas.topics),
        "mixed": int(((table >= _PART * table.sum(axis=1, keepdims=True)).sum(axis=1) > 1).sum()),
        "subjects": by_subject.shape[1],
        "split": int(((by_subject >= _PART * by_subject.sum(axis=0)).sum(axis=0) > 1).sum()),
        "largest_theme": max(themes.values()) / int(sizes.sum()),
    }

"""Fits the weights by which messages are judged, and the means of everyday messages and courtesies.

    OMP_NUM_THREADS=1 python -m tests.benchmarks.fit_relevance DATA [--without report] [--into DIR]

DATA holds `locomo_dev.json` (LoCoMo, dialogues 1 to 5), `mtb_dev.json` (MT-Bench-101, with a name
typed by hand for each dialogue), `cast2020.json` (TREC CAsT), `ikat2023_dev.json` (TREC iKAT) and
`risawoz_{en,fr,zh,ko,hi}_dev.json` (X-RiSAWOZ). Six subjects in sixteen languages are written in
`tests/topics/languages/fit.json`.
Writes `weights.npz` for smart_context/relevance, `ordinary.npy` and `courtesies.npy` for
topics/clusters.
Short labels for LoCoMo's dialogues are made of the questions' words. How much it counts that a
message is a member of a found topic is fitted to the topics that the package finds in these chats
and in `dialseg_dev.json` (DialSeg711).
With `--without report` three fifths of the dialogues are fitted to, so that
`smart-context eval --part report --weights` says something about dialogues that nobody has seen;
the weights of the package are fitted to all.
"""

import argparse
import asyncio
import json
import random
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from smart_context.base.text.languages import with_language
from smart_context.base.text.words import content_words
from smart_context.chat.messages import MessageId
from smart_context.cli.evaluation.calibration import (
    absent_labels,
    chats_of,
    joined,
    short_labels,
    with_absent,
)
from smart_context.cli.evaluation.dialogues import DialogueQuestion, part_of, read_dialogues
from smart_context.cli.evaluation.runs import RememberingEmbedder
from smart_context.llm.offline.embedded import EmbeddedEmbedder
from smart_context.llm.offline.every_language import EveryLanguageEmbedder
from smart_context.relevance.evidence.features import (
    CHAT_FEATURES,
    OTHER_LANGUAGE,
    with_products,
)
from smart_context.relevance.judge.judging import (
    Judge,
    Weights,
    null_labels,
    posterior_features,
    ranking,
    write_weights,
)
from smart_context.relevance.label_scores import (
    SearchableChat,
    both_passes,
    evidence_for,
    judged,
)
from smart_context.relevance.score import member_inputs
from smart_context.relevance.vectors.cosines import unit
from smart_context.topics.embedded import EmbeddedTopicExtractor

# How much each kind of chat counts for presence, for ranking, and for the posterior.
COUNTS = {
    "long": (200, 900, 500),
    "long, no times": (200, 900, 500),
    "in a row": (200, 200, 330),
    "returning": (150, 250, 330),
    "two": (60, 40, 60),
    "three": (60, 60, 60),
    "one": (40, 0, 20),
    "wedged": (60, 300, 400),
    "many": (250, 400, 330),
    "cast": (40, 30, 23),
    "ikat": (40, 30, 20),
    "languages": (200, 200, 330),
    "rooms": (60, 20, 30),
}
SHARES = {
    "present": 1.5,
    "blind": 0.15,
    "short": 1.0,
    "absent": 0.6,
    "short absent": 0.6,
    "near": 0.4,
    "other": 0.02,
}
STRICT = 8
"""How much more absent labels count where the chat is in another language than English: as many of
them are refused then as in English, in the part to fit to."""
SAID = frozenset({"present", "blind", "short"})
WRITTEN = Path(__file__).parents[1] / "topics" / "languages" / "fit.json"
PUBLIC = ("en", "fr", "zh", "ko", "hi")
COURTESIES = (
    "Thank you, goodbye.",
    "You're welcome.",
    "Okay, thank you very much for your help.",
    "My pleasure, have a nice day.",
    "All right, I have no other questions.",
    "I'm glad I could help, see you next time.",
    "Okay, I see, thanks.",
)
HIDDEN, SEEDS, EPOCHS, BATCHES, RATE, DROP, DECAY, CLIP = 16, 2, 25, 8, 0.01, 0.2, 1e-3, 6


@dataclass
class Row:
    """One label in one chat: all that is looked at, and which messages are about it."""

    kind: str
    features: np.ndarray
    whole: dict
    gold: np.ndarray | None


def read(data, name, part):
    return part_of(read_dialogues(data / f"{name}.json")[1], part)


def chats(data, part):
    """The chats to fit to, by kind."""
    typed = read(data, "mtb_dev", part)
    long = read(data, "locomo_dev", part)
    pick = random.Random(5)
    labels = [*absent_labels(), *(d.questions[0].text for d in read(data, "mtb_dev", "all"))]
    long = [with_absent(d, pick.sample(labels, len(labels)), 60) for d in long]
    many = min(50, len(typed))
    found = {
        "long": long,
        "long, no times": [timeless(dialogue) for dialogue in long],
        "in a row": chats_of(typed, "in a row", rounds=3, absent=12),
        "returning": chats_of(typed, "returning", rounds=3, absent=12, seed=8),
        "two": chats_of(typed, "in a row", rounds=2, subjects=2, absent=6, seed=9),
        "one": chats_of(typed, "in a row", subjects=1, absent=8, seed=10),
        "three": chats_of(typed, "returning", subjects=3, absent=8, seed=10),
        "many": chats_of(typed, "in a row", subjects=many, rounds=2, absent=40, seed=11)
        + chats_of(typed, "returning", subjects=many, absent=40, seed=12),
        "wedged": wedged(typed, 3),
        "cast": chats_of(titled(data, "cast2020"), "in a row", subjects=12, rounds=2, absent=20),
        "ikat": chats_of(
            titled(data, "ikat2023_dev"), "returning", subjects=5, rounds=3, absent=12
        ),
        "languages": in_every_language(),
        "rooms": rooms(data, part),
    }
    return found, labels


def wedged(typed, rounds):
    """Chats of six subjects, in which the first question of each comes again, anywhere.

    Between other messages, a message is judged by what it says and not by its neighbours.
    """
    pick = random.Random(14)
    found = []
    for chat in chats_of(typed, "in a row", rounds=rounds, absent=4, seed=13):
        messages, questions = list(chat.messages), []
        for question in chat.questions:
            first = next(m for m in chat.messages if m.id in question.evidence)
            again = replace(first, id=MessageId(f"{first.id} again"))
            messages.insert(pick.randrange(len(messages) + 1), again)
            questions.append(replace(question, evidence=question.evidence | {again.id}))
        found.append(replace(chat, messages=tuple(messages), questions=tuple(questions), groups=()))
    return found


def timeless(dialogue):
    return replace(
        dialogue, messages=tuple(replace(message, created_at="") for message in dialogue.messages)
    )


def titled(data, name):
    """Each title once, its dialogue without the facts ahead of it."""
    found = {}
    for dialogue in read(data, name, "all"):
        title = dialogue.name.removeprefix("Finding a ").removeprefix("Buying a ")
        messages = tuple(m for m in dialogue.messages if not m.id.startswith("fact"))
        question = DialogueQuestion(text=title, evidence=frozenset(m.id for m in messages))
        found.setdefault(
            title, replace(dialogue, messages=messages, questions=(question,), facts=None)
        )
    return list(found.values())


def near_misses(chat, labels, most, pick):
    """Labels of other subjects that share a word with the chat."""
    own = {question.text for question in chat.questions}
    used = {word for message in chat.messages for word in content_words(message.text)}
    near = [
        label
        for label in pick.sample(labels, len(labels))
        if label not in own and not used.isdisjoint(content_words(label))
    ]
    return near[:most]


def others_questions(chat, all_chats, pick):
    """Questions of other long dialogues, put to the speakers of this one."""
    if not chat.messages[0].extra:
        return []
    names = speakers(chat)
    asked = [
        question.text.replace(one, names[0]).replace(two, names[1])
        for other in all_chats
        if speakers(other) != names
        for one, two in [speakers(other)]
        for question in other.questions
    ]
    return pick.sample(asked, min(60, len(asked)))


def speakers(chat):
    return sorted({message.extra["name"] for message in chat.messages})


def short_ones(chat, all_chats):
    """Short labels of this long dialogue, and those of others that share no word with it."""
    if not chat.messages[0].extra:
        return []
    own = short_labels(chat)
    used = {word for message in chat.messages for word in content_words(message.text)}
    others = dict.fromkeys(label for other in all_chats for label in short_labels(other))
    absent = [label for label in others if used.isdisjoint(content_words(label))]
    return [("short", label) for label in own] + [("short absent", label) for label in absent]


def in_every_language():
    """Chats of three or four of the six subjects that are written in each language.

    Each subject has a second name, which its messages often do not use.
    """
    entries = json.loads(WRITTEN.read_bytes())
    by_language = {}
    for entry, dialogue in zip(entries, read_dialogues(WRITTEN)[1], strict=True):
        by_language.setdefault(entry["language"], []).append((entry, dialogue))
    pick, found = random.Random(15), []
    for pairs in by_language.values():
        also = {entry["typed"]: entry["also"] for entry, _ in pairs}
        absent = [label for entry, _ in pairs for label in entry["absent"]]
        for number in range(6):
            some = pick.sample([dialogue for _, dialogue in pairs], 3 + number % 2)
            chat = joined(some, "returning" if number % 3 else "in a row", pick)
            said = {question.text for question in chat.questions}
            more = [replace(asked, text=also[asked.text]) for asked in chat.questions]
            others = [text for both in also.items() if both[0] not in said for text in both]
            found.append(
                replace(chat, questions=(*chat.questions, *more), absent=(*absent, *others))
            )
    return found


ROOMS = {
    "Restaurant": ("restaurant", "restaurant", "餐厅", "식당", "रेस्तराँ"),
    "Attraction": ("sights", "lieux à visiter", "旅游景点", "관광지", "पर्यटन स्थल"),
    "Hotel": ("hotel", "hôtel", "酒店", "호텔", "होटल"),
    "TV": ("TV series", "série télé", "电视剧", "드라마", "टीवी सीरीज़"),
    "Movie": ("movie", "film", "电影", "영화", "फ़िल्म"),
    "Weather": ("weather", "météo", "天气", "날씨", "मौसम"),
    "Flight": ("flight", "vol", "航班", "비행기", "उड़ान"),
    "Car": ("car", "voiture", "汽车", "자동차", "कार"),
    "Train": ("train", "train", "火车", "기차", "ट्रेन"),
    "Class": ("tutoring", "cours de soutien", "辅导班", "학원", "कोचिंग"),
    "Hospital": ("hospital", "hôpital", "医院", "병원", "अस्पताल"),
    "PC": ("laptop", "ordinateur", "电脑", "노트북", "लैपटॉप"),
}
"""The subjects of RiSAWOZ, as one would type them in the languages of `PUBLIC`."""


def rooms(data, part):
    """RiSAWOZ: each subject of a dialogue is typed, the others of its language are absent."""
    found = []
    for number, code in enumerate(PUBLIC):
        names = {key: name[number] for key, name in ROOMS.items()}
        english = read(data, "risawoz_en_dev", part)
        for chat, other in zip(read(data, f"risawoz_{code}_dev", part), english, strict=True):
            groups = dict(zip(other.subjects, chat.groups, strict=True))
            asked = tuple(
                DialogueQuestion(text=name, evidence=groups[key])
                for key, name in names.items()
                if groups.get(key)
            )
            absent = tuple(name for key, name in names.items() if key not in groups)
            found.append(replace(chat, questions=asked, absent=absent))
    return found


class Looker:
    """Makes the rows of a chat, with the product's own code."""

    def __init__(self, embedder, loop):
        self.embedder, self.loop = embedder, loop
        self.judge = Judge(weights=None, null_labels=self.embed(null_labels()))

    def embed(self, texts):
        rows = self.loop.run_until_complete(self.embedder.embed([text[:8000] for text in texts]))
        return unit(rows * np.array([[bool(text.strip())] for text in texts]))

    def rows(self, chat, more):
        vectors = self.embed([message.text for message in chat.messages])
        searchable = SearchableChat.of(chat.messages, vectors, self.judge)
        gold = {question.text: question.evidence for question in chat.questions}
        language = chat.language
        asked = [("present", text) for text in gold] + [("absent", text) for text in chat.absent]
        found = []
        for begin in range(0, len(asked := asked + more), 64):
            some = asked[begin : begin + 64]
            labels = [text for _, text in some]
            said = labels
            if language not in {"", "en"}:
                said = [with_language(text, language) for text in labels]
            evidence = evidence_for(labels, self.embed(said), searchable, self.judge)
            for (kind, text), (first, features) in zip(
                some, both_passes(evidence, vectors, self.judge), strict=True
            ):
                belongs = (
                    np.array([message.id in gold[text] for message in chat.messages])
                    if kind == "present"
                    else None
                )
                found.append(Row(kind, features.astype(np.float16), first.whole, belongs))
        return found


def all_rows(data, part, looker):
    by_kind, labels = chats(data, part)
    pick = random.Random(5)
    rows = {}
    for kind, some in by_kind.items():
        most = 60 if kind.startswith("long") else 30 if kind == "many" else 8
        rows[kind] = [
            row
            for chat in some
            for row in looker.rows(
                chat,
                [("near", text) for text in near_misses(chat, labels, most, pick)]
                + [("other", text) for text in others_questions(chat, some, pick)]
                + short_ones(chat, some),
            )
        ]
        print(f"{kind}: {len(some)} chats, {len(rows[kind])} labels", flush=True)
    return rows


def logistic(values, right, weights, ridge, rounds=30):
    """Coefficients and the constant, by Newton's method."""
    x = np.c_[values, np.ones(len(values))].astype(np.float64)
    found, penalty = np.zeros(x.shape[1]), np.eye(x.shape[1]) * ridge
    penalty[-1, -1] = 1e-6
    for _ in range(rounds):
        p = 1 / (1 + np.exp(-np.clip(x @ found, -30, 30)))
        slope = x.T @ (weights * (p - right)) + penalty @ found
        bend = (x * (weights * p * (1 - p) + 1e-9)[:, None]).T @ x + penalty
        step = np.linalg.solve(bend, slope)
        found -= step
        if abs(step).max() < 1e-6:
            break
    return found


def fit_presence(rows):
    values, right, weights = [], [], []

    def add(whole, kind, weight):
        values.append(with_products(whole))
        right.append(kind in SAID)
        weights.append(weight * SHARES[kind])

    for kind, some in rows.items():
        for row in some:
            weight = COUNTS[kind][0] / sum(other.kind == row.kind for other in some)
            if row.whole[OTHER_LANGUAGE] and row.kind not in SAID:
                weight *= STRICT
            add(row.whole, row.kind, weight)
            if row.kind in SAID:  # as if the chat used none of the label's words
                add(
                    row.whole | dict.fromkeys(("coverage", "lexical_best", "lexical_around"), 0.0),
                    "blind",
                    weight,
                )
    return logistic(np.array(values), np.array(right, float), np.array(weights), 3.0)


class Ranks:
    """All messages of all labels that a chat speaks of, for a softmax over each chat."""

    def __init__(self, rows):
        some = [(kind, row) for kind in rows for row in rows[kind] if row.kind == "present"]
        counts = {kind: sum(each == kind for each, _ in some) for kind in rows}
        self.lengths = np.array([row.features.shape[1] for _, row in some])
        self.begins = np.r_[0, np.cumsum(self.lengths)[:-1]]
        x = np.concatenate([row.features.T for _, row in some]).astype(np.float32)
        self.mean, self.spread = x.mean(0), x.std(0) + 1e-4
        self.x = np.clip((x - self.mean) / self.spread, -CLIP, CLIP)
        self.gold = np.concatenate([row.gold for _, row in some])
        self.weight = np.array([COUNTS[k][1] / counts[k] for k, _ in some], np.float32)
        self.told = np.array(
            [[1, r.whole["words"], r.whole["size"] - 1] for _, r in some], np.float32
        )
        self.chat = np.array(
            [[*(r.whole[name] for name in CHAT_FEATURES), 1] for _, r in some], np.float32
        )


def fit_ranking(ranks, seed):
    """Linear and hidden weights by Adam: the softmax over a chat puts its mass on the gold."""
    random_ = np.random.default_rng(seed)
    f, c = ranks.x.shape[1], ranks.chat.shape[1]
    middle, scale = ranks.chat.mean(0), ranks.chat.std(0) + 1e-3
    middle[-1], scale[-1] = 0, 1
    chat = (ranks.chat - middle) / scale
    values = [
        np.zeros((3, f), np.float32),
        random_.normal(0, 1 / np.sqrt(f), (HIDDEN, f)).astype(np.float32),
        np.zeros((HIDDEN, c), np.float32),
        random_.normal(0, 0.05, HIDDEN).astype(np.float32),
    ]
    first, second = [0 * v for v in values], [0 * v for v in values]
    steps, size = 0, -(-len(ranks.lengths) // BATCHES)
    for epoch in range(EPOCHS):
        order = random_.permutation(len(ranks.lengths))
        for begin in range(0, len(order), size):
            chosen = order[begin : begin + size]
            mask = ((random_.random(f) > DROP) / (1 - DROP)).astype(np.float32)
            slopes = slopes_of(ranks, values, chosen, chat, mask)
            steps += 1
            for number, raised in enumerate(slopes):
                slope = raised - DECAY * values[number]
                first[number] = 0.9 * first[number] + 0.1 * slope
                second[number] = 0.99 * second[number] + 0.01 * slope**2
                step = (first[number] / (1 - 0.9**steps)) / (
                    np.sqrt(second[number] / (1 - 0.99**steps)) + 1e-8
                )
                values[number] = values[number] + RATE * (1 - epoch / EPOCHS) * step
    linear, hidden, hidden_chat, out = values
    hidden_chat /= scale
    hidden_chat[:, -1] -= (hidden_chat * middle)[:, :-1].sum(1)
    return linear, hidden, hidden_chat, out


def slopes_of(ranks, values, chosen, chat, mask):
    """What raises the likelihood of the gold, for a batch of labels."""
    linear, hidden, hidden_chat, out = values
    lengths = ranks.lengths[chosen]
    places = np.concatenate(
        [np.arange(b, b + n) for b, n in zip(ranks.begins[chosen], lengths, strict=True)]
    )
    begins = np.r_[0, np.cumsum(lengths)[:-1]]
    group = np.repeat(np.arange(len(chosen)), lengths)
    x, gold = ranks.x[places] * mask, ranks.gold[places].astype(np.float32)
    weight = (ranks.weight[chosen] / ranks.weight[chosen].sum())[group]
    seen_ = np.tanh(x @ hidden.T + (chat[chosen] @ hidden_chat.T)[group])
    told = ranks.told[chosen][group]
    score = ((x @ linear.T) * told).sum(1) + seen_ @ out
    mass = np.exp(score - np.maximum.reduceat(score, begins)[group])
    mass /= np.add.reduceat(mass, begins)[group]
    wanted = gold / np.maximum(np.add.reduceat(gold, begins), 1)[group]
    error = ((wanted - mass) * weight).astype(np.float32)
    inner = np.outer(error, out) * (1 - seen_**2)
    return [
        (told * error[:, None]).T @ x,
        inner.T @ x,
        np.add.reduceat(inner, begins, axis=0).T @ chat[chosen],
        seen_.T @ error,
    ]


def fit_posterior(rows, weights):
    values, right, counts = [], [], []
    for kind, some in rows.items():
        present = [row for row in some if row.kind == "present"]
        for row in present:
            features = row.features.astype(np.float32)
            ranks = ranking(features, row.whole, weights)
            values.append(posterior_features(features, row.whole, ranks).T)
            right.append(row.gold)
            counts.append(np.full(len(row.gold), COUNTS[kind][2] / len(present)))
    x = np.concatenate(values).astype(np.float64)
    mean, spread = x.mean(0), x.std(0) + 1e-6
    found = logistic((x - mean) / spread, np.concatenate(right), np.concatenate(counts), 5.0)
    slopes = found[:-1] / spread
    return np.r_[slopes, found[-1] - mean @ slopes]


def fit(rows, nulls):
    """All weights."""
    ranks = Ranks(rows)
    nets = [fit_ranking(ranks, seed) for seed in range(SEEDS)]
    linear, hidden, hidden_chat, out = zip(*nets, strict=True)
    weights = Weights(
        null_labels=nulls,
        presence=fit_presence(rows).astype(np.float32),
        mean=ranks.mean,
        spread=ranks.spread,
        linear=sum(linear) / SEEDS,
        hidden=np.concatenate(hidden),
        hidden_chat=np.concatenate(hidden_chat),
        hidden_out=np.concatenate(out) / SEEDS,
        posterior=np.zeros(1, np.float32),
        members=np.zeros(5, np.float32),
    )
    return replace(weights, posterior=fit_posterior(rows, weights).astype(np.float32))


def fit_members(data, part, looker, weights):
    """How likely messages are about the subject that most members of a found topic are about.

    One message in five is neither a member nor another topic's, like those of a new turn.
    """
    typed = read(data, "mtb_dev", part)
    some = [
        *chats_of(typed, "in a row")[:14],
        *chats_of(typed, "returning", seed=8)[:14],
        *chats_of(typed, "in a row", subjects=min(50, len(typed))),
        *read(data, "dialseg_dev", part)[:40],
    ]
    pick = np.random.default_rng(6)
    judge = replace(looker.judge, weights=weights)
    values, right, counts = [], [], []
    for chat in some:
        extractor = EmbeddedTopicExtractor(looker.embedder)
        found = looker.loop.run_until_complete(extractor.extract(chat.messages))
        wholes = {topic.parent_id for topic in found.topics}
        topics = [topic for topic in found.topics if topic.label not in wholes]
        labels = [topic.label for topic in topics]
        vectors = looker.embed([message.text for message in chat.messages])
        searchable = SearchableChat.of(chat.messages, vectors, judge)
        evidence = evidence_for(labels, looker.embed(labels), searchable, judge)
        likely, _ = judged(evidence, vectors, judge)
        held = pick.random(len(vectors)) < 1 / 5
        masks = np.array([[m.id in t.message_ids for m in chat.messages] for t in topics])
        subjects = [
            np.array([m.id in subject for m in chat.messages])
            for subject in chat.groups or chat.segments
        ]
        for row, mask in enumerate(masks):
            members = mask & ~held
            if members.sum() < 2:
                continue
            others = np.delete(masks, row, axis=0).any(axis=0) & ~held & ~members
            inputs = member_inputs(likely[row], vectors, members, others)
            values.append(inputs.T)
            right.append(max(subjects, key=lambda subject: (subject & mask).sum()))
            counts.append(np.full(len(vectors), 30 / len(vectors)))
    return logistic(np.concatenate(values), np.concatenate(right), np.concatenate(counts), 2.0)


def ordinary(data, looker):
    """The mean vector of messages to an assistant and of messages between two people.

    Of the English model alone, since other languages are compared with it, too.
    """
    means = [
        looker.embed([m.text for d in read(data, name, part) for m in d.messages]).mean(0)
        for name, part in (("mtb_dev", "fit"), ("locomo_dev", "all"))
    ]
    return (sum(means) / len(means)).astype(np.float32)


def courtesies(looker):
    """The direction of a few thanks and goodbyes."""
    return unit(looker.embed(COURTESIES).mean(axis=0)[None])[0]


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("data", type=Path)
    options.add_argument("--without", choices=["report"])
    options.add_argument("--into", type=Path, default=Path())
    options.add_argument("--cache", type=Path, help="where vectors are kept for the next time")
    given = options.parse_args()
    given.into.mkdir(parents=True, exist_ok=True)
    embedder = RememberingEmbedder(EveryLanguageEmbedder(), given.cache)
    with asyncio.Runner() as runner:
        looker = Looker(embedder, runner.get_loop())
        rows = all_rows(given.data, "fit" if given.without else "all", looker)
        english = RememberingEmbedder(EmbeddedEmbedder(), given.cache)
        in_english = Looker(english, runner.get_loop())
        mean, thanks = ordinary(given.data, in_english), courtesies(in_english)
        english.keep()
        weights = fit(rows, looker.judge.null_labels)
        members = fit_members(given.data, "fit" if given.without else "all", looker, weights)
        weights = replace(weights, members=members.astype(np.float32))
        embedder.keep()
    write_weights(weights, given.into / "weights.npz")
    np.save(given.into / "ordinary.npy", mean)
    np.save(given.into / "courtesies.npy", thanks)


if __name__ == "__main__":
    main()

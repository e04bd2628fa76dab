"""Does a picked topic help? Questions about long dialogues, answered by a real model.

    python -m tests.benchmarks.bench_helps FILE... BASE_URL RESULTS [--questions 60] [--seed 1]
        [--tokens 1000] [--window 8192] [--ways picked newest bm25 cosine window] [--model ID]

Each FILE has dialogues with questions, answers and evidence (LoCoMo's format); BASE_URL is that of
the model, `python -m tests.real_model.program serve PORT` serves one. RESULTS is a file of JSON
lines: each answer is kept there, a run that stopped goes on, and the figures are of all that it
has. The data stays outside of the repository.

Questions are dealt from all dialogues in turn. Each is answered from

- `picked`: what the product sends. Its topics are found without a model; those that it suggests for
  the question are picked, else the question is a typed topic. The threshold is the lowest of .4,
  .5, … 1 with at most `--tokens` tokens; if a suggested topic is larger, the question is typed; if
  that is larger too, the oldest messages are left out, as in a window of this size.
- `newest`, `bm25`, `cosine`: the best messages by these measures, with at most as many tokens.
- `window`: the newest messages that fit the model's window.

The messages are lines of one request, in their order, with speaker and day; so the ways differ in
nothing but the messages. The most probable words are taken. Nothing is cached between requests, but
for `window`, where all questions about a dialogue follow the same messages; the seconds until the
first word are the median of the requests that were read from their beginning.

An answer is right if it has all numbers of the known answer and six tenths of its other content
words. Words are compared by their stems, without stop words; numbers in words and figures are the
same, and so are months and their short forms, `7th` and 7, `2023-05-07` and 7 May 2023. Words of
the question don't count, and an answer has at most 40 tokens, so neither repeating the question nor
listing all that is there is right. Left out are trap questions, those whose known answer is a yes
or no or a guess, and those whose known answer has no word that the question lacks.
"""

import argparse
import asyncio
import json
import logging
import random
import re
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from smart_context.base.text.words import is_stop_word, stem
from smart_context.chat.compaction import within_budget
from smart_context.chat.messages import ChatId
from smart_context.cli.evaluation.dialogues import read_dialogues
from smart_context.cli.evaluation.measures import Baselines
from smart_context.llm.offline.every_language import EveryLanguageEmbedder
from smart_context.llm.tokens import count_tokens
from smart_context.plugin.choices.sidecars import ChatSidecar
from smart_context.plugin.choices.state import FilterState
from smart_context.plugin.selection.chat_filter import with_selection
from smart_context.plugin.selection.decision import ChatView
from smart_context.plugin.selection.selector import ContextSelector
from smart_context.plugin.settings import FilterSettings
from smart_context.plugin.topics.updates import ChatEmbedder
from smart_context.relevance.scorer import RelevanceScorer
from smart_context.relevance.vectors.cache import EmbeddingCache
from smart_context.storage.memory import MemoryVectors
from smart_context.topics.embedded import EmbeddedTopicExtractor
from smart_context.topics.stored import to_stored
from tests.benchmarks.real_answers import Kept, asked

WAYS = ("picked", "newest", "bm25", "cosine", "window")
THRESHOLDS = (0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
MOST_WRITTEN = 40
WINDOW_SHARE = 0.85
"""Our count of tokens is an estimate, and instructions and answer need room."""

LEAST_RECALL = 0.6
INSTRUCTIONS = (
    "Answer the question about the conversation in a few words, with the names and numbers that "
    "are said there. Write days as `7 May 2023`. If the conversation does not tell the answer, "
    "say: I don't know."
)
UNSURE = re.compile(r"\s*(yes|no|likely|probably|possibly|maybe|somewhat)\b", re.IGNORECASE)
TRIVIAL = ("I don't know.", "Yes.", "No.")

_MONTHS = (
    *("january", "february", "march", "april", "may", "june", "july"),
    *("august", "september", "october", "november", "december"),
)
_NUMBERS = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    *("eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen"),
    *("nineteen", "twenty"),
)
_SAME = {name: str(number) for number, name in enumerate(_NUMBERS)} | {
    short: f"month{number}"
    for number, name in enumerate(_MONTHS, 1)
    for short in {name, name[:3], name[:4]}
    if short not in {"mar", "marc", "dece", "octo", "nove", "augu", "apri", "janu", "febr"}
}
_ISO_DAY = re.compile(r"\b(\d{4})-(\d\d)-(\d\d)\b")
_PART = re.compile(r"\d+(?:st|nd|rd|th)\b|\d+|[^\W\d_]+(?:['’][^\W\d_]+)?")


def words_of(text: str) -> set[str]:
    """The content words of a text, ready to be compared; numbers as figures."""
    text = _ISO_DAY.sub(lambda day: f"{day[3]} {_MONTHS[int(day[2]) - 1]} {day[1]}", text)
    found = set()
    for word in _PART.findall(text.replace(",000", "000").lower()):
        plain = re.sub(r"['’]s$", "", word)
        if plain[0].isdigit():
            found.add(str(int(re.match(r"\d+", plain).group())))
        elif plain in _SAME:
            found.add(_SAME[plain])
        elif not is_stop_word(plain):
            found.add(stem(plain))
    return found


def wanted_words(answer: str, question: str) -> set[str]:
    """The words by which an answer is judged."""
    return words_of(answer) - words_of(question)


def is_right(given: str, answer: str, question: str) -> bool:
    """True if a given answer has the words of the known one; see above."""
    wanted, found = wanted_words(answer, question), words_of(given)
    numbers = {word for word in wanted if word.isdigit()}
    others = wanted - numbers
    has_words = len(others & found) >= LEAST_RECALL * len(others)
    return bool(wanted) and numbers <= found and has_words


@dataclass(eq=False)
class Chat:
    """A dialogue as a chat of the product."""

    dialogue: object
    answers: dict[str, str]

    def __post_init__(self):
        self.messages = self.dialogue.messages
        self.lines = {message.id: line_of(message) for message in self.messages}
        self.tokens = {i: count_tokens(line, None) for i, line in self.lines.items()}
        self.chat_id = ChatId(self.dialogue.name)
        self.cache = EmbeddingCache(MemoryVectors(), EveryLanguageEmbedder())
        settings = FilterSettings()
        scorer = RelevanceScorer(self.cache, mode=settings.relevance)
        log = logging.getLogger(__name__)
        self.selector = ContextSelector(scorer, settings, log, patience_s=None)
        self.view = self.simple = None

    def questions(self):
        """Those that the rule can judge."""
        for question in self.dialogue.questions:
            answer = self.answers.get(question.text, "")
            if question.is_trap or UNSURE.match(answer):
                continue
            if wanted_words(answer, question.text):
                yield question, answer

    async def prepare(self):
        """Find its topics and vectors, once."""
        if self.view is not None:
            return
        embedder = ChatEmbedder(self.cache, self.chat_id, self.messages)
        found = await EmbeddedTopicExtractor(embedder).extract(self.messages)
        self.view = ChatView(
            chat_id=self.chat_id,
            messages=self.messages,
            history=self.messages,
            topics=tuple(to_stored(found, (), self.messages)),
            sidecar=ChatSidecar(state=FilterState(), topics=found.topics),
        )
        texts = [message.text for message in self.messages]
        vectors = await self.cache.vectors(self.chat_id, self.messages)
        self.simple = Baselines.of(texts, vectors, list(self.tokens.values()))

    def size(self, messages):
        """The tokens of messages."""
        return sum(self.tokens[message.id] for message in messages)

    def newest(self, most, messages):
        """The newest of the messages that fit."""
        return within_budget(messages, most, lambda message: self.tokens[message.id])

    async def picked(self, question, most):
        """What the product sends, and which topics it was asked for."""
        suggested = [*(await self.selector.topics_about(self.view, question)).topics]
        for labels in ([suggested] if suggested else []) + [[question]]:
            view = with_selection(self.view, labels)
            for threshold in THRESHOLDS:
                decision = await self.selector.decide(view, threshold=threshold)
                assert not decision.problem, decision.problem
                if self.size(decision.messages) <= most:
                    return decision.messages, f"{labels} at {threshold}"
        return self.newest(most, decision.messages), f"{labels}, cut"

    async def best(self, way, question, most):
        """The best messages by a simple measure, oldest first."""
        (query,) = await self.cache.queries([question])
        order = self.simple.orders(question, query)[way]
        fitting = order[np.cumsum(self.simple.tokens[order]) <= most]
        return [self.messages[place] for place in sorted(fitting)]

    def request(self, messages, question):
        """The request to the model."""
        said = "\n".join(self.lines[message.id] for message in messages)
        return [
            {"role": "system", "content": INSTRUCTIONS},
            {"role": "user", "content": f"The conversation:\n\n{said}\n\nQuestion: {question}"},
        ]


def line_of(message):
    """A message as the model gets it."""
    year, month, day = message.created_at[:10].split("-") if message.created_at else ("", "1", "")
    when = f" ({int(day)} {_MONTHS[int(month) - 1].title()} {year})" if year else ""
    return f"{message.extra.get('name', message.role)}{when}: {message.text}"


def chats_in(paths):
    """The dialogues of all files."""
    for path in paths:
        _, dialogues = read_dialogues(path, "questions")
        entries = json.loads(path.read_text(encoding="utf-8"))
        for dialogue, entry in zip(dialogues, entries, strict=True):
            known = {row["question"]: str(row.get("answer", "")) for row in entry["qa"]}
            yield Chat(dialogue, known)


def dealt(chats, count, seed):
    """As many questions, from all chats in turn."""
    pick, hands = random.Random(seed), []
    for chat in chats:
        hand = [(chat, *pair) for pair in chat.questions()]
        pick.shuffle(hand)
        hands.append(hand)
    rounds = range(max(map(len, hands)))
    return [hand[n] for n in rounds for hand in hands if n < len(hand)][:count]


async def answer(chat, question, known, given, kept):
    """Ask one question in each way."""
    ways = [way for way in given.ways if not kept.has(chat.dialogue.name, question.text, way)]
    if not ways:
        return
    await chat.prepare()
    picked, how = (), ""
    if ways != ["window"]:
        picked, how = await chat.picked(question.text, given.tokens)
    most = chat.size(picked)
    for way in ways:
        if way == "picked":
            messages = picked
        elif way == "window":
            messages = chat.newest(int(WINDOW_SHARE * given.window), chat.messages)
        else:
            messages = await chat.best(way, question.text, most)
        found = await asyncio.to_thread(
            asked,
            given.base_url,
            given.model,
            chat.request(messages, question.text),
            most_tokens=MOST_WRITTEN,
            caches=way == "window",
        )
        ids = {message.id for message in messages}
        kept.add(
            *(chat.dialogue.name, question.text, way),
            known=known,
            right=is_right(found.text, known, question.text),
            evidence=len(ids & question.evidence) / len(question.evidence),
            messages=len(messages),
            how=how if way == "picked" else "",
            answer=found,
        )
        row = kept.rows[-1]
        print(
            f"{way:7} {'right' if row['right'] else 'wrong'} {row['evidence']:.2f} "
            f"{found.read:5} tokens {found.first_s:6.1f} s  {question.text} | {known} | "
            f"{' '.join(found.text.split())}",
            flush=True,
        )


def show(rows):
    """Print the figures, of questions that were answered in every way that was used."""
    by_question = defaultdict(dict)
    for row in rows:
        name, question, way = row["key"]
        by_question[name, question][way] = row
    ways = [way for way in WAYS if any(way in answers for answers in by_question.values())]
    whole = [answers for answers in by_question.values() if all(way in answers for way in ways)]
    print(f"{len(whole)} questions that were answered in each way")
    if not whole:
        return
    print(f"{'way':8}{'right':>7}{'evidence':>10}{'tokens':>8}{'first word':>12}  beside picked")
    for way in ways:
        found = [answers[way] for answers in whole]
        mean = {key: np.mean([row[key] for row in found]) for key in ("evidence", "read")}
        beside = ""
        if way != "picked" and "picked" in ways:
            pairs = [(each["picked"]["right"], each[way]["right"]) for each in whole]
            beside = f"picked alone {pairs.count((True, False))}, "
            beside += f"this alone {pairs.count((False, True))}"
        first_s = np.median([row["first_s"] for row in found if 2 * row["cached"] < row["read"]])
        print(
            f"{way:8}{sum(row['right'] for row in found):>7}{mean['evidence']:>10.2f}"
            f"{mean['read']:>8.0f}{first_s:>10.1f} s  {beside}"
        )
    known = {key: next(iter(answers.values()))["known"] for key, answers in by_question.items()}
    for text in (*TRIVIAL, "the question"):
        same = text == "the question"
        count = sum(is_right(q if same else text, known[n, q], q) for n, q in known)
        print(f"right by the rule if each answer were {text!r}: {count} of {len(known)}")


def main():
    """Ask, and print the figures."""
    parser = argparse.ArgumentParser()
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("base_url")
    parser.add_argument("results", type=Path)
    parser.add_argument("--model", default="qwen2.5-coder-1.5b")
    parser.add_argument("--questions", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tokens", type=int, default=1000)
    parser.add_argument("--window", type=int, default=8192)
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=WAYS)
    given = parser.parse_args()
    kept = Kept(given.results)
    chats = list(chats_in(given.files))

    async def ask():
        for chat, question, known in dealt(chats, given.questions, given.seed):
            await answer(chat, question, known, given, kept)

    asyncio.run(ask())
    show(kept.rows)


if __name__ == "__main__":
    main()
